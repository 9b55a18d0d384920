"""The async session: the same calls as the sync one, awaited; parallel calls are tasks."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from botocore.exceptions import ClientError

from sortkey.client import AsyncClient, Faults, async_client
from sortkey.client.capabilities import EMBEDDED
from sortkey.clock import Clock
from sortkey.model.changes.conditions import Where
from sortkey.model.changes.operators import Changes
from sortkey.model.changes.typed_field import FieldName, name_of
from sortkey.model.changes.write_conditions import PutOptions
from sortkey.model.errors import FAILURES
from sortkey.model.items.entries import E, Entries
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.sessions import create_tables, lookups, put_entry, queries, transaction, updates, writes
from sortkey.model.sessions.any_session import PARALLEL, TIMEOUT, Options, options
from sortkey.model.sessions.async_maintenance import AsyncMaintenance
from sortkey.model.sessions.fast_reads import as_sequence
from sortkey.model.sessions.item_decoder import Undecodable
from sortkey.model.sessions.put_entry import PutEntryResult
from sortkey.model.sessions.queries import DEFAULT_BUDGET, Page
from sortkey.model.sessions.steps import Answer, Call, Commit, Context, Deadline, Pacing, ParallelCalls, Pause, Steps
from sortkey.model.sessions.transaction import Transaction
from sortkey.model.sessions.wanted_items import Parts, wanted_items
from sortkey.model.tables.table import Table

T = TypeVar("T")
R = TypeVar("R")
ItemT = TypeVar("ItemT", bound=Item)
Result = Answer | ClientError


def async_connect(
    url: str | os.PathLike[str],
    *,
    tables: Sequence[type[Item] | Table] = (),
    secret: str | bytes | None = None,
    timeout: float | None = TIMEOUT,
    pacing: Pacing | None = None,
    clock: Clock | None = None,
    session: Any = None,
    config: Any = None,
    faults: Faults | None = None,
) -> PendingSession:
    """Open a store for async use: `async with sk.async_connect("./data") as db`.

    `tables` are the classes or tables of the program: opening fails if the store lacks what they need, and they are the
    default of `create_tables`. `secret` signs cursors; by default it is the environment's SORTKEY_CURSOR_SECRET, or a
    random one that lasts as long as the process. Each call ends after `timeout` seconds; None waits forever.
    `clock` has a method `now`, with seconds since 1970, for `sk.created` and `sk.updated`.
    `session` and `config` are of aiobotocore, for an endpoint or AWS (docs/client.md). `faults` are for
    tests, on a store in the process (docs/faults.md). See docs/model.md.
    """
    return PendingSession(url, session, config, faults, options(tables, secret, timeout, pacing or Pacing(), clock))


class PendingSession:
    """A session that `async with` or `await` opens."""

    def __init__(
        self, url: str | os.PathLike[str], aws_session: Any, config: Any, faults: Faults | None, settings: Options
    ) -> None:
        self._url = url
        self._aws_session = aws_session
        self._config = config
        self._faults = faults
        self._options = settings
        self._session: AsyncSession | None = None

    async def _open(self) -> AsyncSession:
        client = async_client(self._url, session=self._aws_session, config=self._config, faults=self._faults)
        try:
            context = self._options.context(await client.capabilities())
        except BaseException:
            await client.close()
            raise
        return AsyncSession(client, context, self._options)

    if not TYPE_CHECKING:
        # A type checker that saw this method would accept every name.
        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"the session of {self._url!r} is not open yet, so it has no {name!r}: "
                "async with sk.async_connect(…) as db, or db = await sk.async_connect(…)",
                name=name,
                obj=self,
            )

    def __await__(self) -> Generator[Any, None, AsyncSession]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncSession:
        self._session = await self._open()
        return self._session

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()


class AsyncSession(AsyncMaintenance):
    """An open store. Any number of tasks may share one session."""

    def __init__(
        self,
        client: AsyncClient,
        context: Context,
        settings: Options,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(client, context, settings)
        self._sleep = sleep

    def within(self, seconds: float | None) -> AsyncSession:
        """The same session with another timeout for its calls; None waits forever."""
        return AsyncSession(self.client, self._context, replace(self._options, timeout=seconds), self._sleep)

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
        stored item. The last two raise ConditionFailed if they are not met."""
        options = PutOptions(name_of(newer_by), if_absent, name_of(if_version), where)
        return await self._run(writes.put(self._context, item, options))

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
        query = queries.query_of(path, where, descending, consistent)
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
        """Put and delete many items, without conditions and without a transaction."""
        await self._run(writes.batch(self._context, put, delete))

    async def create_tables(self, *declared: type[Item] | Table) -> list[str]:
        """Create the tables that do not exist; returns their names. Raises TablesDiffer if an existing table differs
        from its declaration."""
        return await self._run(create_tables.create_tables(self._context, self._tables(declared)))

    async def diff_tables(self, *declared: type[Item] | Table) -> list[str]:
        """The differences between tables and their declarations, in words."""
        return await self._run(create_tables.diff_tables(self._context, self._tables(declared)))

    async def close(self) -> None:
        """Close the store; later calls raise."""
        await self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, steps: Steps[T], /) -> T:
        deadline = Deadline(self._options.timeout, self._options.pacing.now)
        try:
            step = next(steps)
            while True:
                if type(step) is Call:
                    try:
                        answer = await self._finish_within(deadline, self._perform(step))
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Pause:
                    deadline.check(step.seconds)
                    await self._sleep(step.seconds)
                    step = next(steps)
                elif type(step) is ParallelCalls:
                    try:
                        answers = await self._finish_within(deadline, self._perform_all(step.calls))
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answers)
                elif type(step) is Commit:
                    try:
                        answer = await asyncio.wrap_future(step.answer)
                    except ClientError as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def _finish_within(self, deadline: Deadline, work: Coroutine[Any, Any, R]) -> R:
        # The embedded engine does not wait for anything, and a timer costs as much as a read.
        left = None if self._context.capabilities is EMBEDDED else deadline.left()
        if left is None:
            return await work
        try:
            async with asyncio.timeout(max(0.0, left)):
                return await work
        except TimeoutError:
            raise deadline.error() from None

    async def _perform(self, call: Call) -> Answer:
        started = time.perf_counter()
        if call.unparsed:
            answer = await self.client._call_unparsed(call.operation, call.members, call.binary)
        else:
            answer = await self.client._call(call.operation, call.members)
        seconds = time.perf_counter() - started
        self._context.answered(call, answer, seconds)
        return answer

    async def _perform_all(self, calls: Sequence[Call]) -> list[Result]:
        if len(calls) == 1:
            return [await self._attempt(calls[0])]
        slots = asyncio.Semaphore(PARALLEL)

        async def attempt_in_slot(call: Call) -> Result:
            async with slots:
                return await self._attempt(call)

        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(attempt_in_slot(call)) for call in calls]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # the others were cancelled because of it
        return [task.result() for task in running]

    async def _attempt(self, call: Call) -> Result:
        try:
            return await self._perform(call)
        except ClientError as error:
            return error


def context_of(session: AsyncSession) -> Context:
    """What the steps of a pattern need, for `run_steps`."""
    return session._context


async def run_steps(session: AsyncSession, steps: Steps[T]) -> T:
    """Carry out the steps of a pattern, with the session's timeout, retries and meter."""
    return await session._run(steps)
