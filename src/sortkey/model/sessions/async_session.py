"""The async session: every call of the model, awaited. `session.py`, the sync one, is derived from this file.

`make format` derives it (tests/derived_session.py). What cannot be derived is in `runners.py` and `connect.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar, overload

from botocore.exceptions import ClientError

from sortkey.client import AsyncClient
from sortkey.client.stores import Capabilities
from sortkey.model.audit.report import EXAMPLES, AuditReport
from sortkey.model.audit.table_audit import AuditOptions, AuditProgress, ShowProgress, TableAudit
from sortkey.model.calls import create_tables, lookups, nearest, put_entry, queries, transaction, updates, writes
from sortkey.model.calls.fast_reads import FastReads, as_sequence
from sortkey.model.calls.item_decoder import Undecodable
from sortkey.model.calls.nearest import Neighbour
from sortkey.model.calls.put_entry import PutEntryResult
from sortkey.model.calls.queries import DEFAULT_BUDGET, Page
from sortkey.model.calls.steps import Context
from sortkey.model.calls.transaction import Transaction
from sortkey.model.calls.wanted_items import Parts, wanted_items
from sortkey.model.changes.conditions import Where
from sortkey.model.changes.operators import Changes
from sortkey.model.changes.typed_field import FieldName, name_of
from sortkey.model.changes.write_conditions import PutOptions
from sortkey.model.costs.explain import Explanation, explain
from sortkey.model.costs.meter import Meter
from sortkey.model.costs.vector_costs import VectorExplanation, explain_search
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.entries import E, Entries
from sortkey.model.items.item import Item
from sortkey.model.items.key import BoundKey
from sortkey.model.items.table import Table
from sortkey.model.items.vector_index import BoundVectorIndex, VectorPath
from sortkey.model.maintenance import scan_source, table_changes
from sortkey.model.maintenance.delete_all import DeleteAll, DeleteOptions, DeleteResult
from sortkey.model.maintenance.load import LoadOptions, LoadResult, LoadWork, ShowLoad
from sortkey.model.maintenance.put_many import PutMany
from sortkey.model.maintenance.scan import AnyScan, ScanOptions
from sortkey.model.maintenance.scan_source import ScanEstimate, ScanSource
from sortkey.model.maintenance.table_changes import DroppedTable, IndexCreation, IndexRemoval
from sortkey.model.sessions.runners import AsyncRunner
from sortkey.model.tables import provision

T = TypeVar("T")
R = TypeVar("R")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
ItemT = TypeVar("ItemT", bound=Item)


class AsyncScan(AnyScan[T]):
    """All items of a class or a table, or all rows, in no order. Iterating again continues where it stopped."""

    def __init__(self, runner: AsyncRunner, source: ScanSource[T], options: ScanOptions) -> None:
        super().__init__(runner.context, source, options)
        self._runner = runner

    async def __aiter__(self) -> AsyncIterator[T]:
        while segments := self._unfinished():
            # Not a step: the session's timeout is for requests, not for pauses that the caller asked for.
            await self._runner.pause(self._pause())
            for page in await self._runner.run(self._read(segments)):
                for item in self._hand_out(page):
                    yield item


class AsyncSession:
    """An open store. Any number of tasks may share one session."""

    def __init__(self, runner: AsyncRunner, tables: tuple[Table, ...]) -> None:
        self._runner = runner
        self._run = runner.run
        self._context: Context = runner.context
        self._declared = tables
        reads = runner.client.in_process_reads
        self._fast = None if reads is None else FastReads(reads, self._context.meter)

    def within(self, seconds: float | None) -> AsyncSession:
        """The same session with another timeout for its calls; None waits forever."""
        return AsyncSession(self._runner.within(seconds), self._declared)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.client.meta.endpoint_url!r}>"

    @property
    def client(self) -> AsyncClient:
        """The low-level client, for requests outside the model. Another one may be put around it."""
        return self._runner.client

    @client.setter
    def client(self, client: AsyncClient) -> None:
        self._runner.client = client

    @property
    def meter(self) -> Meter:
        """What each access path has cost so far."""
        return self._context.meter

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do."""
        return self._context.capabilities

    @overload
    def explain(
        self,
        path: AccessPath[Any],
        *,
        rows: int | None = None,
        row_bytes: int | None = None,
        sample: Sequence[Item] = (),
        consistent: bool = False,
    ) -> Explanation: ...

    @overload
    def explain(
        self, path: VectorPath[Any], *, rows: int | None = None, row_bytes: int | None = None
    ) -> VectorExplanation: ...

    def explain(
        self,
        path: AccessPath[Any] | VectorPath[Any],
        *,
        rows: int | None = None,
        row_bytes: int | None = None,
        sample: Sequence[Item] = (),
        consistent: bool = False,
    ) -> Explanation | VectorExplanation:
        """The request for a path, its index and its cost. The cost is computed from the rows and bytes given, from a
        sample of items, or from what the meter has measured. For a path of a vector index, `rows` is the number of
        results."""
        if isinstance(path, VectorPath):
            return explain_search(path, rows, row_bytes)
        path = self._context.adapt(path)
        return explain(
            path, self.meter.reading(path.name), rows=rows, row_bytes=row_bytes, sample=sample, consistent=consistent
        )

    async def nearest(
        self, path: VectorPath[T], vector: Sequence[float], k: int = 10, *, whole: bool = False
    ) -> list[Neighbour[T]]:
        """The items of a vector index that are most similar to the vector, the most similar first, with their scores.
        They are partial: the index returns what it projects, and never the vector. With `whole`, they are read again
        by their keys."""
        return await self._run(nearest.nearest(self._context, path, vector, k, whole))

    async def get(
        self, path: AccessPath[T], *, consistent: bool = False, only: Iterable[FieldName] | None = None
    ) -> T | None:
        """The item with this exact key, or None. With `only`, a partial item with these fields and those of its key."""
        if only is not None:
            return await self._run(lookups.get_only(self._context, path, only, consistent))
        if self._fast is None:
            return await self._run(lookups.get(self._context, path, consistent))
        try:
            return self._fast.get(path, consistent)
        except ClientError as error:
            return await self._run(lookups.retry_get(self._context, path, consistent, error))

    async def lookup(
        self, key: BoundKey[ItemT], keys: Iterable[Mapping[str, Any]], *, consistent: bool = False
    ) -> list[ItemT | None]:
        """The items with these exact keys, in the order of the keys; None for each key without an item."""
        fields = as_sequence(keys)
        found = None if self._fast is None else self._fast.lookup(key, fields, consistent)
        return await self._run(lookups.lookup(self._context, key, fields, consistent)) if found is None else found

    # A tuple is an Iterable, too; the first signature that fits counts.
    @overload
    async def get_many(  # type: ignore[overload-overlap]
        self, paths: tuple[AccessPath[T1], AccessPath[T2]], *, consistent: bool = False, transaction: bool = False
    ) -> tuple[T1 | None, T2 | None]: ...

    @overload
    async def get_many(  # type: ignore[overload-overlap]
        self,
        paths: tuple[AccessPath[T1], AccessPath[T2], AccessPath[T3]],
        *,
        consistent: bool = False,
        transaction: bool = False,
    ) -> tuple[T1 | None, T2 | None, T3 | None]: ...

    @overload
    async def get_many(  # type: ignore[overload-overlap]
        self,
        paths: tuple[AccessPath[T1], AccessPath[T2], AccessPath[T3], AccessPath[T4]],
        *,
        consistent: bool = False,
        transaction: bool = False,
    ) -> tuple[T1 | None, T2 | None, T3 | None, T4 | None]: ...

    @overload
    async def get_many(
        self, paths: Iterable[AccessPath[T]], *, consistent: bool = False, transaction: bool = False
    ) -> list[T | None]: ...

    async def get_many(
        self, paths: Iterable[AccessPath[Any]], *, consistent: bool = False, transaction: bool = False
    ) -> Any:
        """The items with these exact keys, of any classes and tables, in the order of the keys; None for each key
        without an item. A list, or a tuple if `paths` is one. With `transaction`, all of them, at most a hundred, as
        they were at one moment, which costs as much as two consistent reads of each."""
        return await self._run(lookups.get_many(self._context, paths, consistent, transaction))

    async def whole(self, items: Iterable[ItemT], *, consistent: bool = False) -> list[ItemT]:
        """The items, with each partial one (from an index that does not project whole items) read by its key. Items
        that no longer exist are left out."""
        return await self._run(lookups.whole(self._context, items, consistent))

    async def lookup_as(
        self, key: BoundKey[Any], keys: Iterable[Mapping[str, Any]], read: Callable[[bytes], list[R]]
    ) -> list[R]:
        """What `read` returns for the rows with these exact keys. It receives a JSON list of rows as DynamoDB JSON, in
        the order of the keys, with null for each missing row, and returns a list of that length. Faster than `lookup`
        where parts of the items are enough."""
        fields = as_sequence(keys)
        found = None if self._fast is None else self._fast.lookup_as(key, fields, read)
        return await self._run(lookups.lookup_as(self._context, key, fields, read)) if found is None else found

    async def put(
        self,
        item: Item,
        *,
        newer_by: FieldName | None = None,
        if_absent: bool = False,
        if_version: FieldName | None = None,
        where: Where | None = None,
    ) -> bool:
        """Write a whole item; returns whether it was written. At most one condition: `newer_by` names a field, and the
        stored item must be older by it; with `if_absent` there must be no stored item; `if_version` names an int field
        that must equal the stored one, and is incremented in the store and in `item`; `where` are conditions on the
        stored item. The last two raise ConditionFailed if they are not met. A class with `sk.version` has the condition
        of `if_version` in every put, besides another one."""
        options = PutOptions(name_of(newer_by), if_absent, name_of(if_version), where)
        return await self._run(writes.put(self._context, item, options))

    async def put_many(
        self,
        items: Iterable[ItemT],
        *,
        newer_by: FieldName | None = None,
        if_absent: bool = False,
        if_version: FieldName | None = None,
        where: Where | None = None,
    ) -> list[ItemT]:
        """Write whole items, each as `put` does with the same condition; returns those whose condition was not met,
        which `put` would have raised for or returned False. Not a transaction: an error leaves what was written before.
        A store in the process commits hundreds at a time, and other tasks have their turn in between."""
        options = PutOptions(name_of(newer_by), if_absent, name_of(if_version), where)
        return await self._runner.finish(PutMany(self._context, self.client, items, options))

    async def update(self, path: AccessPath[T], changes: Changes, *, where: Where | None = None) -> T:
        """Change fields of one item, and the index keys that depend on them; returns the item afterwards. Raises
        ItemMissing, or ConditionFailed if the item does not match `where`."""
        return await self._run(updates.update(self._context, path, changes, where))

    async def upsert(self, path: AccessPath[T], changes: Changes) -> T:
        """Change fields of one item as `update` does, or create it: from its key, the defaults and the changes, which
        must have all other fields. Returns the item afterwards."""
        return await self._run(updates.upsert(self._context, path, changes))

    async def put_entry(
        self,
        path: AccessPath[T],
        entries: Entries[E],
        name: str,
        entry: E,
        *,
        newer_by: FieldName,
        changes: Changes | None = None,
        where: Where | None = None,
    ) -> PutEntryResult[T]:
        """Write one entry of an item, together with `changes` to its fields, without reading it. Creates a missing
        item. Writes nothing if the stored entry is not older by the field `newer_by`, or if the item does not match
        `where`."""
        put = put_entry.EntryPut(path, put_entry.assignment(entries, name, entry, newer_by), changes or {}, where)
        return await self._run(put_entry.put_entry(self._context, put))

    async def delete(self, path: AccessPath[T], *, where: Where | None = None) -> T | None:
        """Delete one item; returns it as it was, or None. With `where`, raises ItemMissing if there is none, and
        ConditionFailed if it does not match."""
        return await self._run(writes.delete(self._context, path, where))

    async def page(
        self,
        path: AccessPath[T],
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        where: Where | None = None,
        descending: bool = False,
        consistent: bool = False,
        budget: int = DEFAULT_BUDGET,
        undecodable: Undecodable = "raise",
        only: Iterable[FieldName] | None = None,
        whole: bool = False,
    ) -> Page[T]:
        """A page of a path's items: the `first` items after a cursor, or the `last` items before one, 50 by default.
        With `where`, reads at most `budget` rows to fill the page. A row that its class cannot read raises DecodeError,
        or is left out if `undecodable` is "skip". `only` and `whole` are those of `iterate`."""
        window = queries.page_window(first, after, last, before, budget)
        parts = Parts(only, whole)
        page = queries.page(self._context, path, window, where, descending, consistent, undecodable, parts)
        return await self._run(page)

    async def iterate(
        self,
        path: AccessPath[T],
        *,
        where: Where | None = None,
        descending: bool = False,
        consistent: bool = False,
        limit: int | None = None,
        undecodable: Undecodable = "raise",
        only: Iterable[FieldName] | None = None,
        whole: bool = False,
    ) -> AsyncIterator[T]:
        """All items of a path, in its order, or the first `limit` of them, reading as few rows as possible. A row that
        its class cannot read raises DecodeError, or is left out if `undecodable` is "skip". With `only`, partial items
        with these fields and those of the keys. With `whole`, partial items of an index are read again as `whole`
        does."""
        path = self._context.adapt(path)
        query = queries.query_of(path, where, descending, consistent, self._context.meter)
        wanted = wanted_items(path, where, undecodable, limit, Parts(only, whole))
        start: queries.ChunkStart = None
        while True:
            items, start = await self._run(queries.chunk(self._context, path, query, start, wanted))
            wanted = wanted.less(len(items))
            for item in items:
                yield item
            if start is None:
                return

    async def first(
        self,
        path: AccessPath[T],
        *,
        where: Where | None = None,
        descending: bool = False,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> T | None:
        """The first item of a path, or None. With `descending`, the last one. `undecodable` is that of `iterate`."""
        return await self._run(queries.first(self._context, path, where, descending, consistent, undecodable))

    async def count(
        self,
        path: AccessPath[Any],
        *,
        where: Where | None = None,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> int:
        """The number of items that `iterate` returns for the same arguments. Reads all of them."""
        return await self._run(queries.count(self._context, path, where, consistent, undecodable))

    async def transact(self, actions: Transaction) -> None:
        """Carry out all actions or none. Raises TransactionFailed."""
        await self._run(transaction.transact(self._context, actions))

    async def batch(self, *, put: Iterable[Item] = (), delete: Iterable[AccessPath[Any]] = ()) -> None:
        """Put and delete many items, without conditions and without a transaction. Raises Unsupported for a put of a
        class with `sk.version`, which needs a condition."""
        await self._run(writes.batch(self._context, put, delete))

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
    ) -> AsyncScan[ItemT]: ...

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
    ) -> AsyncScan[Item]: ...

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
    ) -> AsyncScan[Any]:
        """All items of a class, of a class in one of its indexes, or of every class of a table, in no order. Reads the
        whole table or index, whatever `where` is; `explain_scan` tells the cost. `segments` are read in parallel, at
        most at `rate` read units per second. `after` is the `cursor` of an earlier scan. A row that its class cannot
        read raises DecodeError, or is left out if `undecodable` is "skip"."""
        source = scan_source.source_of(self._context, scanned, where, consistent, undecodable)
        return AsyncScan(self._runner, source, ScanOptions(segments, rate, after))

    def scan_rows(
        self,
        table: Table | type[Item],
        *,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        consistent: bool = False,
    ) -> AsyncScan[Row]:
        """All rows of a table, in boto3's low-level shape, in no order: those of every class and those of none. The
        arguments are those of `scan`."""
        source = scan_source.rows_source(table, consistent)
        return AsyncScan(self._runner, source, ScanOptions(segments, rate, after))

    async def explain_scan(
        self, scanned: type[Item] | BoundKey[Any] | Table, *, where: Where | None = None, consistent: bool = False
    ) -> ScanEstimate:
        """The request and the expected cost of a scan, from the table's number of items and size as DescribeTable
        reports them."""
        source = scan_source.source_of(self._context, scanned, where, consistent, "raise")
        return await self._run(scan_source.estimate(self._context, source))

    async def delete_all(
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
        return await self._runner.finish(DeleteAll(self._context, found, where, DeleteOptions(scan, segments, rate)))

    async def load(
        self,
        items: Iterable[Item] | AsyncIterable[Item],
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
        load = LoadWork(self._context, self.client, LoadOptions(after, rate, progress))
        return await self._runner.load(load, items)

    async def audit(
        self,
        table: Table | type[Item],
        *,
        repair: bool = False,
        upgrade: bool = False,
        rewrite: bool = False,
        segments: int | None = None,
        rate: float | None = None,
        after: str | None = None,
        examples: int = EXAMPLES,
        progress: ShowProgress | None = None,
    ) -> AuditReport:
        """Compare every row of a table with its declarations. The report counts the rows that no class recognises or
        can decode, those whose attributes disagree with their key, whose index keys are missing or stale, or whose TTL
        is not a number of seconds, those of an older version, and those with a value in a form that its field reads but
        does not write. `repair` rewrites index keys and TTLs, each only if what it follows from is unchanged; `upgrade`
        also rewrites rows of older versions, and `rewrite` values in another form. `segments`, `rate` and `after` are
        those of `scan`; `rate` also limits the units written. The report names up to `examples` rows of each finding.
        `progress` is called after every few hundred rows."""
        options = AuditOptions(repair, upgrade, rewrite, rate, examples)
        return await self._audited(table, options, segments, after, progress)

    async def fill_index(
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
        await self._runner.finish(creation)
        options = AuditOptions(repair=True, rate=rate, only_index=creation.index)
        return await self._audited(creation.table, options, segments, after, progress)

    async def add_vector_index(self, index: BoundVectorIndex[Any]) -> bool:
        """Create a declared vector index if the table lacks it, and wait until the store has built it. Returns whether
        the table lacked it."""
        if not isinstance(index, BoundVectorIndex):
            raise TypeError(f"expected a vector index, such as Product.similar, not {index!r}")
        return await self._runner.finish(IndexCreation(self._context, index))

    async def replace_index(
        self,
        index: BoundKey[Any],
        former: str,
        *,
        segments: int | None = None,
        rate: float | None = None,
        progress: ShowProgress | None = None,
    ) -> AuditReport | None:
        """Replace the index named `former`, which is no longer declared, by a declared one: fill that (`fill_index`),
        then remove the former. It returns None at once if the table does not have the former, or does not exist, so a
        program can begin with it; if it is stopped, the next call goes on. The arguments and the report are those of
        `fill_index`: `db.replace_index(Score.top, "by_points")`."""
        removal = IndexRemoval(self._context, index, former)
        if await self._run(removal.look()) is None:
            return None
        report = await self.fill_index(index, segments=segments, rate=rate, progress=progress)
        await self._runner.finish(removal)
        return report

    async def create_tables(self, *declared: type[Item] | Table) -> list[str]:
        """Create the tables that do not exist; returns their names. Raises TablesDiffer if an existing table differs
        from its declaration."""
        return await self._run(create_tables.create_tables(self._context, self._tables(declared)))

    async def diff_tables(self, *declared: type[Item] | Table) -> list[str]:
        """The differences between tables and their declarations, in words."""
        return await self._run(create_tables.diff_tables(self._context, self._tables(declared)))

    async def drop_tables(self, *declared: type[Item] | Table, dry_run: bool = True) -> list[DroppedTable]:
        """The tables that would be dropped: those of these that exist. They and all their rows are dropped if `dry_run`
        is False."""
        if not declared:
            raise ValueError("name the tables to drop: drop_tables(SHOP)")
        return await self._run(table_changes.drop_tables(self._context, provision.tables_of(declared), dry_run))

    async def close(self) -> None:
        """Close the store; later calls raise."""
        await self._runner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _tables(self, declared: Sequence[type[Item] | Table]) -> tuple[Table, ...]:
        return provision.tables_of(declared) if declared else self._declared

    async def _audited(
        self,
        table: Table | type[Item],
        options: AuditOptions,
        segments: int | None,
        after: str | None,
        progress: ShowProgress | None,
    ) -> AuditReport:
        scan = self.scan_rows(table, segments=segments, rate=options.rate, after=after)
        audit = TableAudit(self._context, table, options)
        async for row in scan:
            if audit.add(row):
                await self._settle(audit, scan, progress)
        await self._settle(audit, scan, progress)
        return audit.report

    async def _settle(self, audit: TableAudit, scan: AsyncScan[Row], progress: ShowProgress | None) -> None:
        await self._run(audit.settle())
        audit.report.read_units = scan.units
        await self._runner.pause(audit.pause())
        if progress is not None:
            progress(AuditProgress(audit.report.snapshot(), scan.cursor))
