"""Global indexes that lag behind their tables.

A snapshot is kept from before each write, for as long as the longest lag. A read of a global index draws a lag, and
reads the oldest kept snapshot that is no older than that: the state before the first write that it must not see yet. So
an index shows a state that the table has had, and catches up when no more writes come.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Final, cast

from sortkey.engine.faults.faults import Faults
from sortkey.engine.operations import SLICED_READS, STATEMENTS
from sortkey.engine.operations.slices import finish
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import Query, Scan
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.statements import ExecuteStatement
from sortkey.engine.rows.records import CATALOG_VERSION
from sortkey.engine.tables.core import Answer, Core
from sortkey.errors import DynamoDBError
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.expressions.partiql_tree import Select
from sortkey.storage import Transaction

MOST_KEPT: Final = 64
"""Snapshots. Of writes that follow each other faster, some are seen together."""
ITEM_WRITES: Final = STATEMENTS | {"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"}
"""And statements, of which some write."""


class IndexLag:
    def __init__(self, faults: Faults) -> None:
        self._longest = faults.index_lag
        self._random = faults.random("index_lag")
        self._lock = threading.Lock()
        self._kept: deque[tuple[float, Transaction]] = deque()

    def before_write(self, core: Core) -> None:
        """Keep the state before an item is written."""
        with self._lock:
            now = core.clock.now()
            self._forget(now - self._longest)
            if not self._kept or now - self._kept[-1][0] >= self._longest / MOST_KEPT:
                self._kept.append((now, core.read()))

    def read(self, core: Core, operation: str, request: Shape) -> Answer | None:
        """The answer from an earlier state; None if the present one has to answer."""
        if not _reads_global_index(core, request):
            return None
        with self._lock:
            now = core.clock.now()
            self._forget(now - self._longest)
            seen = now - self._random.random() * self._longest
            past = next((snapshot for moment, snapshot in self._kept if moment >= seen), None)
            if past is None or _catalog_differs(core, past):
                return None
            return finish(SLICED_READS[operation](cast(Core, _PastCore(core, past)), request))

    def close(self) -> None:
        with self._lock:
            self._forget(float("inf"))

    def _forget(self, before: float) -> None:
        while self._kept and self._kept[0][0] < before:
            self._kept.popleft()[1].abort()


class _PastCore:
    """A database as it was in a snapshot."""

    def __init__(self, core: Core, snapshot: Transaction) -> None:
        self._core = core
        self._snapshot = cast(Transaction, _KeptSnapshot(snapshot))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def read(self) -> Transaction:
        return self._snapshot

    def read_tables(self) -> tuple[Transaction, Any]:
        return self._snapshot, self._core.catalog.usable_tables(self._snapshot)


class _KeptSnapshot:
    """A snapshot that others need after its reader has ended it."""

    def __init__(self, snapshot: Transaction) -> None:
        self._snapshot = snapshot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    def abort(self) -> None:
        """Nothing: it is ended when it is forgotten."""


def _reads_global_index(core: Core, request: Shape) -> bool:
    try:
        table_name, index_name = _read_from(request)
        name = table_name_of(table_name) if index_name is not None else ""
    except DynamoDBError:
        return False
    if index_name is None:
        return False
    snapshot, tables = core.read_tables()
    snapshot.abort()
    table = tables.get(name)
    index = None if table is None else table.indexes.get(index_name)
    return index is not None and not index.entry.local


def _read_from(request: Shape) -> tuple[str, str | None]:
    """The table and the index that a request reads, as it names them."""
    if isinstance(request, Query | Scan):
        return request.table_name, request.index_name
    if isinstance(request, ExecuteStatement):
        statement = parse_statement(request.statement)
        return statement.table, statement.body.index if isinstance(statement.body, Select) else None
    return "", None


def _catalog_differs(core: Core, past: Transaction) -> bool:
    """Whether tables were changed since; the lag is one of items."""
    with core.read() as snapshot:
        return snapshot.get(CATALOG_VERSION) != past.get(CATALOG_VERSION)
