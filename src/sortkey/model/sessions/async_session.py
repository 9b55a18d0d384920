"""The async session: the same calls as the sync one, awaited; parallel steps are tasks."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from botocore.exceptions import ClientError

from sortkey.client import AsyncClient, async_client
from sortkey.client.capabilities import EMBEDDED
from sortkey.model.changes.conditions import Where
from sortkey.model.items.codec import Row
from sortkey.model.items.entries import E, Entries
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import Path
from sortkey.model.sessions import create_tables, pages, put_entry, reads, transaction, updates, writes
from sortkey.model.sessions.context import Context
from sortkey.model.sessions.pages import DEFAULT_BUDGET, Page
from sortkey.model.sessions.put_entry import PutEntryResult
from sortkey.model.sessions.session_base import PARALLEL, TIMEOUT, Options, SessionBase, listed, options
from sortkey.model.sessions.steps import Answer, Call, Calls, Pacing, Pause, Steps
from sortkey.model.sessions.transaction import Transaction
from sortkey.model.tables.table import Table

T = TypeVar("T")
R = TypeVar("R")
ItemT = TypeVar("ItemT", bound=Item)


def open_session(
    url: str | os.PathLike[str],
    *,
    tables: Sequence[type[Item] | Table] = (),
    secret: str | bytes | None = None,
    timeout: float | None = TIMEOUT,
    pacing: Pacing | None = None,
) -> Opening:
    """Open a store for async use: `async with sk.open("./data") as db`. See docs/model.md."""
    return Opening(url, options(tables, secret, timeout, pacing or Pacing()))


class Opening:
    """A session that is about to be opened, by `async with` or by awaiting it."""

    def __init__(self, url: str | os.PathLike[str], settings: Options) -> None:
        self._url = url
        self._options = settings
        self._session: AsyncSession | None = None

    async def _open(self) -> AsyncSession:
        client = async_client(self._url)
        try:
            context = self._options.context(await client.capabilities())
        except BaseException:
            await client.close()
            raise
        return AsyncSession(client, context, self._options)

    def __await__(self) -> Generator[Any, None, AsyncSession]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncSession:
        self._session = await self._open()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()


class AsyncSession(SessionBase[AsyncClient]):
    """Any number of tasks may share one session."""

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
        """The same session, whose calls give up after so long; None waits forever."""
        return AsyncSession(self.client, self._context, replace(self._options, timeout=seconds), self._sleep)

    async def get(self, path: Path[T], *, consistent: bool = False) -> T | None:
        """One item by its exact key, or None."""
        if self._in_process is None:
            return await self._run(reads.get(self._context, path, consistent))
        try:
            return self._get(self._in_process, path, consistent)
        except ClientError as error:
            return await self._run(reads.get_again(self._context, path, consistent, error))

    async def lookup(
        self, key: BoundKey[ItemT], keys: Iterable[Mapping[str, Any]], *, consistent: bool = False
    ) -> list[ItemT | None]:
        """Items by exact keys: one for each key, None where there is none, in the order of the keys."""
        wanted = listed(keys)
        found = None if self._in_process is None else self._lookup(self._in_process, key, wanted, consistent)
        return await self._run(reads.lookup(self._context, key, wanted, consistent)) if found is None else found

    async def lookup_as(
        self, key: BoundKey[Any], keys: Iterable[Mapping[str, Any]], read: Callable[[bytes], list[R]]
    ) -> list[R]:
        """What `read` makes of the rows with these exact keys, in their order. It is given a list of rows as DynamoDB's
        JSON, null for what is not there, and makes less of them than whole items: where each microsecond counts."""
        wanted = listed(keys)
        found = None if self._in_process is None else self._lookup_as(self._in_process, key, wanted, read)
        return await self._run(reads.lookup_as(self._context, key, wanted, read)) if found is None else found

    async def put(
        self, item: Item, *, newer_by: str | None = None, if_absent: bool = False, if_version: str | None = None
    ) -> bool:
        """Write a whole item. False if `newer_by` found one as new, or `if_absent` found any. `if_version` names an int
        field that must be as stored, and is one more afterwards, also in `item`; else it raises ConditionFailed."""
        return await self._run(writes.put(self._context, item, newer_by, if_absent, if_version))

    async def update(self, path: Path[T], changes: Mapping[str, Any], *, where: Where | None = None) -> T:
        """Change fields of one item, and its index keys with them; returns the item after. Raises ItemMissing or
        ConditionFailed."""
        return await self._run(updates.update(self._context, path, changes, where))

    async def put_entry(
        self,
        path: Path[T],
        entries: Entries[E],
        name: str,
        entry: E,
        *,
        newer_by: str,
        changes: Mapping[str, Any] | None = None,
        where: Where | None = None,
    ) -> PutEntryResult[T]:
        """Write one entry of an item, unless the stored entry is as new by that field or the item is not as `where`
        says; the item is made if there is none. `changes` are done with it. Nothing is read."""
        wanted = put_entry.Entering(path, entries.assignment(name, entry, newer_by), changes or {}, where)
        return await self._run(put_entry.put_entry(self._context, wanted))

    async def delete(self, path: Path[T], *, where: Where | None = None) -> T | None:
        """Remove one item; returns it as it was. Raises ConditionFailed if it is not as `where` says."""
        return await self._run(writes.delete(self._context, path, where))

    async def page(
        self,
        path: Path[T],
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        where: Where | None = None,
        descending: bool = False,
        consistent: bool = False,
        budget: int = DEFAULT_BUDGET,
    ) -> Page[T]:
        """The first so many items after a cursor, or the last so many before one, in the path's order. With `where`
        it reads up to `budget` rows to be full."""
        wanted = pages.window(first, after, last, before, budget)
        return await self._run(pages.page(self._context, path, wanted, where, descending, consistent))

    async def iterate(
        self, path: Path[T], *, where: Where | None = None, descending: bool = False, consistent: bool = False
    ) -> AsyncIterator[T]:
        """All items of a path, as many requests as it takes."""
        path = self._context.here(path)
        request = reads.question(path, where, descending, consistent)
        start: Row | None = None
        while True:
            items, start = await self._run(reads.chunk(self._context, path, request, start))
            for item in items:
                yield item
            if start is None:
                return

    async def count(self, path: Path[Any], *, where: Where | None = None, consistent: bool = False) -> int:
        """How many items there are; they are all read for it."""
        return await self._run(reads.count(self._context, path, where, consistent))

    async def transact(self, actions: Transaction) -> None:
        """Do all of it or nothing. Raises TransactionFailed."""
        await self._run(transaction.transact(self._context, actions))

    async def batch(self, *, put: Iterable[Item] = (), delete: Iterable[Path[Any]] = ()) -> None:
        """Many writes, each on its own, without conditions."""
        await self._run(writes.batch(self._context, put, delete))

    async def create_tables(self, *declared: type[Item] | Table) -> list[str]:
        """Make the tables that do not exist; returns their names. Raises TablesDiffer."""
        return await self._run(create_tables.create_tables(self._context, self._tables(declared)))

    async def diff_tables(self, *declared: type[Item] | Table) -> list[str]:
        """How the tables differ from their declarations, in words."""
        return await self._run(create_tables.diff_tables(self._context, self._tables(declared)))

    async def close(self) -> None:
        await self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, steps: Steps[T]) -> T:
        deadline = self._deadline()
        try:
            step = next(steps)
            while True:
                if type(step) is Call:
                    try:
                        answer = await self._timely(self._perform(step), deadline)
                    except ClientError as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Pause:
                    self._check_time(deadline, step.seconds)
                    await self._sleep(step.seconds)
                    step = next(steps)
                elif type(step) is Calls:
                    step = steps.send(await self._timely(self._all(step.calls), deadline))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def _timely(self, doing: Coroutine[Any, Any, R], deadline: float | None) -> R:
        # The embedded engine does not keep anybody waiting, and a timer costs as much as a read.
        if deadline is None or self.capabilities is EMBEDDED:
            return await doing
        try:
            async with asyncio.timeout(max(0.0, deadline - self._options.pacing.now())):
                return await doing
        except TimeoutError:
            raise self._late() from None

    async def _perform(self, call: Call) -> Answer:
        started = time.perf_counter()
        if call.unparsed:
            answer = await self.client._call_unparsed(call.operation, call.members, call.binary)
        else:
            answer = await self.client._call(call.operation, call.members)
        self.meter.requested(call.path, call.operation, answer, time.perf_counter() - started)
        return answer

    async def _all(self, calls: Sequence[Call]) -> list[Answer | ClientError]:
        if len(calls) == 1:
            return [await self._attempt(calls[0])]
        turns = asyncio.Semaphore(PARALLEL)

        async def in_turn(call: Call) -> Answer | ClientError:
            async with turns:
                return await self._attempt(call)

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(in_turn(call)) for call in calls]
        return [task.result() for task in running]

    async def _attempt(self, call: Call) -> Answer | ClientError:
        try:
            return await self._perform(call)
        except ClientError as error:
            return error
