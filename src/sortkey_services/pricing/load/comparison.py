"""Compares a file with the prices that are stored, and checks it on the way: only rows that differ become changes.

A row is *unchanged* if the price in force at its instant has its amount already, whoever has set it; a DELETE, if there
is no price. A row that is to come is unchanged if the same change is scheduled for the same instant. Rows of one price
follow each other: if one of them differs, all are made, because the others were compared with what was in force before.

Each process, the command's own among them, compares a share of the stores. Rows of a file that are near each other are
often of one store, so a query reads what hundreds of them are compared with. Rows that differ are kept in a file, in
their order, until the whole file is checked.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from heapq import merge
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from zlib import crc32

import msgspec

import sortkey as sk
from sortkey.clock import SystemClock
from sortkey_services.pricing.batches import Batches
from sortkey_services.pricing.change_writes import ChangeWrites
from sortkey_services.pricing.checks import CheckedChange
from sortkey_services.pricing.load.file_check import NAMED_MISTAKES, FileReport, Memo, RowCheck, SeenKeys
from sortkey_services.pricing.load.price_files import PriceFile, RawRow, RowMistake, ShowRead, Text
from sortkey_services.pricing.model import PriceRow
from sortkey_services.pricing.prices import PriceKey, PriceKind
from sortkey_services.pricing.reads import moment_in_force
from sortkey_services.pricing.timeline import Moment, batches_of

ROWS_AT_ONCE: Final = 16_384
"""Rows of the file that are compared together."""
FEW: Final = 8
"""So few rows of a store are looked up by their keys."""
SPARSE: Final = 8
"""A query of a store goes on as long as one of so many rows is wanted; the others are looked up then."""
LEAST_READ: Final = 500
"""Rows of a store, before a query is found to be sparse."""
LOOKED_UP: Final = 1000
"""Rows of one request."""


class Share(NamedTuple):
    """Which stores of a file are compared."""

    number: int
    of: int

    def has(self, store: str | None) -> bool:
        return crc32((store or "").encode(errors="replace")) % self.of == self.number


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A row of the file, of a store, channel and kind that are known."""

    number: int
    mark: int
    """Rows with the same mark may depend on each other."""
    product: str
    cents: int | None
    at: int
    raw: RawRow


class Different(msgspec.Struct, frozen=True, array_like=True):
    """A row that is to be made, as it is kept. A Decimal or a datetime is read again as a text that means the same."""

    number: int
    mark: int
    raw: tuple[Text, Text, Text, Text, Text, str | int | float | None, Text, Text]


class Compared(msgspec.Struct):
    """What is in a file, or in a share of it."""

    direct: int = 0
    changes: int = 0
    wrong: int = 0
    mistakes: list[RowMistake] = msgspec.field(default_factory=list)
    unchanged: int = 0
    """Rows that were compared, and that the store has already."""

    @property
    def report(self) -> FileReport:
        return FileReport(self.direct, self.changes, self.wrong, self.mistakes)

    @staticmethod
    def together(shares: Sequence[Compared]) -> Compared:
        return Compared(
            direct=sum(share.direct for share in shares),
            changes=sum(share.changes for share in shares),
            wrong=sum(share.wrong for share in shares),
            mistakes=sorted(mistake for share in shares for mistake in share.mistakes)[:NAMED_MISTAKES],
            unchanged=sum(share.unchanged for share in shares),
        )


Place = tuple[str, str, PriceKind]
"""A store, a channel and a kind: where prices of one query are."""
Group = tuple[Place, list[Asked]]


