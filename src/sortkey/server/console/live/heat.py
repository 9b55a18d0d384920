"""Partitions by time: what each has served in each few seconds, and which are the hottest now.

A store in this process counts every request to it, by anybody (`engine/hot_partitions.py`). Of a remote store, only the
requests of this process's session are known. Counts are a sample beyond a thousand partitions a minute.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from typing import Any, Final, NamedTuple, Protocol

from sortkey.client import stores
from sortkey.clock import monotonic
from sortkey.engine.database import Database
from sortkey.engine.hot_partitions import HotPartitions
from sortkey.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from sortkey.model.costs.meter import Meter
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.findings import Findings
from sortkey.server.console.routes import Message, Nothing, Route, Routes, instant
from sortkey.server.console.sources import Sources
from sortkey.values.partition_counts import NOTHING, WINDOW_SECONDS, Totals

COLUMN_SECONDS: Final = 5.0
COLUMNS: Final = 120
"""Ten minutes."""
CELLS: Final = 40
"""The hottest partitions of a column; others are not drawn."""
HOTTEST: Final = 20
PARTITIONS: Final = 2000
"""That have a number; beyond it, those that no column names lose theirs."""
SHARE: Final = 0.5
"""Of what DynamoDB serves; from it on there is advice."""

Name = tuple[str, str | None, str]
"""Table, index and partition key."""
Cell = tuple[int, float, float, float]
"""The partition's number, read units, write units and requests a second."""


class Column(Message):
    at: str
    seconds: float
    cells: list[Cell]


class PartitionShown(Message):
    id: int
    table: str
    index: str | None
    key: str
    service: str | None


class HotShown(Message):
    id: int
    requests_per_second: float
    read_units_per_second: float
    write_units_per_second: float
    read_share: float
    write_share: float
    over: bool
    advice: str | None


class LimitsShown(Message):
    read_units: int = PARTITION_READ_UNITS
    write_units: int = PARTITION_WRITE_UNITS


class Heat(Message):
    of: str
    source: str
    columns: list[Column]
    partitions: list[PartitionShown]
    hottest: list[HotShown]
    limits: LimitsShown


class Served(NamedTuple):
    """What a partition serves in a second."""

    name: Name
    requests: float
    read: float
    write: float

    @property
    def heat(self) -> float:
        """Its share of what DynamoDB serves."""
        return max(self.read / PARTITION_READ_UNITS, self.write / PARTITION_WRITE_UNITS)


class Counted(Protocol):
    """Counts of partitions, in windows of a minute."""

    source: str

    def window(self) -> tuple[float, Mapping[Any, Totals]]:
        """When the current window is over, and what each partition has served in it until now."""

    def names(self, partitions: Sequence[Any]) -> Mapping[Any, Name]: ...

    def hottest(self) -> list[Served]:
        """In the last minute or two."""


class OfEngine:
    source = "engine"

    def __init__(self, database: Database, prefix: str) -> None:
        """`prefix` is that of the services' tables in the database."""
        self._prefix = prefix
        self._counts = database.partitions
        self._reader = HotPartitions(database, monotonic())

    def window(self) -> tuple[float, Mapping[Any, Totals]]:
        # Without an endpoint, nobody else turns it.
        self._counts.turn(monotonic())
        return self._counts.ends, self._counts.window()

    def names(self, partitions: Sequence[Any]) -> Mapping[Any, Name]:
        found = self._reader.names(list(partitions))
        return {each: (table.removeprefix(self._prefix), index, key) for each, (table, index, key) in found.items()}

    def hottest(self) -> list[Served]:
        return [
            Served(
                (each.table.removeprefix(self._prefix), each.index, each.key),
                each.requests_per_second,
                each.read_units_per_second,
                each.write_units_per_second,
            )
            for each in self._reader.hottest(HOTTEST, monotonic())
        ]


class OfSession:
    source = "session"

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def window(self) -> tuple[float, Mapping[Any, Totals]]:
        return self._meter.partitions.window()

    def names(self, partitions: Sequence[Any]) -> Mapping[Any, Name]:
        return {each: (each[0], each[1], _text(each[2])) for each in partitions}

    def hottest(self) -> list[Served]:
        return [
            Served(
                (each.table, each.index, each.key),
                each.requests / each.seconds,
                each.read_units / each.seconds,
                each.write_units / each.seconds,
            )
            for each in self._meter.hottest(HOTTEST)
            if each.seconds
        ]


def counted_by(sources: Sources) -> Counted | None:
    if sources.database is not None:
        return OfEngine(sources.database, stores.parse(sources.url).prefix)
    return None if sources.session is None else OfSession(sources.session.meter)


