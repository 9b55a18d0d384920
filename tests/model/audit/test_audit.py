"""`db.audit`: the rows of a table on every store, and their repair."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.model.audit.finding import Kind
from sortkey.model.audit.report import EXAMPLES
from sortkey.model.fields.codec import Row
from tests.model.audit.audited import AUDITED, Event, Order, event_row, order_row

FLAWED = {
    Kind.UNRECOGNISED: order_row(SK={"S": "ORDER#0100"}),
    Kind.UNDECODABLE: order_row(SK={"S": "ORDER#101"}, number={"S": "three"}),
    Kind.KEY_DISAGREES: order_row(SK={"S": "ORDER#102"}),
    Kind.INDEX_KEY_MISSING: order_row(SK={"S": "ORDER#103"}, number={"N": "103"}, gsi1pk=None, gsi1sk=None),
    Kind.INDEX_KEY_HALF: order_row(SK={"S": "ORDER#104"}, number={"N": "104"}, gsi1pk=None),
    Kind.INDEX_KEY_STALE: order_row(SK={"S": "ORDER#105"}, number={"N": "105"}),
    Kind.INDEX_KEY_IMPOSSIBLE: order_row(SK={"S": "ORDER#106"}, number={"N": "106"}, city={"S": "A\U0010ffff1"}),
    Kind.TTL: order_row(
        SK={"S": "ORDER#107"},
        number={"N": "107"},
        gsi1sk={"S": "OPEN#000107"},
        expires={"S": "2027-01-15T08:00:00Z"},
    ),
    Kind.OLDER_VERSION: event_row(_v=None, kind=None, type={"S": "login"}),
}
REPAIRED = {Kind.INDEX_KEY_MISSING, Kind.INDEX_KEY_HALF, Kind.INDEX_KEY_STALE, Kind.TTL}


def put(db: sk.Session, *rows: Row) -> None:
    for row in rows:
        db.client.put_item(TableName="audited", Item=row)


def fill(db: sk.Session, orders: int = 20) -> None:
    """Rows of the model, and one for each kind of finding."""
    db.batch(put=[Order(customer=_customer(), number=1000 + number, city="Rome") for number in range(orders)])
    put(db, *FLAWED.values())


def _customer() -> Any:
    return Order.key.parse(order_row())["customer"]  # type: ignore[index]


def stored(db: sk.Session) -> dict[str, Row]:
    return {row["SK"]["S"]: row for row in db.client.scan(TableName="audited", ConsistentRead=True)["Items"]}


def counts(report: sk.AuditReport) -> dict[Kind, int]:
    return {kind: report.count(kind) for kind in FLAWED}


def test_every_row_is_counted(audited: sk.Session) -> None:
    fill(audited)
    before = stored(audited)
    report = audited.audit(AUDITED)
    assert (report.rows, report.fine) == (29, 20)
    assert counts(report) == dict.fromkeys(FLAWED, 1)
    assert not report.is_clean
    assert (report.read_units > 0) is audited.capabilities.consumed_capacity
    assert report.write_units == 0
    assert stored(audited) == before


def test_a_finding_names_rows_and_reasons(audited: sk.Session) -> None:
    fill(audited)
    details = {each.kind: each.examples[0].detail for each in audited.audit(AUDITED).findings}
    assert details[Kind.UNRECOGNISED] == (
        "Order.key = sk.Key('CUSTOMER#{customer:upper}', 'ORDER#{number:04}', names=('PK', 'SK')) would read it"
    )
    assert details[Kind.KEY_DISAGREES] == "number is 3, but 102 in the key"
    assert details[Kind.INDEX_KEY_STALE] == "gsi1sk='OPEN#000003' should be gsi1sk='OPEN#000105'"
    (example,) = next(each.examples for each in audited.audit(Order).findings if each.kind is Kind.TTL)
    assert example.key == {name: FLAWED[Kind.TTL][name] for name in ("PK", "SK")}


def test_a_report_names_a_few_rows_only(live: sk.Session) -> None:
    put(live, *(order_row(SK={"S": f"ORDER#{number:04}"}) for number in range(EXAMPLES + 2)))
    (finding,) = live.audit(AUDITED).findings
    assert finding.rows == EXAMPLES + 2
    assert len(finding.examples) == EXAMPLES
    (finding,) = live.audit(AUDITED, examples=100).findings
    assert [each.key["SK"]["S"] for each in finding.examples] == [
        f"ORDER#{number:04}" for number in range(EXAMPLES + 2)
    ]
    assert all("would read it" in each.detail for each in finding.examples)


# Only what follows from the row is written: what only its owner knows stays, and is reported again.
def test_repair(audited: sk.Session) -> None:
    fill(audited)
    before = stored(audited)
    report = audited.audit(AUDITED, repair=True)
    assert {each.kind for each in report.findings if each.repaired} == REPAIRED
    assert not report.is_clean
    assert (report.write_units > 0) is audited.capabilities.consumed_capacity
    again = audited.audit(AUDITED)
    assert {kind for kind, rows in counts(again).items() if rows} == set(FLAWED) - REPAIRED
    after = stored(audited)
    unwritten = {FLAWED[kind]["SK"]["S"] for kind in FLAWED if kind not in REPAIRED}
    assert {key: after[key] for key in unwritten} == {key: before[key] for key in unwritten}
    written = {"gsi1pk", "gsi1sk", "expires"}
    assert [{name: value for name, value in row.items() if name not in written} for row in after.values()] == [
        {name: value for name, value in row.items() if name not in written} for row in before.values()
    ]
    found = {each.number for each in audited.iterate(Order.by_city(city="New York"), undecodable="skip")}
    assert found >= {103, 104, 105}


def test_upgrade(audited: sk.Session) -> None:
    put(audited, FLAWED[Kind.OLDER_VERSION] | {"note": {"S": "kept"}})
    assert audited.audit(AUDITED, repair=True).count(Kind.OLDER_VERSION) == 1
    assert audited.audit(AUDITED).is_clean, "an older version is no flaw"
    report = audited.audit(AUDITED, repair=True, upgrade=True)
    assert [(each.kind, each.repaired) for each in report.findings] == [(Kind.OLDER_VERSION, 1)]
    assert audited.audit(AUDITED).findings == []
    (row,) = stored(audited).values()
    assert (row["_v"], row["kind"], row["note"]) == ({"N": "2"}, {"S": "LOGIN"}, {"S": "kept"})
    assert "type" not in row
    assert [each.kind for each in audited.iterate(Event.by_kind(kind="LOGIN"))] == ["LOGIN"]


@pytest.mark.slow
@pytest.mark.parametrize("segments", [1, 3])
def test_an_audit_continues_where_another_stopped(live: sk.Session, segments: int) -> None:
    fill(live, orders=1200)
    seen: list[sk.AuditProgress] = []

    class Interrupted(Exception):
        pass

    def interrupt(progress: sk.AuditProgress) -> None:
        seen.append(progress)
        raise Interrupted

    with pytest.raises(Interrupted):
        live.audit(AUDITED, repair=True, segments=segments, progress=interrupt)
    (begun,) = seen
    assert 0 < begun.report.rows < 1209
    rest = live.audit(AUDITED, repair=True, after=begun.cursor)
    whole = begun.report.joined(rest)
    assert (whole.rows, whole.fine) == (1209, 1200)
    assert counts(whole) == dict.fromkeys(FLAWED, 1)
    assert {each.kind for each in whole.findings if each.repaired} == REPAIRED


# An audit may be interrupted long after a report; only the rows before its cursor may be in it.
@pytest.mark.slow
def test_a_reported_progress_does_not_change(live: sk.Session) -> None:
    fill(live, orders=1200)
    seen: list[sk.AuditProgress] = []
    whole = live.audit(AUDITED, progress=seen.append)
    assert [each.report.rows for each in seen] == [500, 1000, 1209]
    for progress in seen:
        rest = live.audit(AUDITED, after=progress.cursor)
        joined = progress.report.joined(rest)
        assert (joined.rows, joined.fine, counts(joined)) == (whole.rows, whole.fine, counts(whole))


# A table that has to serve others, too, is repaired slowly.
def test_the_rate_limits_what_is_written() -> None:
    pauses: list[float] = []
    with sk.connect("memory:", tables=[AUDITED]) as db:
        db._runner.sleep = pauses.append
        db.create_tables()
        fill(db)
        report = db.audit(AUDITED, repair=True, rate=2)
    assert report.write_units / 2 in pauses
