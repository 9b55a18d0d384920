"""Whatever is written, an index declared by fields answers as a sorted list would, with either form of its keys.

The list is of the items themselves, sorted by their fields as Python sorts them: numbers as numbers, texts by code
point, times as instants.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.changes.operators import Add, FieldChange, IfNotExists, Operator
from sortkey.model.items.item import schema_of
from tests.model.sessions.tickets import TICKETS, Status, Ticket, at, connect_joined

TEXTS: Final = st.text("aé#$\U0001f600", min_size=1, max_size=2)
PRESENT: Final[dict[str, st.SearchStrategy[Any]]] = {
    "tenant": st.sampled_from(["a", "a#", "b"]),
    "status": st.sampled_from(Status),
    "priority": st.integers(-11, 11) | st.sampled_from([-(10**30), 10**30]),
    "created": st.integers(0, 3).map(at),
    "team": TEXTS,
    "seal": st.binary(min_size=1, max_size=2),
    "cost": st.sampled_from(["-10", "-1.5", "0", "0.001", "2", "10"]).map(Decimal),
    "owner": st.sampled_from(["a", "b"]),
    "id": st.sampled_from(["1", "2", "3"]),
}
VALUES: Final = {name: values for name, values in PRESENT.items() if name != "id"} | {
    name: st.none() | PRESENT[name] for name in ("cost", "owner")
}
FIELDS: Final = st.fixed_dictionaries({}, optional=VALUES)
CHANGES: Final = st.fixed_dictionaries(
    {},
    optional=VALUES
    | {
        "priority": VALUES["priority"] | st.builds(Add, st.integers(-3, 3)),
        "visits": st.builds(Add, st.integers(1, 2)),
        "owner": VALUES["owner"] | st.builds(IfNotExists, st.sampled_from(["a", "b"])),
    },
)
WRITES: Final = st.lists(st.tuples(st.sampled_from(["1", "2", "3", "4", "5"]), FIELDS | CHANGES), max_size=12)
SORTED: Final = {
    "by_status": (Ticket.by_status, ("tenant", "status"), ("priority", "created", "id")),
    "by_owner": (Ticket.by_owner, ("owner",), ("cost", "team")),
}
RANGES: Final[dict[str, Callable[..., bool]]] = {
    "between": lambda value, low, high: low <= value <= high,
    "before": lambda value, low, _: value < low,
    "after": lambda value, low, _: value > low,
    "starting": lambda value, low, _: value.startswith(low),
}


def order(value: Any) -> Any:
    """Texts by their bytes, as stores do; for all but surrogates that is by code point."""
    return value.encode() if isinstance(value, str) else value


def write(db: sk.Session, items: dict[str, Ticket], name: str, fields: dict[str, Any]) -> None:
    """A put where there is nothing yet, else an update."""
    if name not in items:
        values = {field: value for field, value in fields.items() if not isinstance(value, Operator)}
        items[name] = Ticket(id=name, **values)
        db.put(items[name])
    elif fields:
        values = {
            field: change.apply(getattr(items[name], field)) if isinstance(change, Operator) else change
            for field, change in fields.items()
        }
        items[name] = sk.replace(items[name], **values)
        assert db.update(items[name].key, [FieldChange(*field) for field in fields.items()]) == items[name]


@given(joined=st.booleans(), writes=WRITES, draw=st.data())
def test_an_index_answers_as_a_sorted_list(joined: bool, writes: list[Any], draw: st.DataObject) -> None:
    items: dict[str, Ticket] = {}
    with connect_joined(TICKETS) if joined else sk.connect("memory:", tables=[TICKETS]) as db:
        db.create_tables()
        for name, fields in writes:
            write(db, items, name, fields)
        for index, (key, partition, sorts) in SORTED.items():
            held = [each for each in items.values() if all(getattr(each, f) is not None for f in partition + sorts)]
            given_fields, path, fits = draw_path(draw, key, partition, sorts)
            expected = [each for each in held if all(getattr(each, f) == v for f, v in given_fields.items())]
            expected = sorted(filter(fits, expected), key=lambda each: [order(getattr(each, f)) for f in sorts])
            found = list(db.iterate(path))
            # Rows with equal keys come in any order.
            by = [[getattr(each, f) for f in sorts] for each in found]
            assert by == [[getattr(each, f) for f in sorts] for each in expected], index
            assert {each.id for each in found} == {each.id for each in expected}
            page, walked = db.page(path, first=2), 0
            while page.has_next:
                walked += len(page.items)
                page = db.page(path, first=2, after=page.end_cursor)
            assert walked + len(page.items) == len(expected)


def draw_path(
    draw: st.DataObject, key: Any, partition: tuple[str, ...], sorts: tuple[str, ...]
) -> tuple[dict[str, Any], sk.AccessPath[Ticket], Callable[[Ticket], bool]]:
    """A path by fields, perhaps with a range behind them, and what the range means in Python."""
    depth = draw.draw(st.integers(0, len(sorts)))
    fields = {name: draw.draw(PRESENT[name]) for name in partition + sorts[:depth]}
    path = key(**fields)
    if depth == len(sorts):
        return fields, path, lambda _: True
    ranged = sorts[depth]
    textual = ranged in ("id", "team")
    name = draw.draw(st.none() | st.sampled_from([n for n in RANGES if textual or n != "starting"]))
    if name is None:
        return fields, path, lambda _: True
    low, high = sorted((draw.draw(PRESENT[ranged]), draw.draw(PRESENT[ranged])), key=order)
    limits = (low, high) if name == "between" else (low,)
    compare = RANGES[name]
    return fields, getattr(path, name)(*limits), lambda item: compare(*map(order, (getattr(item, ranged), low, high)))


@given(joined=st.booleans(), writes=WRITES)
def test_rows_are_as_if_put_afresh(joined: bool, writes: list[Any]) -> None:
    items: dict[str, Ticket] = {}
    schema = schema_of(Ticket)
    if joined:
        assert schema.joined is not None
        schema = schema.joined
    with connect_joined(TICKETS) if joined else sk.connect("memory:", tables=[TICKETS]) as db:
        db.create_tables()
        for name, fields in writes:
            write(db, items, name, fields)
        rows = {row["id"]["S"]: row for row in db.client.scan(TableName="tickets")["Items"]}
        assert rows == {name: schema.encode(item) for name, item in items.items()}
        for layout in schema.indexes.values():
            held = {name for name, row in rows.items() if all(part.name in row for part in layout.attributes)}
            scanned = db.client.scan(TableName="tickets", IndexName=str(layout.index))["Items"]
            assert {row["pk"]["S"].removeprefix("TICKET#") for row in scanned} == held
