"""Any row of a class, with any of its attributes lost or taken from another row: its repair leaves nothing to repair,
and changes no attribute but index keys and the TTL."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from sortkey.model.audit.classification import Classifier
from sortkey.model.audit.finding import Kind
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import schema_of
from tests.model.audit.audited import AUDITED, Order, repaired

KEYS = {"PK", "SK"}
INDEX_KEYS = {"gsi1pk", "gsi1sk", "gsi2pk", "weight"}
NOT_REPAIRED = {Kind.KEY_DISAGREES, Kind.ONLY_IN_INDEX_KEY}

orders = st.builds(
    Order,
    customer=st.uuids() | st.just(UUID(int=1)),
    number=st.integers(0, 99),
    status=st.sampled_from(["OPEN", "DONE", "a b"]),
    city=st.none() | st.sampled_from(["Rome", "New York"]),
    weight=st.integers(0, 3).map(Decimal),
    expires=st.none() | st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
rows = orders.map(schema_of(Order).encode)


@st.composite
def damaged_rows(draw: st.DrawFn) -> Row:
    row, other = draw(rows), draw(rows)
    for name in draw(st.sets(st.sampled_from(sorted(row.keys() - KEYS)))):
        if name in other and draw(st.booleans()):
            row[name] = other[name]
        else:
            del row[name]
    if draw(st.booleans()) and "expires" in row:
        row["expires"] = {"S": row["expires"]["N"]}
    return row


@given(rows)
def test_what_the_model_writes_has_no_findings(row: Row) -> None:
    assert Classifier(AUDITED).classify(row).findings == ()


@given(damaged_rows())
def test_a_repair_leaves_nothing_to_repair(row: Row) -> None:
    verdict = Classifier(AUDITED).classify(row)
    if verdict.repair is None:
        assert not any(finding.repairable for finding in verdict.findings)
        return
    after = repaired(row, verdict.repair.sets, verdict.repair.removes)
    assert Classifier(AUDITED).classify(after).findings == tuple(
        finding for finding in verdict.findings if finding.kind in NOT_REPAIRED
    )
    assert {name: value for name, value in after.items() if name not in INDEX_KEYS | {"expires"}} == {
        name: value for name, value in row.items() if name not in INDEX_KEYS | {"expires"}
    }
    # What the repair writes is as it was read, or it is not written.
    assert {*verdict.repair.sets, *verdict.repair.removes} <= verdict.repair.guards.keys()


# So the index finds the item where the model looks for it.
@given(damaged_rows())
def test_a_repaired_row_has_the_index_keys_of_its_item(row: Row) -> None:
    verdict = Classifier(AUDITED).classify(row)
    if verdict.repair is None or any(finding.kind in NOT_REPAIRED for finding in verdict.findings):
        return
    schema = schema_of(Order)
    after = repaired(row, verdict.repair.sets, verdict.repair.removes)
    item = schema.decode(after)
    written = schema.encode(item)
    assert {name: after.get(name) for name in INDEX_KEYS} == {name: written.get(name) for name in INDEX_KEYS}
