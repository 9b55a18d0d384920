"""`sk.testing.regions`: several regions in this process for a test, whose links it cuts and heals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from typing import Final, Self

from sortkey.client.open_databases import lend_database, take_back_database
from sortkey.clock import Clock
from sortkey.engine.regions import Regions
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.connect import connect
from sortkey.model.sessions.session import Session

_NUMBERS: Final = count(1)


class RegionsOfTest:
    """What `regions` returns. Each region has a session, by its name, and a URL for further ones."""

    def __init__(
        self, names: Sequence[str], tables: Sequence[type[Item] | Table], lag: float, clock: Clock | None
    ) -> None:
        if len(names) < 2:
            raise ValueError("give two regions or more, such as sk.testing.regions('eu-west-1', 'us-east-1')")
        self._names = names
        self._tables = tables
        self._lag = lag
        self._clock = clock
        self._urls: dict[str, str] = {}
        self._sessions: dict[str, Session] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            clocks = None if self._clock is None else dict.fromkeys(self._names, self._clock)
            self._regions = Regions(self._names, lag=self._lag, clocks=clocks)
            stack.callback(self._regions.close)
            self._regions.start()
            number = next(_NUMBERS)
            for name, database in self._regions.databases.items():
                shared = f"regions-{number}.{name}"
                lend_database(shared, database)
                stack.callback(take_back_database, shared)
                self._urls[name] = f"memory:{shared}"
                session = connect(self._urls[name], tables=self._tables, clock=self._clock)
                self._sessions[name] = stack.enter_context(session)
            if self._tables:
                for session in self._sessions.values():
                    session.create_tables()
                    self.settle()
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def __getitem__(self, region: str) -> Session:
        """The session of a region."""
        return self._sessions[region]

    def url(self, region: str) -> str:
        """For further sessions, such as `sk.async_connect(regions.url("eu-west-1"))`."""
        return self._urls[region]

    def cut(self, *regions: str) -> None:
        """Cut the link between two regions, or all links of one. What is written waits."""
        self._regions.cut(*regions)

    def heal(self, *regions: str) -> None:
        """Undo `cut`; without regions, heal all links."""
        self._regions.heal(*regions)

    def settle(self) -> None:
        """Return when everything that was written has arrived, whatever the lag, but over links that are cut."""
        self._regions.settle()


def regions(
    *names: str, tables: Sequence[type[Item] | Table] = (), lag: float = 0.0, clock: Clock | None = None
) -> RegionsOfTest:
    """Regions in memory for a test: a write in one of them arrives in the others, and the last writer wins.

        with sk.testing.regions("eu-west-1", "us-east-1", tables=[Price]) as world:
            world.cut("eu-west-1", "us-east-1")
            world["us-east-1"].put(price)
            world.heal()
            world.settle()
            assert world["eu-west-1"].get(...) == price

    `tables` are created, in the first region with the replicas that they declare; others are tables of each region
    alone. A write takes `lag` seconds at least, by `clock`, which is also that of the sessions and the stores. See
    docs/guides/regions.md.
    """
    return RegionsOfTest(names, tables, lag, clock)
