"""The calls of a sync session that read or write whole tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from sortkey.model.audit.report import EXAMPLES, AuditReport
from sortkey.model.audit.table_audit import AuditOptions, AuditProgress, ShowProgress, TableAudit
from sortkey.model.changes.conditions import Where
from sortkey.model.items.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.maintenance import scan_estimate, scan_source
from sortkey.model.maintenance.delete_all import DeleteAll, DeleteOptions, DeleteResult
from sortkey.model.maintenance.index_creation import IndexCreation
from sortkey.model.maintenance.load import Load, LoadOptions, LoadResult, ShowLoad
from sortkey.model.maintenance.long_work import LongWork
from sortkey.model.maintenance.scan import Scan, ScanOptions
from sortkey.model.maintenance.scan_estimate import ScanEstimate
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.sessions import drop_tables
from sortkey.model.sessions.drop_tables import DroppedTable
from sortkey.model.sessions.item_decoder import Undecodable
from sortkey.model.sessions.sync_many_reads import SyncManyReads
from sortkey.model.tables import provision
from sortkey.model.tables.table import Table

R = TypeVar("R")
ItemT = TypeVar("ItemT", bound=Item)


class SyncMaintenance(SyncManyReads):
    _sleep: Callable[[float], None]

    @overload
    def scan(
        self,
        scanned: type[ItemT] | BoundKey[ItemT],
        *,
        where: Where | None = None,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> Scan[ItemT]: ...

    @overload
    def scan(
        self,
        scanned: Table,
        *,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> Scan[Item]: ...

    def scan(
        self,
        scanned: type[ItemT] | BoundKey[ItemT] | Table,
        *,
        where: Where | None = None,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> Scan[Any]:
        """All items of a class, of a class in one of its indexes, or of every class of a table, in no order. Reads the
        whole table or index, whatever `where` is; `explain_scan` tells the cost. `segments` are read in parallel, at
        most at `rate` read units per second. `after` is the `cursor` of an earlier scan. A row that its class cannot
        read raises DecodeError, or is left out if `undecodable` is "skip"."""
        source = scan_source.source_of(self._context, scanned, where, consistent, undecodable)
        return Scan(self._context, source, ScanOptions(segments, rate, after), self._run, self._sleep)

    def scan_rows(
        self,
        table: Table | type[Item],
        *,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        consistent: bool = False,
    ) -> Scan[Row]:
        """All rows of a table, in boto3's low-level shape, in no order: those of every class and those of none. The
        arguments are those of `scan`."""
        source = scan_source.rows_source(table, consistent)
        return Scan(self._context, source, ScanOptions(segments, rate, after), self._run, self._sleep)

    def explain_scan(
        self, scanned: type[Item] | BoundKey[Any] | Table, *, where: Where | None = None, consistent: bool = False
    ) -> ScanEstimate:
        """The request and the expected cost of a scan, from the table's number of items and size as DescribeTable
        reports them."""
        source = scan_source.source_of(self._context, scanned, where, consistent, "raise")
        return self._run(scan_estimate.estimate(self._context, source))

    def delete_all(
        self,
        found: AccessPath[Any] | type[Item],
        *,
        where: Where | None = None,
        scan: bool = False,
        segments: int | None = None,
        rate: float | None = None,
    ) -> DeleteResult:
        """Delete all items of a path, or of a class, that match `where`, and say how many and at what cost. A class is
        scanned, which `scan=True` must confirm. An item that another writer changes meanwhile, so that it no longer
        matches, is kept. `rate` is in units per second, of reads and writes together."""
        return self._finish(DeleteAll(self._context, found, where, DeleteOptions(scan, segments, rate)))

    def drop_tables(self, *declared: type[Item] | Table, dry_run: bool = True) -> list[DroppedTable]:
        """The tables that would be dropped: those of these that exist. They and all their rows are dropped if `dry_run`
        is False."""
        if not declared:
            raise ValueError("name the tables to drop: drop_tables(SHOP)")
        return self._run(drop_tables.drop_tables(self._context, provision.tables_of(declared), dry_run))

    def load(
        self,
        items: Iterable[Item],
        *,
        after: int = 0,
        rate: float | None = None,
        progress: ShowLoad | None = None,
    ) -> LoadResult:
        """Put many items, of any iterator, without conditions; returns what was written. An async session also takes an
        async iterator. The items may be of several classes and tables. Of two items with the same key, the later one
        remains. At any time the first `position` items are written, and `after=position` skips so many, for a source
        that gives the same items again. To load again what is written already is harmless, unless others have changed
        it since. `rate` is in write units per second. `progress` is called with a `sk.LoadResult` after each commit or
        round. Whatever ends the load early raises LoadError, after all items before it are written."""
        return self._finish(Load(self._context, self.client, LoadOptions(after, rate, progress)).of(items))

    def _finish(self, work: LongWork[R]) -> R:
        while self._run(work.part()):
            pause = work.pause()
            if pause:
                self._sleep(pause)
        return work.result

    def audit(
        self,
        table: Table | type[Item],
        *,
        repair: bool = False,
        upgrade: bool = False,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        examples: int = EXAMPLES,
        progress: ShowProgress | None = None,
    ) -> AuditReport:
        """Compare every row of a table with its declarations. The report counts the rows that no class recognises or
        can decode, those whose attributes disagree with their key, whose index keys are missing or stale, or whose TTL
        is not a number of seconds, and those of an older version. `repair` rewrites index keys and TTLs, each only if
        what it follows from is unchanged; `upgrade` also rewrites rows of older versions. `segments`, `rate` and
        `after` are those of `scan`; `rate` also limits the units written. The report names up to `examples` rows
        of each finding. `progress` is called after every few hundred rows."""
        return self._audited(table, AuditOptions(repair, upgrade, rate, examples), segments, after, progress)

    def fill_index(
        self,
        index: BoundKey[Any],
        *,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        progress: ShowProgress | None = None,
    ) -> AuditReport:
        """Create a declared index if the table lacks it, wait until the store has built it, and write its key to all
        rows that lack it or have another: of every class in the index, each only if what the key follows from is
        unchanged. The arguments and the report are those of `audit`."""
        creation = IndexCreation(self._context, index)
        self._finish(creation)
        options = AuditOptions(repair=True, rate=rate, only_index=creation.index)
        return self._audited(creation.table, options, segments, after, progress)

    def _audited(
        self,
        table: Table | type[Item],
        options: AuditOptions,
        segments: int | None,
        after: str | None,
        progress: ShowProgress | None,
    ) -> AuditReport:
        scan = self.scan_rows(table, segments=segments, rate=options.rate, after=after)
        audit = TableAudit(self._context, table, options)
        for row in scan:
            if audit.add(row):
                self._settle(audit, scan, progress)
        self._settle(audit, scan, progress)
        return audit.report

    def _settle(self, audit: TableAudit, scan: Scan[Row], progress: ShowProgress | None) -> None:
        self._run(audit.settle())
        audit.report.read_units = scan.units
        pause = audit.pause()
        if pause:
            self._sleep(pause)
        if progress is not None:
            progress(AuditProgress(audit.report.snapshot(), scan.cursor))
