"""Shards that split and roll over while a table is written to, as AWS's do under load and every few hours.

A shard that is replaced is closed; its children begin after its last record. There are two, until the stream has
`MOST_OPEN` open shards; from then on there is one.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from sortkey.engine.core import Core
from sortkey.engine.faults.faults import Faults
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.batches import BatchWriteItem
from sortkey.engine.requests.items import DeleteItem, PutItem, UpdateItem
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.transactions import TransactWriteItems
from sortkey.engine.streams import shards
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException

MOST_OPEN: Final = 8

_logger = logging.getLogger(__name__)


class ShardSplits:
    def __init__(self, faults: Faults) -> None:
        self._every = faults.split_shards_every
        self._random = faults.random("split_shards_every")
        self._lock = threading.Lock()
        self._writes: Counter[str] = Counter()

    def count(self, core: Core, request: Shape) -> None:
        """Count a request's writes. The split goes into the write queue before them, and nothing waits for it."""
        try:
            tables = [table_name_of(given) for given in _written(request)]
        except ValidationException:
            return
        for table in tables:
            with self._lock:
                self._writes[table] += 1
                splits = self._writes[table] % self._every == 0
            if splits:
                self._split(core, table)

    def _split(self, core: Core, table_name: str) -> None:
        chosen = self._random.random()

        def work(batch: WriteBatch) -> None:
            table = core.catalog.tables(batch.transaction).get(table_name)
            if table is None or table.stream is None:
                return
            present = shards.open_shards(table.stream)
            parent = present[int(chosen * len(present))]
            shards.divide(core, batch, table, [parent], 2 if len(present) < MOST_OPEN else 1)

        core.store.submit(work, _log_error)


def _log_error(_: Any, error: BaseException | None) -> None:
    if error is not None:
        _logger.error("a shard could not be split", exc_info=error)


def _written(request: Shape) -> Iterator[str]:
    """The table of each write in a request."""
    if isinstance(request, PutItem | UpdateItem | DeleteItem):
        yield request.table_name
    elif isinstance(request, BatchWriteItem):
        for table, writes in request.request_items.items():
            yield from [table] * len(writes)
    elif isinstance(request, TransactWriteItems):
        for each in request.transact_items:
            for action in (each.put, each.update, each.delete):
                if action is not None:
                    yield action.table_name