class HeatRecorder:
    def __init__(self, sources: Sources, counted: Counted, declared: Declared, findings: Findings) -> None:
        self._sources = sources
        self._counted = counted
        self._declared = declared
        self._findings = findings
        self._columns: deque[Column] = deque(maxlen=COLUMNS)
        self._ends, _ = counted.window()
        # The first column has what this minute served before: what is the hottest is drawn, too.
        self._last: Mapping[Any, Totals] = {}
        self._at = self._ends - WINDOW_SECONDS
        self._numbers: dict[Name, int] = {}
        self._names: dict[int, Name] = {}
        self._next = 0
        self._hottest: list[Served] = []

    def routes(self) -> Routes:
        return {"heat": Route(Nothing, self.heat)}

    def sample(self) -> bool:
        """Add a column, if it is time; whether it was."""
        now = monotonic()
        if now - self._at < COLUMN_SECONDS:
            return False
        ends, totals = self._counted.window()
        if ends != self._ends:
            # What the window before has served at its end is not known: the column is of what the new one has.
            self._at, self._last, self._ends = max(self._at, ends - WINDOW_SECONDS), {}, ends
        seconds, self._at = max(1e-3, now - self._at), now
        served = [(key, *_rates(each, self._last.get(key, NOTHING), seconds)) for key, each in totals.items()]
        self._last = totals
        served = nlargest(CELLS, (each for each in served if each[1] > 0), key=_heat)
        names = self._counted.names([key for key, *_ in served])
        cells: list[Cell] = [
            (self._number(names[key]), round(read, 2), round(write, 2), round(requests, 2))
            for key, requests, read, write in served
        ]
        self._columns.append(Column(instant(self._sources.clock.now()), seconds, cells))
        self._hottest = self._counted.hottest()
        self._findings.of_partitions(
            [(_place(each.name), each.name[2], each.read, each.write) for each in self._hottest if each.heat >= 1.0]
        )
        return True

    def _number(self, name: Name) -> int:
        number = self._numbers.get(name)
        if number is None:
            if len(self._numbers) >= PARTITIONS:
                self._forget()
            number = self._numbers[name] = self._next
            self._names[number] = name
            self._next += 1
        return number

    def _forget(self) -> None:
        """The partitions that no column names any more."""
        named = {cell[0] for column in self._columns for cell in column.cells}
        self._names = {number: name for number, name in self._names.items() if number in named}
        self._numbers = {name: number for number, name in self._names.items()}

    async def heat(self, viewer: Viewer, _: Nothing) -> Heat:
        self.sample()
        return self.shown(viewer)

    def shown(self, viewer: Viewer, newest: int = COLUMNS) -> Heat:
        """With the newest columns alone, if fewer are asked for."""
        columns = [*self._columns][-newest:]
        hottest = [(self._number(each.name), each) for each in self._hottest if viewer.sees(each.name[0])]
        wanted = {cell[0] for column in columns for cell in column.cells} | {number for number, _ in hottest}
        seen = {number for number in wanted if viewer.sees(self._names[number][0])}
        return Heat(
            "process",
            self._counted.source,
            [Column(each.at, each.seconds, [cell for cell in each.cells if cell[0] in seen]) for each in columns],
            [
                PartitionShown(number, *self._names[number], self._declared.service_of(self._names[number][0]))
                for number in sorted(seen)
            ],
            [_hot(number, each) for number, each in hottest],
            LimitsShown(),
        )


def _rates(now: Totals, before: Totals, seconds: float) -> Iterator[float]:
    return (max(0.0, a - b) / seconds for a, b in zip(now, before, strict=True))


def _heat(served: tuple[Any, float, float, float]) -> float:
    _, _, read, write = served
    return max(read / PARTITION_READ_UNITS, write / PARTITION_WRITE_UNITS)


def _hot(number: int, served: Served) -> HotShown:
    read, write = served.read / PARTITION_READ_UNITS, served.write / PARTITION_WRITE_UNITS
    advice = None
    if served.heat >= SHARE:
        kind = "reads" if read >= write else "writes"
        advice = (
            f"It takes {served.heat:.0%} of the {kind} that DynamoDB serves from one partition. Spread it over several "
            "partition keys, for example by sk.Shards."
        )
    return HotShown(number, served.requests, served.read, served.write, read, write, served.heat >= 1.0, advice)


def _place(name: Name) -> str:
    table, index, _ = name
    return table if index is None else f"{table}, index {index}"


def _text(key: Any) -> str:
    return key if isinstance(key, str) else key.hex()
