"""The sync session: carries out the core's steps one by one, and parallel calls on threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self, TypeVar

from botocore.exceptions import ClientError

from sortkey.client import Client, Faults
from sortkey.client import client as open_client
from sortkey.client.capabilities import EMBEDDED
from sortkey.client.deadline import DEADLINE
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
from sortkey.model.sessions.fast_reads import as_sequence
from sortkey.model.sessions.item_decoder import Undecodable
from sortkey.model.sessions.put_entry import PutEntryResult
from sortkey.model.sessions.queries import DEFAULT_BUDGET, Page
from sortkey.model.sessions.steps import Answer, Call, Commit, Context, Deadline, Pacing, ParallelCalls, Pause, Steps
from sortkey.model.sessions.sync_maintenance import SyncMaintenance
from sortkey.model.sessions.transaction import Transaction
from sortkey.model.sessions.wanted_items import Parts, wanted_items
from sortkey.model.tables.table import Table

T = TypeVar("T")
R = TypeVar("R")
ItemT = TypeVar("ItemT", bound=Item)
Result = Answer | ClientError


def connect(
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
) -> Session:
    """Open a store for sync use: `with sk.connect("./data") as db`.

    `tables` are the classes or tables of the program: opening fails if the store lacks what they need, and they are the
    default of `create_tables`. `secret` signs cursors; by default it is the environment's SORTKEY_CURSOR_SECRET, or a
    random one that lasts as long as the process. Each call ends after `timeout` seconds; None waits forever.
    `clock` has a method `now`, with seconds since 1970, for `sk.created` and `sk.updated`.
    `session` and `config` are of boto3, for an endpoint or AWS (docs/client.md). `faults` are for
    tests, on a store in the process (docs/faults.md). See docs/model.md.
    """
    settings = options(tables, secret, timeout, pacing or Pacing(), clock)
    client = open_client(url, session=session, config=config, faults=faults)
    try:
        context = settings.context(client.capabilities())
    except BaseException:
        client.close()
        raise
    return Session(client, context, settings)


class Threads:
    """The threads of a session, started with its first parallel calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def map(self, attempt: Callable[[Call], Result], calls: Sequence[Call]) -> list[Result]:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(PARALLEL, thread_name_prefix="sortkey-session")
        return list(self._pool.map(attempt, calls))

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown()


