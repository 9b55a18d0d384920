"""Access paths in use: what each has cost, what it costs a month at this rate, and which of them are wasteful, and why.

The numbers are the session's meter's, so they are those of this process alone. A path is named after its class and key;
what the meter counts for consoles is left out, since they have a meter of their own.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from sortkey.clock import monotonic
from sortkey.model.costs.explain import read_dollars_per_million, write_dollars_per_million
from sortkey.model.costs.meter import AMPLIFICATION, Meter, Reading
from sortkey.model.items.key import BoundKey
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared, template_text
from sortkey.server.console.live.overview import MONTH_SECONDS
from sortkey.server.console.routes import Message, Nothing, Route, Routes, instant
from sortkey.server.console.sources import Sources

WINDOW_SECONDS: Final = 60.0
SAMPLE_SECONDS: Final = 5.0
FEW_ROWS: Final = 10
"""As the meter has it: fewer rows returned mean nothing."""
FEW_SCANNED: Final = 100
"""A scan of a small table costs less than an index."""
FEW_CALLS: Final = 20
"""The same of the time of a call."""
SLOW_SECONDS: Final = 0.05
"""From which on a call is slow: a key's read takes a few milliseconds from anywhere near."""
_MILLION: Final = 1_000_000
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
_ORDER: Final = ("unreadable", "wasteful", "scan", "slow", "ok")


class PathUse(Message):
    path: str
    service: str | None
    table: str | None
    index: str | None
    request: str | None
    calls: int
    rows_read: int
    rows_returned: int
    read_units: float
    write_units: float
    seconds: float
    unrecognised: int
    undecodable: int
    calls_per_second: float
    units_per_second: float
    dollars_per_month: float
    amplification: float
    seconds_per_call: float
    kind: str
    reason: str | None
    better: str | None


class Paths(Message):
    at: str
    of: str
    since: str
    seconds: float
    paths: list[PathUse]


class Totals(NamedTuple):
    """Of one path, when it was looked at."""

    calls: int = 0
    read: float = 0.0
    write: float = 0.0
    seconds: float = 0.0


class Look(NamedTuple):
    at: float
    paths: dict[str, Totals]


class Judgement(NamedTuple):
    kind: str
    reason: str | None = None
    better: str | None = None


class PathUses:
    def __init__(self, sources: Sources, meter: Meter, declared: Declared) -> None:
        self._sources = sources
        self._meter = meter
        self._declared = declared
        self._since = sources.clock.now()
        self._tables = {name: name for name in declared.tables} | {
            schema.name: name for name, table in declared.tables.items() for schema in table.schemas
        }
        """The tables by the names of their classes, and by their own."""
        self._looks = deque([self._look()])

    def routes(self) -> Routes:
        return {"paths": Route(Nothing, self.paths)}

    def _look(self) -> Look:
        readings = self._meter.readings()
        return Look(
            monotonic(),
            {each.path: Totals(each.calls, each.read_units, each.write_units, each.seconds) for each in readings},
        )

    def sample(self) -> None:
        """Look again, if the last look was some seconds ago."""
        now = monotonic()
        if now - self._looks[-1].at < SAMPLE_SECONDS:
            return
        self._looks.append(self._look())
        # One look before the window is kept: rates are since then.
        while len(self._looks) > 1 and now - self._looks[1].at >= WINDOW_SECONDS:
            self._looks.popleft()

    async def paths(self, viewer: Viewer, _: Nothing) -> Paths:
        return self.shown(viewer)

    def shown(self, viewer: Viewer) -> Paths:
        before, now = self._looks[0], monotonic()
        seconds = max(1e-3, now - before.at)
        uses = [self._use(each, before.paths.get(each.path, Totals()), seconds) for each in self._meter.readings()]
        seen = [each for each in uses if viewer.sees_service(each.service)]
        seen.sort(key=lambda each: (each.kind == "ok", -each.dollars_per_month, _ORDER.index(each.kind), each.path))
        return Paths(instant(self._sources.clock.now()), "process", instant(self._since), seconds, seen)

    def _use(self, reading: Reading, before: Totals, seconds: float) -> PathUse:
        key = self._declared.keys.get(reading.path)
        table = self._table(reading.path)
        read = (reading.read_units - before.read) / seconds
        write = (reading.write_units - before.write) / seconds
        a_month = (read_dollars_per_million(read) + write_dollars_per_million(write)) / _MILLION * MONTH_SECONDS
        found = self._judge(reading, before, key)
        return PathUse(
            reading.path,
            None if table is None else self._declared.service_of(table),
            table,
            None if key is None else key.layout.index,
            None if key is None else request_text(key.layout),
            reading.calls,
            reading.rows_read,
            reading.rows_returned,
            reading.read_units,
            reading.write_units,
            reading.seconds,
            reading.rows_unrecognised,
            reading.rows_undecodable,
            (reading.calls - before.calls) / seconds,
            read + write,
            a_month,
            reading.amplification,
            reading.seconds_per_call,
            found.kind,
            found.reason,
            found.better,
        )

    def _table(self, path: str) -> str | None:
        """The table of a path: `Price.by_product`, `put Price` and `batch prices` name a class or a table."""
        return next((self._tables[word] for word in _WORD.findall(path) if word in self._tables), None)

    def _judge(self, reading: Reading, before: Totals, key: BoundKey[Any] | None) -> Judgement:
        if reading.rows_undecodable or reading.rows_unrecognised:
            rows = reading.rows_undecodable + reading.rows_unrecognised
            return Judgement(
                "unreadable", f"{rows:,} rows were of no declared class, or their class could not read them."
            )
        if is_scan(reading.path) and reading.rows_read >= FEW_SCANNED:
            return Judgement(
                "scan",
                f"It reads the whole table: {reading.rows_read:,} rows in {reading.calls:,} requests.",
                self._instead_of_scan(reading.path),
            )
        if reading.rows_read > AMPLIFICATION * max(FEW_ROWS, reading.rows_returned):
            return Judgement(
                "wasteful",
                f"It reads {reading.amplification:,.0f} rows for each row that it returns: a filter drops the others, "
                "and they are paid for.",
                None if key is None else better_key(key, reading.filtered_by),
            )
        calls = reading.calls - before.calls
        per_call = (reading.seconds - before.seconds) / calls if calls else 0.0
        if calls >= FEW_CALLS and per_call >= SLOW_SECONDS:
            return Judgement(
                "slow", f"A call takes {per_call * 1000:,.0f} ms.", instead_of_slow(reading, before, calls)
            )
        return Judgement("ok")

    def _instead_of_scan(self, path: str) -> str | None:
        """The keys of the class, each of which answers a question without a scan."""
        words = _WORD.findall(path)
        keys = [
            f"{name}({', '.join(f'{field}=…' for field in key.layout.partition_fields)})"
            for name, key in self._declared.keys.items()
            if key.schema.name in words or key.schema.table in words
        ]
        return f"If it looks for some rows: {' or '.join(keys)}." if keys else None