class Comparison:
    """Of a share of a file with the session's store."""

    def __init__(
        self, session: sk.AsyncSession, file: PriceFile, check: RowCheck, share: Share, *, skips_direct: bool
    ) -> None:
        """With `skips_direct`, rows that a first load writes by itself are only counted."""
        self._session = session
        self._file = file
        self._check = check
        self._share = share
        self._skips_direct = skips_direct
        clock = SystemClock()
        self._batches = Batches(session, clock, asyncio.sleep)
        self._rows = ChangeWrites(session, self._batches, clock).rows
        self._unchanged = 0

    async def run(self, kept: Path, show: ShowRead) -> Compared:
        """The rows that differ are written to `kept`, from which `different_rows` reads them."""
        report, seen = FileReport(), SeenKeys()
        with _collector_paused(), kept.open("wb") as out:
            for groups in _grouped(self._asked(show, report, seen.add)):
                if not report.wrong:
                    await self._compare(groups, out)
                # The processes of the other shares start meanwhile.
                await asyncio.sleep(0)
        repeated = seen.repeated()
        if repeated and not report.wrong:
            self._keep_together(kept, {row.mark for row in _read(kept) if row.mark in repeated})
        return Compared(report.direct, report.changes, report.wrong, report.mistakes, self._unchanged)

    def _asked(
        self, show: ShowRead, report: FileReport, mark_of: Callable[[tuple[object, ...]], int]
    ) -> Iterator[tuple[Place, Asked]]:
        """The rows of the share; the report has those with mistakes."""
        check, since = self._check, self._check.since
        ours = Memo(self._share.has)
        for each in self._file.read(show):
            if isinstance(each, RowMistake):
                if self._share.number == 0:
                    report.add(each)
                continue
            number, raw = each
            if not ours[raw[0]]:
                continue
            direct = check.direct(raw)
            if direct is not None:
                report.direct += 1
                if not self._skips_direct:
                    store, channel, kind, product, cents, at = direct
                    mark = mark_of((store, channel, product))
                    yield (store, channel, kind), Asked(number, mark, product, cents, at, raw)
                continue
            found = check.change(raw)
            if not isinstance(found, CheckedChange):
                report.add(RowMistake(number, "; ".join(found)))
                continue
            report.changes += 1
            store, channel, kind, product = found.key
            at = since if found.at is None else found.at
            # What is to come depends only on rows of the same instant.
            mark = mark_of((store, channel, product) if at <= since else (store, channel, product, at))
            yield (store, channel, kind), Asked(number, mark, product, found.cents, at, raw)

    async def _compare(self, groups: Sequence[Group], out: IO[bytes]) -> None:
        """Write the rows that differ, in the order of the file."""
        differ: list[Asked] = []
        unclear: list[tuple[PriceRow, Asked]] = []
        async for rows, stored in self._stored(groups):
            for asked in rows:
                row = stored.get(asked.product)
                if row is None:
                    if asked.cents is not None or asked.at > self._check.since:
                        differ.append(asked)
                elif row.entries is not None or row.since is None or not row.since <= asked.at <= self._check.since:
                    unclear.append((row, asked))
                elif row.cents != asked.cents:
                    differ.append(asked)
        differ += await self._differing(unclear)
        differ.sort(key=_number)
        self._unchanged += sum(len(rows) for _, rows in groups) - len(differ)
        _write(out, map(_different, differ))

    async def _stored(self, groups: Sequence[Group]) -> AsyncIterator[tuple[list[Asked], dict[str, PriceRow]]]:
        """The rows of each group, and the price rows of its products."""
        few: list[tuple[Group, dict[str, PriceRow]]] = []
        missing: list[tuple[dict[str, PriceRow], PriceKey]] = []
        for place, rows in groups:
            found: dict[str, PriceRow] = {}
            products = {asked.product for asked in rows}
            if len(products) > FEW:
                products = await self._queried(place, products, found)
            if products:
                few.append(((place, rows), found))
                missing += [(found, PriceKey(*place, product)) for product in products]
            else:
                yield rows, found
        for start in range(0, len(missing), LOOKED_UP):
            some = missing[start : start + LOOKED_UP]
            looked_up = await self._rows([key for _, key in some])
            for found, key in some:
                found[key.product] = looked_up[key]
        for (_, rows), found in few:
            yield rows, found

    async def _queried(self, place: Place, wanted: set[str], found: dict[str, PriceRow]) -> set[str]:
        """Which of the wanted products are still to be looked up, because most of the store's are not wanted."""
        store, channel, kind = place
        path = PriceRow.key(store=store, channel=channel, kind=kind)
        read = 0
        # One that cannot be read differs, and then its change says why it cannot be made.
        async for row in self._session.iterate(path, consistent=True, undecodable="skip"):
            read += 1
            if row.product in wanted:
                found[row.product] = row
                if len(found) == len(wanted):
                    break
            elif read > LEAST_READ and read > SPARSE * len(found):
                return wanted - found.keys()
        return set()

    async def _differing(self, unclear: Sequence[tuple[PriceRow, Asked]]) -> list[Asked]:
        """Those of the rows whose price has changes in its row, or had another one before."""
        if not unclear:
            return []
        seen = self._batches.begin_read()
        commits = await seen.commits({batch for row, _ in unclear for batch in batches_of(row)})
        since = self._check.since
        differ: list[Asked] = []
        for row, asked in unclear:
            moment = await moment_in_force(self._session, row, asked.at, seen, commits)
            if not _is_same(moment, asked, is_due=asked.at <= since):
                differ.append(asked)
        return differ

    def _keep_together(self, kept: Path, marks: set[int]) -> None:
        """Keep also the unchanged rows of prices of which another row differs."""
        if not marks:
            return
        before = kept.rename(kept.with_suffix(".before"))
        alone = (row for row in _read(before) if row.mark not in marks)
        asked = (each for _, each in self._asked(lambda _done, _total: None, FileReport(), SeenKeys.hash_of))
        together = (_different(each) for each in asked if each.mark in marks)
        with kept.open("wb") as out:
            more = _write(out, merge(alone, together, key=_number)) - sum(1 for _ in _read(before))
        self._unchanged -= more
        before.unlink()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Thousands of rows are in use at a time, none of them in a cycle. The collector would walk over them again and
    again: that took a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _is_same(moment: Moment | None, asked: Asked, *, is_due: bool) -> bool:
    if is_due:
        return (None if moment is None else moment.cents) == asked.cents
    return moment is not None and (moment.at, moment.cents) == (asked.at, asked.cents)


def _grouped(rows: Iterator[tuple[Place, Asked]]) -> Iterator[list[Group]]:
    """By store, channel and kind, some rows at a time."""
    while some := list(islice(rows, ROWS_AT_ONCE)):
        groups: dict[Place, list[Asked]] = {}
        last: Place | None = None
        group: list[Asked] = []
        for place, asked in some:
            if place != last:
                last, group = place, groups.setdefault(place, [])
            group.append(asked)
        del some
        yield list(groups.items())


def _different(asked: Asked) -> Different:
    *names, amount, currency, at = asked.raw
    # A Decimal's own text may have an exponent.
    kept = f"{amount:f}" if isinstance(amount, Decimal) else amount
    made: Any = (*names, kept, currency, at)
    return Different(asked.number, asked.mark, made)


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Different).decode
_number: Final = attrgetter("number")


def _write(out: IO[bytes], rows: Iterable[Different]) -> int:
    written = 0
    for row in rows:
        out.write(_encode(row) + b"\n")
        written += 1
    return written


def _read(kept: Path) -> Iterator[Different]:
    with kept.open("rb") as lines:
        yield from map(_decode, lines)


def different_rows(kept: Sequence[Path]) -> Iterator[RawRow]:
    """The rows that differ, of all shares, in the order of the file."""
    for row in merge(*map(_read, kept), key=_number):
        yield row.raw
