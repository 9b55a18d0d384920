"""Any order of loads, kills, rollbacks and removals: readers see what a plain model has.

The model keeps what is served as a dict, and those from before. It knows nothing of rows, marks or versions.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.model.calls.steps import Pacing
from tests.patterns.generation.persons import DAY, HOUR, PEOPLE, Person, as_of, persons, stored

NAMES = ("ada", "bob", "cyd")
a_day = st.integers(1, 5)
some_names = st.lists(st.sampled_from(NAMES), unique=True)


class View(NamedTuple):
    day: int
    """Of its as-of."""
    shown: dict[str, int]


class UnderWay(NamedTuple):
    load: sk.patterns.GenerationLoad[Person]
    view: View


class Loads(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.current: View | None = None
        self.earlier: list[View] = []
        self.under_way: list[UnderWay] = []
        self.loads = 0

    @initialize()
    def open(self) -> None:
        async def opened() -> sk.AsyncSession:
            db = await sk.async_connect(
                "memory:", tables=PEOPLE.tables, clock=self.clock, pacing=Pacing(monotonic=self.clock.now)
            )
            await db.create_tables()
            return db

        self.db = self.runner.run(opened())
        self.reader = PEOPLE.reader(self.db)

    @rule(day=a_day, names=some_names)
    def begin(self, day: int, names: list[str]) -> None:
        """The load's items are written, all of them; what comes later is left to other rules."""
        self.loads += 1

        async def written() -> sk.patterns.GenerationLoad[Person]:
            load = await PEOPLE.begin(self.db, as_of=as_of(day))
            await load.write(persons(self.loads, names))
            return load

        try:
            load = self.runner.run(written())
        except sk.patterns.Superseded:
            assert self.current is not None
            assert self.current.day > day
        else:
            self.under_way.append(UnderWay(load, View(day, dict.fromkeys(names, self.loads))))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def publish(self, data: st.DataObject) -> None:
        load, view = self._taken(data)
        try:
            self.runner.run(load.publish())
        except sk.patterns.Superseded:
            assert self.current is not None
            assert self.current.day > view.day
        else:
            self.earlier = [] if self.current is None else [self.current]
            self.current = view

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        """Nothing is heard of it any more."""
        self._taken(data)

    @rule()
    def roll_back(self) -> None:
        try:
            self.runner.run(PEOPLE.roll_back(self.db))
        except sk.patterns.NoEarlierGeneration:
            assert not self.earlier
        else:
            self.current = self.earlier.pop()

    @rule()
    def remove(self) -> None:
        self.clock.advance(HOUR.total_seconds())
        self.runner.run(PEOPLE.remove_old(self.db))

    @rule()
    def remove_all(self) -> None:
        """All that is under way counts as abandoned; what is left is what is served and what may be rolled back to."""
        for _ in range(2):
            self.clock.advance(DAY.total_seconds())
            self.runner.run(PEOPLE.remove_old(self.db))
        self.under_way.clear()
        views = [self.current, *self.earlier]
        expected = sorted(len(view.shown) for view in views if view is not None and view.shown)
        assert sorted(self.runner.run(stored(self.db)).values()) == expected

    @invariant()
    def readers_see_what_is_served(self) -> None:
        self.clock.advance(1)
        shown = {} if self.current is None else self.current.shown

        async def read() -> list[Person | None]:
            found = await self.reader.lookup([{"person": name} for name in NAMES])
            assert [await self.reader.get(person=name) for name in NAMES] == found
            return found

        found = self.runner.run(read())
        assert [None if each is None else each.day for each in found] == [shown.get(name) for name in NAMES]

    def teardown(self) -> None:
        self.runner.run(self.db.close())
        self.runner.close()

    def _taken(self, data: st.DataObject) -> UnderWay:
        return self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))


TestLoads = Loads.TestCase
TestLoads.settings = settings(stateful_step_count=20, deadline=None)
