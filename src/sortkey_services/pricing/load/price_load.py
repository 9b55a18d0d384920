"""Loads a file of prices: all of it, or nothing if it has a mistake; an interrupted load goes on where it was.

Where there are no prices yet, the file is read twice: first to check it, then to write it. A row that sets a price from
an instant that has passed is written directly, as it will be read, by several processes. All other rows, and those of
any later file, are compared with what is stored (`comparison.py`). What differs is a change, made by the service as for
a request, thousands at a time.

A record in the store says how far a load is. If it is interrupted, the same command continues: direct rows that were
written after the last record are written again, which changes nothing, and changes that were made do not differ now.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple, Protocol

import sortkey as sk
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.pricing.checks import MAX_CHANGES
from sortkey_services.pricing.load.comparison import Compared, Comparison, Share, different_rows
from sortkey_services.pricing.load.file_check import FileReport, RowCheck, change_of, check_file, zones_of_stores
from sortkey_services.pricing.load.load_processes import (
    CompareOrder,
    LoadedFile,
    Part,
    WriteOrder,
    process_count,
    run_processes,
)
from sortkey_services.pricing.load.price_files import RawRow, ShowRead, UnusableFile, folder_paths, price_file
from sortkey_services.pricing.model import PRICES, PriceRow
from sortkey_services.pricing.prices import ChangeInput, PriceChange, instant_of, micros_at

PRICES_LOAD: Final = "prices"
"""One load at a time."""
SECONDS_BETWEEN_RECORDS: Final = 1.0
BYTES_OF_A_ROW: Final = 20
"""About, in a file: how many processes compare it is decided before it is read."""


class PriceLoadRecord(sk.Item, table=PRICES):
    """While a load is under way, and after one was interrupted."""

    load: Annotated[str, sk.in_key]
    file: str
    size: int
    modified: int
    """Nanoseconds since 1970, as the file system has it."""
    since: int
    """What `effectiveAt` is for rows without one: when the load began, in microseconds since 1970."""
    rows: int
    """Of the file."""
    direct: list[int]
    """For each process that writes rows by itself, how many of its rows are written; empty if there is none."""
    changes: int = 0
    """How many of the other rows are made, or were so before."""

    key = sk.Key("LOAD#{load}", "LOAD")

    def is_of(self, file: FileIdentity) -> bool:
        return (self.file, self.size, self.modified) == file

    @property
    def done(self) -> int:
        return sum(self.direct) + self.changes


class FileIdentity(NamedTuple):
    """What tells whether a file is the same as before."""

    name: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> FileIdentity:
        """Of a folder, `modified` is a hash of its files' names, sizes and times."""
        if not path.is_dir():
            found = os.stat(path)
            return cls(path.name, found.st_size, found.st_mtime_ns)
        files = [(str(each.relative_to(path)), os.stat(each)) for each in folder_paths(path)]
        text = "\n".join(f"{name} {found.st_size} {found.st_mtime_ns}" for name, found in files)
        digest = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()
        size = sum(found.st_size for _, found in files)
        return cls(path.resolve().name, size, int.from_bytes(digest) >> 1)


class ChangesPrices(Protocol):
    """The service, as far as a load needs it."""

    async def change_prices(
        self, changes: Sequence[ChangeInput], requested_by: str | None = None
    ) -> list[PriceChange[Decimal]]: ...


class WrongRows(Exception):
    """The file has mistakes; nothing was written."""

    def __init__(self, report: FileReport, place: Callable[[int], str]) -> None:
        super().__init__(f"{report.wrong:,} rows have mistakes")
        self.report = report
        self.place = place
        """As `PriceFile.place`."""


class OtherLoad(Exception):
    """A load of another file was interrupted."""

    def __init__(self, record: PriceLoadRecord) -> None:
        super().__init__(f"{record.done:,} of {record.rows:,} rows of {record.file} are loaded")
        self.record = record


class LoadedPrices(NamedTuple):
    rows: int
    """Of the file."""
    written: int
    """By this call."""
    unchanged: int
    """Rows that the store had already."""
    seconds: float
    """To check and to write."""


