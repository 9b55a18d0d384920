"""Loads a file of prices: all of it, or nothing if it has a mistake; an interrupted load goes on where it was.

The file is read twice: first to check it, then to write it. Where there are no prices yet, a row that sets a price from
an instant that has passed is written directly, as it will be read, by several processes. Every other row is a change,
made by the service as for a request, thousands at a time, after the direct ones.

A record in the store says how far a load is. If it is interrupted, the same command continues: direct rows that were
written after the last record are written again, which changes nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, NamedTuple, Protocol

import sortkey as sk
from sortkey_services.pricing.checks import MAX_CHANGES
from sortkey_services.pricing.load.file_check import FileReport, RowCheck, change_of, check_file
from sortkey_services.pricing.load.load_processes import Order, Part, process_count, run_processes
from sortkey_services.pricing.load.price_files import RowMistake, ShowRead, UnusableFile, price_file
from sortkey_services.pricing.model import PRICES, PriceRow
from sortkey_services.pricing.prices import ChangeInput, PriceChange, instant_of, micros_at

PRICES_LOAD: Final = "prices"
"""One load at a time."""
SECONDS_BETWEEN_RECORDS: Final = 1.0


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
    """How many of the rows that are made as changes are made."""

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
        found = os.stat(path)
        return cls(path.name, found.st_size, found.st_mtime_ns)


class ChangesPrices(Protocol):
    """The service, as far as a load needs it."""

    async def change_prices(
        self, changes: Sequence[ChangeInput], requested_by: str | None = None
    ) -> list[PriceChange[Decimal]]: ...


class WrongRows(Exception):
    """The file has mistakes; nothing was written."""

    def __init__(self, report: FileReport, row_name: str) -> None:
        super().__init__(f"{report.wrong:,} rows have mistakes")
        self.report = report
        self.row_name = row_name


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
        requested_by: str | None = None,
        now: Callable[[], float] = time.time,
        processes: int | None = None,
    ) -> None:
        """`store` is the URL of the session's store. Raises as `price_file` does."""
        self._session = session
        self._service = service
        self._store = store
        self._path = path
        self._format = format_name
        self._file = price_file(path, format_name)
        self._currency = currency
        self._requested_by = requested_by
        self._now = now
        self._processes = processes
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
        record = await self.interrupted()
        if record is not None and not record.is_of(FileIdentity.of(self._path)):
            raise OtherLoad(record)
        record = record or await self._begun(show_check)
        before = record.done
        check = RowCheck(self._currency, record.since)
        await self._write_direct(record, show_write)
        await self._make_changes(record, check, show_write)
        await self.forget()
        return LoadedPrices(record.rows, record.done - before, time.perf_counter() - began)

    async def _begun(self, show: ShowRead) -> PriceLoadRecord:
        identity, since = FileIdentity.of(self._path), micros_at(self._now())
        is_first = await self._is_first()
        report = check_file(self._file, RowCheck(self._currency, since), show, once=is_first)
        if report.wrong:
            raise WrongRows(report, self._file.row_name)
        if not report.rows:
            raise UnusableFile(f"{self._path} has no prices")
        if FileIdentity.of(self._path) != identity:
            raise UnusableFile(f"{self._path} was changed while it was read")
        processes = self._processes or process_count(report.direct)
        record = PriceLoadRecord(
            load=PRICES_LOAD,
            file=identity.name,
            size=identity.size,
            modified=identity.modified,
            since=since,
            rows=report.rows,
            direct=[0] * processes if is_first and report.direct else [],
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
        orders = [
            Order(self._store, str(self._path), self._format, self._currency, record.since, part) for part in parts
        ]
        if not orders:
            return
        async for number, position in run_processes(orders):
            record.direct[number] = position
            show(record.done, record.rows)
            await self._save(record)

    async def _make_changes(self, record: PriceLoadRecord, check: RowCheck, show: ShowRead) -> None:
        if record.done == record.rows:
            return
        changes = self._changes(check, instant_of(record.since), is_all=not record.direct)
        for together in _lists(changes, record.changes):
            await self._service.change_prices(together, self._requested_by)
            record.changes += len(together)
            show(record.done, record.rows)
            # At once: what is not noted is made again after a kill.
            await self._session.put(record)

    def _changes(self, check: RowCheck, since: datetime, *, is_all: bool) -> Iterator[ChangeInput]:
        for each in self._file.read(lambda _done, _total: None):
            if isinstance(each, RowMistake):
                raise UnusableFile(f"{self._path} was changed while it was loaded")
            if is_all or check.direct(each[1]) is None:
                yield change_of(each[1], since)

    async def _save(self, record: PriceLoadRecord) -> None:
        now = time.monotonic()
        if now - self._recorded_at > SECONDS_BETWEEN_RECORDS:
            self._recorded_at = now
            await self._session.put(record)


def _lists(changes: Iterator[ChangeInput], skipped: int) -> Iterator[list[ChangeInput]]:
    """As many as a request may have. A list ends between two stores, if it can: then nobody sees a store of which only
    some rows are made."""
    found: list[ChangeInput] = []
    begun = 0
    for change in islice(changes, skipped, None):
        if found and found[-1].store != change.store:
            begun = len(found)
        if len(found) == MAX_CHANGES:
            end = begun or MAX_CHANGES
            yield found[:end]
            found, begun = found[end:], 0
        found.append(change)
    if found:
        yield found
