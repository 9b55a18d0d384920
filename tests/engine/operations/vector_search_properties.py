"""SearchVectors against brute force over the items, while random writes go on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.operations import vector_search
from sortkey.engine.operations.write import BulkPut
from sortkey.engine.tables import vector_rows
from sortkey.engine.vectors import vector_memory
from tests.engine.vector_samples import Item, brute_force, create_dishes, dish, search, vector_index

FUNCTIONS = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")

components = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e3, 1e3, width=32),
    st.sampled_from([1e-20, -1e-20, 1e18, 0.1]),
)
tastes = st.one_of(st.none(), st.tuples(components, components, components))
kinds = st.sampled_from([None, "soup", "cake"])
dishes = st.tuples(st.sampled_from("abcdefgh"), tastes, kinds)
writes = st.one_of(
    st.tuples(st.just("put"), dishes),
    st.tuples(st.just("bulk"), st.lists(dishes, max_size=6)),
    st.tuples(st.just("update"), dishes),
    st.tuples(st.just("delete"), st.sampled_from("abcdefgh")),
    st.tuples(st.just("search"), st.tuples(components, components, components)),
)


@pytest.fixture(autouse=True, params=["memory", "rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "rows":
        monkeypatch.setattr(vector_search, "_numpy", lambda: None)
    # So that a few items fill blocks, and a few changes are too many to catch up by.
    monkeypatch.setattr(vector_memory, "BLOCK_ROWS", 3)
    monkeypatch.setattr(vector_memory, "ROWS_A_STEP", 2)
    monkeypatch.setattr(vector_memory, "KEPT_CHANGES", 5)
    monkeypatch.setattr(vector_rows, "KEPT_CHANGES", 5)


def item_of(name: str, taste: tuple[float, ...] | None, kind: str | None) -> Item:
    return dish(name, *(taste or ()), **({} if kind is None else {"kind": {"S": kind}}))


class Kitchen:
    """The table, and the items that it must have."""

    def __init__(self, function: str, role: str) -> None:
        self.db = Database(None, ManualClock())
        self.function = function
        self.items: dict[str, Item] = {}
        self.partitioned = role == "HASH"
        create_dishes(self.call, vector_index("by_taste", ("kind", role), DistanceFunction=function), kind="S")

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        return self.db.call(operation, members)

    def write(self, action: str, given: Any) -> None:
        match action:
            case "put":
                item = item_of(*given)
                self.call("PutItem", TableName="dishes", Item=item)
                self.items[given[0]] = item
            case "bulk":
                bulk = BulkPut(self.db)
                for each in given:
                    bulk.add("dishes", item_of(*each))
                    self.items[each[0]] = item_of(*each)
                self.db.store.write(bulk.work)
            case "update":
                self.update(item_of(*given))
            case "delete":
                self.call("DeleteItem", TableName="dishes", Key={"id": {"S": given}})
                self.items.pop(given, None)
            case _:
                self.compare(given)

    def update(self, item: Item) -> None:
        """Set what the item has; the rest stays."""
        changed = {name: value for name, value in item.items() if name != "id"}
        members: dict[str, Any] = {"TableName": "dishes", "Key": {"id": item["id"]}}
        if changed:
            members["UpdateExpression"] = "SET " + ", ".join(f"{name} = :{name}" for name in changed)
            members["ExpressionAttributeValues"] = {f":{name}": value for name, value in changed.items()}
        self.call("UpdateItem", **members)
        name = item["id"]["S"]
        self.items[name] = self.items.get(name, {"id": item["id"]}) | changed

    def compare(self, wanted: tuple[float, ...]) -> None:
        for kind in (None, "soup", "cake"):
            if kind is None and self.partitioned:
                continue
            members: dict[str, Any] = {}
            if kind is not None:
                members["SearchConditionExpression"] = "kind = :k"
                members["ExpressionAttributeValues"] = {":k": {"S": kind}}
            chosen = [item for item in self.items.values() if kind is None or item.get("kind") == {"S": kind}]
            for top in (1, 3, 100):
                found = [score for _, score in search(self.call, *wanted, top=top, **members)]
                expected = brute_force(chosen, self.function, wanted, top)
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(st.sampled_from(FUNCTIONS), st.sampled_from(["HASH", "INLINE_FILTER"]), st.lists(writes, max_size=25))
def test_a_search_finds_what_brute_force_finds(function: str, role: str, history: list[tuple[str, Any]]) -> None:
    kitchen = Kitchen(function, role)
    try:
        for action, given_ in history:
            kitchen.write(action, given_)
        kitchen.compare((1.0, 0.5, -0.25))
        assert check_database(kitchen.db).problems == []
    finally:
        kitchen.db.close()