class Session(SyncMaintenance):
    """An open store. Any number of threads may share one session."""

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
        """The same session with another timeout for its calls; None waits forever."""
        settings = replace(self._options, timeout=seconds)
        return Session(self.client, self._context, settings, self._sleep, self._threads)

    def get(
        self, path: AccessPath[T], *, consistent: bool = False, only: Iterable[FieldName] | None = None
    ) -> T | None:
        """The item with this exact key, or None. With `only`, a partial item with these fields and those of its key."""
        if only is not None:
            return self._run(lookups.get_only(self._context, path, only, consistent))
        if self._fast is None:
            return self._run(lookups.get(self._context, path, consistent))
        try:
            return self._fast.get(path, consistent)
        except ClientError as error:
            return self._run(lookups.retry_get(self._context, path, consistent, error))

    def lookup(
        self, key: BoundKey[ItemT], keys: Iterable[Mapping[str, Any]], *, consistent: bool = False
    ) -> list[ItemT | None]:
        """The items with these exact keys, in the order of the keys; None for each key without an item."""
        fields = as_sequence(keys)
        found = None if self._fast is None else self._fast.lookup(key, fields, consistent)
        return self._run(lookups.lookup(self._context, key, fields, consistent)) if found is None else found

    def whole(self, items: Iterable[ItemT], *, consistent: bool = False) -> list[ItemT]:
        """The items, with each partial one (from an index that does not project whole items) read by its key. Items
        that no longer exist are left out."""
        return self._run(lookups.whole(self._context, items, consistent))

    def lookup_as(
        self, key: BoundKey[Any], keys: Iterable[Mapping[str, Any]], read: Callable[[bytes], list[R]]
    ) -> list[R]:
        """What `read` returns for the rows with these exact keys. It receives a JSON list of rows as DynamoDB JSON, in
        the order of the keys, with null for each missing row, and returns a list of that length. Faster than `lookup`
        where parts of the items are enough."""
        fields = as_sequence(keys)
        found = None if self._fast is None else self._fast.lookup_as(key, fields, read)
        return self._run(lookups.lookup_as(self._context, key, fields, read)) if found is None else found

    def put(
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
        return self._run(writes.put(self._context, item, options))

    def update(self, path: AccessPath[T], changes: Changes, *, where: Where | None = None) -> T:
        """Change fields of one item, and the index keys that depend on them; returns the item afterwards. Raises
        ItemMissing, or ConditionFailed if the item does not match `where`."""
        return self._run(updates.update(self._context, path, changes, where))

    def upsert(self, path: AccessPath[T], changes: Changes) -> T:
        """Change fields of one item as `update` does, or create it: from its key, the defaults and the changes, which
        must have all other fields. Returns the item afterwards."""
        return self._run(updates.upsert(self._context, path, changes))

    def put_entry(
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
        return self._run(put_entry.put_entry(self._context, put))

    def delete(self, path: AccessPath[T], *, where: Where | None = None) -> T | None:
        """Delete one item; returns it as it was, or None. With `where`, raises ItemMissing if there is none, and
        ConditionFailed if it does not match."""
        return self._run(writes.delete(self._context, path, where))

    def page(
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
        return self._run(page)

    def iterate(
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
    ) -> Iterator[T]:
        """All items of a path, in its order, or the first `limit` of them, reading as few rows as possible. A row that
        its class cannot read raises DecodeError, or is left out if `undecodable` is "skip". With `only`, partial items
        with these fields and those of the keys. With `whole`, partial items of an index are read again as `whole`
        does."""
        path = self._context.adapt(path)
        query = queries.query_of(path, where, descending, consistent)
        wanted = wanted_items(path, where, undecodable, limit, Parts(only, whole))
        start: queries.ChunkStart = None
        while True:
            items, start = self._run(queries.chunk(self._context, path, query, start, wanted))
            wanted = wanted.less(len(items))
            yield from items
            if start is None:
                return

    def first(
        self,
        path: AccessPath[T],
        *,
        where: Where | None = None,
        descending: bool = False,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> T | None:
        """The first item of a path, or None. With `descending`, the last one. `undecodable` is that of `iterate`."""
        return self._run(queries.first(self._context, path, where, descending, consistent, undecodable))

    def count(
        self,
        path: AccessPath[Any],
        *,
        where: Where | None = None,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> int:
        """The number of items that `iterate` returns for the same arguments. Reads all of them."""
        return self._run(queries.count(self._context, path, where, consistent, undecodable))

    def transact(self, actions: Transaction) -> None:
        """Carry out all actions or none. Raises TransactionFailed."""
        self._run(transaction.transact(self._context, actions))

    def batch(self, *, put: Iterable[Item] = (), delete: Iterable[AccessPath[Any]] = ()) -> None:
        """Put and delete many items, without conditions and without a transaction."""
        self._run(writes.batch(self._context, put, delete))

    def create_tables(self, *declared: type[Item] | Table) -> list[str]:
        """Create the tables that do not exist; returns their names. Raises TablesDiffer if an existing table differs
        from its declaration."""
        return self._run(create_tables.create_tables(self._context, self._tables(declared)))

    def diff_tables(self, *declared: type[Item] | Table) -> list[str]:
        """The differences between tables and their declarations, in words."""
        return self._run(create_tables.diff_tables(self._context, self._tables(declared)))

    def close(self) -> None:
        """Close the store; later calls raise."""
        self._threads.close()
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, steps: Steps[T], /) -> T:
        deadline = Deadline(self._options.timeout, self._options.pacing.now)
        try:
            step = next(steps)
            while True:
                if type(step) is Call:
                    try:
                        deadline.check()
                        answer = self._perform(step, deadline)
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
                elif type(step) is Pause:
                    deadline.check(step.seconds)
                    self._sleep(step.seconds)
                    step = next(steps)
                elif type(step) is ParallelCalls:
                    try:
                        deadline.check()
                        answers = self._perform_all(step.calls, deadline)
                    except FAILURES as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answers)
                elif type(step) is Commit:
                    try:
                        answer = step.answer.result()
                    except ClientError as error:
                        step = steps.throw(error)
                        continue
                    step = steps.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _perform(self, call: Call, deadline: Deadline) -> Answer:
        started = time.perf_counter()
        # The embedded engine does not wait for anything.
        left = None if self._context.capabilities is EMBEDDED else deadline.left()
        answer = self._send(call) if left is None else self._send_within(left, call, deadline)
        seconds = time.perf_counter() - started
        self._context.answered(call, answer, seconds)
        return answer

    def _send(self, call: Call) -> Answer:
        if call.unparsed:
            return self.client._call_unparsed(call.operation, call.members, call.binary)
        return self.client._call(call.operation, call.members)

    def _send_within(self, seconds: float, call: Call, deadline: Deadline) -> Answer:
        # The client's deadline is on its own clock.
        limited = DEADLINE.set(time.monotonic() + seconds)
        try:
            return self._send(call)
        except TimeoutError:
            raise deadline.error() from None
        finally:
            DEADLINE.reset(limited)

    def _perform_all(self, calls: Sequence[Call], deadline: Deadline) -> list[Result]:
        # In the process there is nothing to wait for, so threads would only cost.
        if len(calls) == 1 or self._context.capabilities is EMBEDDED:
            return [self._attempt(call, deadline) for call in calls]
        return self._threads.map(lambda call: self._attempt(call, deadline), calls)

    def _attempt(self, call: Call, deadline: Deadline) -> Result:
        try:
            return self._perform(call, deadline)
        except ClientError as error:
            return error