def instead_of_slow(reading: Reading, before: Totals, calls: int) -> str | None:
    read = (reading.read_units - before.read) / calls
    if reading.write_units - before.write > reading.read_units - before.read:
        return "Each waits until its commit is on the disk: rows that are written together, as by put_many, share one."
    return (
        f"Each reads {read:,.0f} units: ask for fewer rows at once, or by an index that projects less."
        if read > 1
        else None
    )


def is_scan(path: str) -> bool:
    return "scan" in path.lower()


def better_key(key: BoundKey[Any], filtered_by: Collection[str]) -> str:
    """The nearest key of the class that has a filtered field, or the declaration of one that would have."""
    layout, schema = key.layout, key.schema
    known = {*layout.fields, *filtered_by}
    others = [each for each in schema.layouts.values() if each is not layout and set(each.partition_fields) <= known]
    # The most filtered fields in the key, then the fewest others.
    others.sort(key=lambda each: (-len(_filtered_in(each, filtered_by)), len(each.fields)))
    if others and _filtered_in(others[0], filtered_by):
        near = others[0]
        given = [*near.partition_fields, *(name for name in near.sort_fields[:1] if name in filtered_by)]
        arguments = ", ".join(f"{name}=…" for name in dict.fromkeys(given))
        return f"{schema.name}.{near.name}({arguments}) has {' and '.join(_filtered_in(near, filtered_by))} in its key."
    filtered = sorted(filtered_by) or ["the filtered field"]
    sort = "#".join(f"{{{name}}}" for name in dict.fromkeys((*filtered, *schema.primary.sort_fields)))
    partition = template_text(layout, "partitions")
    return f'An index with it in its key: sk.Index("by_{filtered[0].replace(" ", "_")}", "{partition}", "{sort}").'


def _filtered_in(layout: KeyLayout, filtered_by: Collection[str]) -> list[str]:
    return [name for name in layout.fields if name in filtered_by]


def request_text(layout: KeyLayout) -> str:
    """The key condition, in words of the declaration."""
    partition = template_text(layout, "partitions")
    names = ", ".join(part.name for part in layout.partitions)
    if not layout.sorts:
        return f"{names} = {partition}"
    sorts = ", ".join(part.name for part in layout.sorts)
    return f"{names} = {partition} and {sorts} {template_text(layout, 'sorts')}"
