"""Random writes, cuts, clocks and restarts: what each region shows is what a model of the last writer wins shows."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.regions import Regions
from tests.engine.operations.table_shapes import attributes, key_schema, table

NAMES = ("eu-west-1", "us-east-1", "ap-south-1")
KEYS = ("a", "b", "c")

regions = st.sampled_from(NAMES)
links = st.lists(regions, min_size=1, max_size=2, unique=True)
steps = st.one_of(
    st.tuples(st.just("put"), regions, st.sampled_from(KEYS)),
    st.tuples(st.just("put"), regions, st.sampled_from(KEYS)),
    st.tuples(st.just("delete"), regions, st.sampled_from(KEYS)),
    st.tuples(st.just("jump"), regions, st.sampled_from((-3600.0, -0.5, 0.5, 3600.0))),
    st.tuples(st.just("cut"), links),
    st.tuples(st.just("heal")),
    st.tuples(st.just("settle")),
    st.tuples(st.just("reopen")),
)


class Model:
    """Registers with the time and the region of their last write, which exchange what they have over links."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, tuple[int, str, str | None]]] = {name: {} for name in NAMES}
        self.last = dict.fromkeys(NAMES, 0)
        self.unsent: dict[tuple[str, str], dict[str, None]] = {link: {} for link in permutations(NAMES, 2)}
        self.cut: set[frozenset[str]] = set()

    def write(self, region: str, key: str, value: str | None, now: float) -> None:
        if value is None and self.value(region, key) is None:
            return
        self.last[region] = time = max(self.last[region] + 1, int(now * 1_000_000))
        self.rows[region][key] = (time, region, value)
        for other in NAMES:
            if other != region:
                self.unsent[region, other][key] = None

    def value(self, region: str, key: str) -> str | None:
        return self.rows[region].get(key, (0, "", None))[2]

    def settle(self) -> None:
        """Every round sends what a row is by then, as often as something is unsent."""
        for (source, target), keys in self.unsent.items():
            if frozenset((source, target)) in self.cut:
                continue
            for key in keys:
                row = self.rows[source][key]
                if row[:2] > self.rows[target].get(key, (0, "", None))[:2]:
                    self.rows[target][key] = row
                    self.last[target] = max(self.last[target], row[0])
            keys.clear()

    def shown(self, region: str) -> dict[str, str]:
        return {key: value for key in KEYS if (value := self.value(region, key)) is not None}


class World:
    def __init__(self, data: Path) -> None:
        self.data = data
        self.clocks = {name: ManualClock() for name in NAMES}
        self.regions = Regions(NAMES, data, clocks=self.clocks)
        keys: dict[str, Any] = {"KeySchema": key_schema("p"), "AttributeDefinitions": attributes(p="S")}
        self.call(NAMES[0], "CreateTable", **table(**keys))
        for name in NAMES[1:]:
            update = [{"Create": {"RegionName": name}}]
            self.call(NAMES[0], "UpdateTable", TableName="orders", ReplicaUpdates=update)
            self.regions.settle()

    def call(self, region: str, operation: str, **members: Any) -> dict[str, Any]:
        return self.regions.databases[region].call(operation, members)

    def write(self, region: str, key: str, value: str | None) -> None:
        if value is None:
            self.call(region, "DeleteItem", TableName="orders", Key={"p": {"S": key}})
        else:
            self.call(region, "PutItem", TableName="orders", Item={"p": {"S": key}, "v": {"S": value}})

    def shown(self, region: str) -> dict[str, str]:
        items = self.call(region, "Scan", TableName="orders")["Items"]
        return {item["p"]["S"]: item["v"]["S"] for item in items}

    def reopen(self) -> None:
        self.regions.close()
        self.regions = Regions(NAMES, self.data, clocks=self.clocks)


# The settings of the links end with the process, so a restart heals all.
@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(steps, max_size=40))
def test_every_region_shows_what_the_model_shows(life: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory(prefix="regions-") as folder:
        world, model = World(Path(folder)), Model()
        try:
            for number, (kind, *given) in enumerate([*life, ("heal",), ("settle",)]):
                for clock in world.clocks.values():
                    clock.advance(0.001)
                if kind in ("put", "delete"):
                    region, key = given
                    value = f"{number}" if kind == "put" else None
                    model.write(region, key, value, world.clocks[region].now())
                    world.write(region, key, value)
                elif kind == "jump":
                    world.clocks[given[0]].jump(given[1])
                elif kind == "cut":
                    world.regions.cut(*given[0])
                    wanted = {*given[0]}
                    model.cut |= {frozenset(link) for link in permutations(NAMES, 2) if wanted <= {*link}}
                elif kind == "settle":
                    world.regions.settle()
                    model.settle()
                else:
                    world.regions.heal()
                    model.cut.clear()
                    if kind == "reopen":
                        world.reopen()
                assert {name: world.shown(name) for name in NAMES} == {name: model.shown(name) for name in NAMES}
            assert len({tuple(sorted(model.shown(name).items())) for name in NAMES}) == 1
            for database in world.regions.databases.values():
                assert check_database(database).problems == []
        finally:
            world.regions.close()
