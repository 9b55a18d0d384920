"""After any updates, a row is the one that its item makes afresh: no index key is left behind."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.changes.change_plan import plan_changes
from sortkey.model.items.item import schema_of


class Thing(sk.Item, table="changes-properties"):
    id: str
    a: str | None = None
    b: int | None = None
    c: str = "c"
    d: str | None = "d"
    tags: set[str] = sk.field(default_factory=set)

    key = sk.Key("THING#{id}", "{id}")
    sparse = sk.Index("gsi1", "A#{a}", "{b}")
    mixed = sk.Index("gsi2", "C#{c}", "{a}#{id}")
    dense = sk.Index("gsi3", "C#{c}", "{id}")
    constant = sk.Index("gsi4", "THINGS", "{d}#{c}")
    shared = sk.Index("gsi5", "C#{c}", "D#{d}", names=("gsi2pk", "gsi5sk"))
    turned = sk.Index("gsi6", "D#{d}", "A#{a}", names=("gsi5sk", "gsi1pk"))
    of_the_key = sk.Index("gsi7", "{d}#", "{id}", names=("gsi7pk", "sk"))


SCHEMA = schema_of(Thing)
texts = st.sampled_from(["", "x", "y#z"])
changes: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "a": st.none() | texts,
        "b": st.none() | st.integers(-5, 5),
        "c": texts,
        "d": st.none() | texts,
        "tags": st.sets(texts),
    },
)


@given(changes, st.lists(changes, max_size=6))
def test_updated_rows_equal_rows_made_afresh(first: dict[str, Any], updates: list[dict[str, Any]]) -> None:
    item = Thing(id="i", **first)
    row = SCHEMA.encode(item)
    for update in updates:
        plan = plan_changes(SCHEMA, update, {"id": "i"})
        if plan.reads:
            read = {name: getattr(item, name) for name in plan.reads}
            plan = plan_changes(SCHEMA, update, {"id": "i", **read})
            assert plan.guards.keys() <= read.keys()
            assert all(row.get(name) == value for name, value in plan.guards.items())
        assert not plan.reads
        row = {name: value for name, value in row.items() if name not in plan.removes} | plan.sets
        item = sk.replace(item, **update)
        assert row == SCHEMA.encode(item)
        assert SCHEMA.decode(row) == item
