"""What every operation needs: the store, the catalog, the clock and the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from sortkey.clock import Clock, SystemClock
from sortkey.engine.rows.partition_loads import PartitionLoads
from sortkey.engine.rows.records import CATALOG_VERSION, check_when_opened, damaged_page
from sortkey.engine.rows.write_batch import StreamSignal, WriteBatch
from sortkey.engine.tables.catalog import Catalog
from sortkey.engine.tables.table import Table
from sortkey.storage import Store, Transaction

Answer = dict[str, Any]
"""An operation's answer as DynamoDB JSON, with `stored_item.Json` where stored text can be spliced in."""

Work = Callable[[WriteBatch], Answer]
"""The part of a writing operation that runs in the writer's transaction."""


class Settings(msgspec.Struct, frozen=True):
    region: str = "local"
    account: str = "000000000000"
    stream_shards: int = 1
    """The number of shards of a new stream."""
    sweep_seconds: float = 1.0
    """How often the janitor looks for expired items and other garbage."""


class Core:
    def __init__(self, path: Path | None, clock: Clock | None = None, settings: Settings | None = None) -> None:
        self.clock = clock or SystemClock()
        self.settings = settings or Settings()
        self.catalog = Catalog()
        self.signal = StreamSignal()
        self.partitions = PartitionLoads(monotonic())
        begin_batch = partial(WriteBatch, self.clock, self.signal.notify, self.partitions)
        self.store: Store[WriteBatch] = Store(path, begin_batch, damaged_page)
        self.read = self.store.read
        self.verifies_many = path is not None and not self._check(path)
        """Whether reads of many rows verify them, which takes a twentieth of their time. Opening may have done so."""

    def _check(self, path: Path) -> bool:
        """Whether all records are known to be sound."""
        try:
            return check_when_opened(self.store, path)
        except BaseException:
            self.store.close()
            raise

    def read_tables(self) -> tuple[Transaction, Mapping[str, Table]]:
        """Begin a snapshot and return it with its tables; the caller ends it.

        Ending it by `abort` in a `finally` takes a quarter of the time of a `with`, which is a tenth of a GetItem.
        """
        snapshot, version = self.store.read_with(CATALOG_VERSION)
        return snapshot, self.catalog.tables_at(version, snapshot)

    def table_arn(self, name: str) -> str:
        return f"arn:aws:dynamodb:{self.settings.region}:{self.settings.account}:table/{name}"
