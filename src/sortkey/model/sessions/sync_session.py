"""The sync session: a thin shell that carries out the core's steps one by one, and parallel ones on threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self, TypeVar

from botocore.exceptions import ClientError

from sortkey.client import Client
from sortkey.client import client as open_client
from sortkey.client.capabilities import EMBEDDED
from sortkey.client.deadline import DEADLINE
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
Outcome = Answer | ClientError


def connect(
    url: str | os.PathLike[str],
    *,
    tables: Sequence[type[Item] | Table] = (),
    secret: str | bytes | None = None,
    timeout: float | None = TIMEOUT,
    pacing: Pacing | None = None,
) -> Session:
    """Open a store for sync use: `with sk.connect("./data") as db`. See docs/model.md."""
    settings = options(tables, secret, timeout, pacing or Pacing())
    client = open_client(url)
    try:
        context = settings.context(client.capabilities())
    except BaseException:
        client.close()
        raise
    return Session(client, context, settings)


class Threads:
    """The threads of a session, started with its first parallel call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def map(self, attempt: Callable[[Call], Outcome], calls: Sequence[Call]) -> list[Outcome]:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(PARALLEL, thread_name_prefix="sortkey-session")
        return list(self._pool.map(attempt, calls))

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown()


class Session(SessionBase[Client]):
    """Any number of threads may share one session."""

    def __init__(
        self,
        client: Client,
        context: Context,
        settings: Options,
        sleep: Callable[[float], None] = time.sleep,
        threads: Threads | None = None,
    ) -> None:
        super().__init__(client, context, settings)
        self._sleep = sleep
        self._threads = threads or Threads()

    def within(self, seconds: float | None) -> Session:
        """The same session, whose calls give up after so long; None waits forever."""
        hurried = replace(self._options, timeout=seconds)
        return Session(self.client, self._context, hurried, self._sleep, self._threads)

    def get(self, path: Path[T], *, consistent: bool = False) -> T | None:
        """One item by its exact key, or None."""
        if self._in_process is None:
            return self._run(reads.get(self._context, path, consistent))
        try:
            return self._get(self._in_process, path, consistent)
        except ClientError as error:
            return self._run(reads.get_again(self._context, path, consistent, error))

    def lookup(
        self, key: BoundKey[ItemT], keys: Iterable[Mapping[str, Any]], *, consistent: bool = False
    ) -> list[ItemT | None]:
        """Items by exact keys: one for each key, None where there is none, in the order of the keys."""
        wanted = listed(keys)
        found = None if self._in_process is None else self._lookup(self._in_process, key, wanted, consistent)
        return self._run(reads.lookup(self._context, key, wanted, consistent)) if found is None else found

    def lookup_as(
        self, key: BoundKey[Any], keys: Iterable[Mapping[str, Any]], read: Callable[[bytes], list[R]]
    ) -> list[R]:
        """What `read` makes of the rows with these exact keys, in their order. It is given a list of rows as DynamoDB's
        JSON, null for what is not there, and makes less of them than whole items: where each microsecond counts."""
        wanted = listed(keys)
        found = None if self._in_process is None else self._lookup_as(self._in_process, key, wanted, read)
        return self._run(reads.lookup_as(self._context, key, wanted, read)) if found is None else found

    def put(
        self, item: Item, *, newer_by: str | None = None, if_absent: bool = False, if_version: str | None = None
    ) -> bool:
        """Write a whole item. False if `newer_by` found one as new, or `if_absent` found any. `if_version` names an int
        field that must be as stored, and is one more afterwards, also in `item`; else it raises ConditionFailed."""
        return self._run(writes.put(self._context, item, newer_by, if_absent, if_version))

    def update(self, path: Path[T], changes: Mapping[str, Any], *, where: Where | None = None) -> T:
        """Change fields of one item, and its index keys with them; returns the item after. Raises ItemMissing or
        ConditionFailed."""
        return self._run(updates.update(self._context, path, changes, where))

    def put_entry(
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
        return self._run(put_entry.put_entry(self._context, wanted))

    def delete(self, path: Path[T], *, where: Where | None = None) -> T | None:
        """Remove one item; returns it as it was. Raises ConditionFailed if it is not as `where` says."""
        return self._run(writes.delete(self._context, path, where))

    def page(
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
        return self._run(pages.page(self._context, path, wanted, where, descending, consistent))

    def iterate(
        self, path: Path[T], *, where: Where | None = None, descending: bool = False, consistent: bool = False
    ) -> Iterator[T]:
        """All items of a path, as many requests as it takes."""
        path = self._context.here(path)
        request = reads.question(path, where, descending, consistent)
        start: Row | None = None
        while True:
            items, start = self._run(reads.chunk(self._context, path, request, start))
            yield from items
            if start is None:
                return

    def count(self, path: Path[Any], *, where: Where | None = None, consistent: bool = False) -> int:
        """How many items there are; they are all read for it."""
        return self._run(reads.count(self._context, path, where, consistent))

    def transact(self, actions: Transaction) -> None:
        """Do all of it or nothing. Raises TransactionFailed."""
        self._run(transaction.transact(self._context, actions))

    def batch(self, *, put: Iterable[Item] = (), delete: Iterable[Path[Any]] = ()) -> None:
        """Many writes, each on its own, without conditions."""
        self._run(writes.batch(self._context, put, delete))

    def create_tables(self, *declared: type[Item] | Table) -> list[str]:
        """Make the tables that do not exist; returns their names. Raises TablesDiffer."""
        return self._run(create_tables.create_tables(self._context, self._tables(declared)))

    def diff_tables(self, *declared: type[Item] | Table) -> list[str]:
        """How the tables differ from their declarations, in words."""
        return self._run(create_tables.diff_tables(self._context, self._tables(declared)))

    def close(self) -> None:
        self._threads.close()
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        deadline = self._deadline()
        try:
            step = next(steps)
            while True:
                if type(step) is Call:
                    self._check_time(deadline, 0)
                    try:
                        answer = self._perform(step, deadline)
                    except ClientError as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Pause:
                    self._check_time(deadline, step.seconds)
                    self._sleep(step.seconds)
                    step = next(steps)
                elif type(step) is Calls:
                    self._check_time(deadline, 0)
                    step = steps.send(self._all(step.calls, deadline))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _perform(self, call: Call, deadline: float | None) -> Answer:
        started = time.perf_counter()
        # The embedded engine does not keep anybody waiting.
        if deadline is None or self.capabilities is EMBEDDED:
            answer = self._send(call)
        else:
            answer = self._timely(call, deadline)
        self.meter.requested(call.path, call.operation, answer, time.perf_counter() - started)
        return answer

    def _send(self, call: Call) -> Answer:
        if call.unparsed:
            return self.client._call_unparsed(call.operation, call.members, call.binary)
        return self.client._call(call.operation, call.members)

    def _timely(self, call: Call, deadline: float) -> Answer:
        """A deadline is by the session's clock, the client's by its own."""
        left = deadline - self._options.pacing.now()
        limited = DEADLINE.set(time.monotonic() + left)
        try:
            return self._send(call)
        except TimeoutError:
            raise self._late() from None
        finally:
            DEADLINE.reset(limited)

    def _all(self, calls: Sequence[Call], deadline: float | None) -> list[Outcome]:
        # In the process there is nothing to wait for, so threads would only cost.
        if len(calls) == 1 or self.capabilities is EMBEDDED:
            return [self._attempt(call, deadline) for call in calls]
        return self._threads.map(lambda call: self._attempt(call, deadline), calls)

    def _attempt(self, call: Call, deadline: float | None) -> Outcome:
        try:
            return self._perform(call, deadline)
        except ClientError as error:
            return error