class PriceLoad:
    def __init__(
        self,
        session: sk.AsyncSession,
        service: ChangesPrices,
        store: str,
        path: Path,
        format_name: str | None = None,
        *,
        currency: str,
        time_zone: str | None = None,
        requested_by: str | None = None,
        now: Callable[[], float] = time.time,
        processes: int | None = None,
        identify: Callable[[Path], FileIdentity] = FileIdentity.of,
    ) -> None:
        """`store` is the URL of the session's store, `time_zone` that of stores without one. A copy of an object has
        another identity than that of its file, which `identify` gives. Raises as `price_file` does."""
        self._session = session
        self._service = service
        self._store = store
        self._path = path
        self._format = format_name
        self._file = price_file(path, format_name)
        self._currency = currency
        self._time_zone = time_zone
        self._requested_by = requested_by
        self._now = now
        self._processes = processes
        self._identify = identify
        self._recorded_at = 0.0

    async def interrupted(self) -> PriceLoadRecord | None:
        """The record of a load that did not end."""
        return await self._session.get(PriceLoadRecord.key(load=PRICES_LOAD), consistent=True)

    async def forget(self) -> None:
        """Give up an interrupted load. What it has written stays."""
        await self._session.delete(PriceLoadRecord.key(load=PRICES_LOAD))

    async def run(self, show_check: ShowRead, show_write: ShowRead) -> LoadedPrices:
        """Raises WrongRows or OtherLoad before anything is written; LoadFailed, LoadError or an error of the store when
        a part may be written, and then the same load can be run again."""
        began = time.perf_counter()
        identity = self._identify(self._path)
        record = await self.interrupted()
        if record is not None and not record.is_of(identity):
            raise OtherLoad(record)
        if record is None and await self._is_first():
            record = await self._begun(identity, show_check)
        before = 0 if record is None else sum(record.direct)
        unchanged = 0
        if record is not None and record.direct:
            await self._write_direct(record, show_write)
        if record is None or sum(record.direct) < record.rows:
            with TemporaryDirectory(prefix="sortkey-load-") as folder:
                record, unchanged, differing = await self._compared(identity, record, Path(folder), show_check)
                await self._make_changes(record, different_rows(differing), show_write)
        await self.forget()
        return LoadedPrices(record.rows, record.done - before - unchanged, unchanged, time.perf_counter() - began)

    async def _begun(self, identity: FileIdentity, show: ShowRead) -> PriceLoadRecord:
        """Of the first prices of a store."""
        since = micros_at(self._now())
        report = check_file(self._file, await self._check(since), show, once=True)
        self._require_right(report, identity)
        processes = (self._processes or process_count(report.direct)) if report.direct else 0
        return await self._noted(identity, since, report.rows, [0] * processes)

    async def _check(self, since: int) -> RowCheck:
        return RowCheck(self._currency, since, await zones_of_stores(self._session, self._time_zone))

    def _require_right(self, report: FileReport, identity: FileIdentity) -> None:
        if report.wrong:
            raise WrongRows(report, self._file.place)
        if not report.rows:
            raise UnusableFile(f"{self._path} has no prices")
        if self._identify(self._path) != identity:
            raise UnusableFile(f"{self._path} was changed while it was read")

    async def _noted(self, identity: FileIdentity, since: int, rows: int, direct: list[int]) -> PriceLoadRecord:
        record = PriceLoadRecord(
            load=PRICES_LOAD,
            file=identity.name,
            size=identity.size,
            modified=identity.modified,
            since=since,
            rows=rows,
            direct=direct,
        )
        await self._session.put(record)
        return record

    async def _is_first(self) -> bool:
        async for _ in self._session.scan(PriceRow, consistent=True):
            return False
        return True

    async def _write_direct(self, record: PriceLoadRecord, show: ShowRead) -> None:
        """The rows that are still to be written, by processes of their own."""
        parts = [Part(number, len(record.direct), after) for number, after in enumerate(record.direct)]
        async for number, message in run_processes([WriteOrder(self._order(record.since), part) for part in parts]):
            record.direct[number] = message.position
            show(record.done, record.rows)
            await self._save(record)

    def _order(self, since: int) -> LoadedFile:
        return LoadedFile(self._store, str(self._path), self._format, self._currency, self._time_zone, since)

    async def _compared(
        self, identity: FileIdentity, record: PriceLoadRecord | None, folder: Path, show: ShowRead
    ) -> tuple[PriceLoadRecord, int, list[Path]]:
        """The record, how many rows are unchanged, and the files of rows that differ."""
        since = micros_at(self._now()) if record is None else record.since
        skips_direct = record is not None and bool(record.direct)
        processes = self._processes or process_count(identity.size // BYTES_OF_A_ROW)
        own, *others = [Share(number, processes) for number in range(processes)]
        differing = [folder / f"{number}.jsonl" for number in range(processes)]
        check = await self._check(since)
        comparison = Comparison(self._session, self._file, check, own, skips_direct=skips_direct)
        orders = [
            CompareOrder(self._order(since), share, str(differing[share.number]), skips_direct) for share in others
        ]

        async def own_share() -> list[Compared]:
            # All processes read the whole file, so one of them shows how far they are.
            return [await comparison.run(differing[0], show)]

        async def other_shares() -> list[Compared]:
            return [message.compared async for _, message in run_processes(orders) if message.compared is not None]

        # This process compares, too: one that only waits has the whole store checked in the background all the same.
        found = await concurrent_map(lambda shares: shares(), [other_shares, own_share], 2)
        compared = Compared.together([share for shares in found for share in shares])
        self._require_right(compared.report, identity)
        if record is None:
            record = await self._noted(identity, since, compared.report.rows, [])
        record.changes = compared.unchanged
        return record, compared.unchanged, differing

    async def _make_changes(self, record: PriceLoadRecord, rows: Iterator[RawRow], show: ShowRead) -> None:
        since = instant_of(record.since)
        show(record.done, record.rows)
        for together in _lists(change_of(row, since) for row in rows):
            await self._service.change_prices(together, self._requested_by)
            record.changes += len(together)
            show(record.done, record.rows)
            await self._session.put(record)

    async def _save(self, record: PriceLoadRecord) -> None:
        now = time.monotonic()
        if now - self._recorded_at > SECONDS_BETWEEN_RECORDS:
            self._recorded_at = now
            await self._session.put(record)


def _lists(changes: Iterator[ChangeInput]) -> Iterator[list[ChangeInput]]:
    """As many as a request may have. A list ends between two stores, if it can: then nobody sees a store of which only
    some rows are made."""
    found: list[ChangeInput] = []
    begun = 0
    for change in changes:
        if found and found[-1].store != change.store:
            begun = len(found)
        if len(found) == MAX_CHANGES:
            end = begun or MAX_CHANGES
            yield found[:end]
            found, begun = found[end:], 0
        found.append(change)
    if found:
        yield found
