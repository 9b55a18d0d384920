"""What every operation needs: the store, the catalog of its tables, the clock and the settings.

The catalog's entries are in the store beside the data, so a table and its rows appear and go in one transaction, and
every process sees the same tables. Parsed tables are cached under the catalog's *version*, sixteen random bytes that
each change replaces, so one small read per request validates the cache. (A counter would not do: after an aborted
transaction another change would get the same number.)
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from sortkey.clock import Clock, SystemClock, monotonic
from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import TableEntry
from sortkey.engine.rows.partition_loads import PartitionLoads
from sortkey.engine.rows.write_batch import StreamSignal, WriteBatch
from sortkey.engine.tables.fence import fence_error, has_fence
from sortkey.engine.tables.table import Table
from sortkey.errors import InternalServerError, ResourceInUseException, ResourceNotFoundException
from sortkey.storage import DAMAGED_PAGE, Store, Transaction, ascending, begin_snapshot

_decoder = msgspec.json.Decoder(TableEntry)
_encoder = msgspec.json.Encoder()

Answer = dict[str, Any]
"""An operation's answer as DynamoDB JSON, with `stored_item.Json` where stored text can be spliced in."""

Work = Callable[[WriteBatch], Answer]
"""The part of a writing operation that runs in the writer's transaction."""


class Settings(msgspec.Struct, frozen=True):
    region: str = "local"
    account: str = "000000000000"
    stream_shards: int = 1
    """The number of shards of a new stream."""
    delivers_to_kinesis: bool = False
    """Whether tables may have Kinesis streaming destinations: `sortkey db --kinesis` delivers to them."""
    sweep_seconds: float = 1.0
    """How often the janitor looks for expired items and other garbage."""
    buckets: Path | None = None
    """The folder whose folders are the buckets of exports and imports; None if there are none."""


class Core:
    def __init__(self, path: Path | None, clock: Clock | None = None, settings: Settings | None = None) -> None:
        self.path = path
        """None for a store in memory."""
        self.clock = clock or SystemClock()
        self.settings = settings or Settings()
        self.catalog = Catalog()
        self.signal = StreamSignal()
        self.partitions = PartitionLoads(monotonic())
        self.peers: Mapping[str, Core] = {}
        """The stores of all regions, by their names, if this is one of several that are emulated."""
        self.vector_memories: dict[bytes, Any] = {}
        """What searches keep in memory, by the space of the vector index."""
        begin_batch = partial(WriteBatch, self.clock, self.signal.notify, self.partitions)
        self.store: Store[WriteBatch] = Store(path, begin_batch, records.damaged_page)
        self.read = self.store.read
        self.verifies_many = path is not None and not self._check(path)
        """Whether reads of many rows verify them, which takes a twentieth of their time. Opening may have done so."""
        self.settings = self._in_stored_region(self.settings)

    def _in_stored_region(self, settings: Settings) -> Settings:
        """Who opens the folder of an emulated region without naming it is in that region, too."""
        try:
            with self.read() as snapshot:
                stored = records.read(snapshot, records.REGION)
        except (InternalServerError, *DAMAGED_PAGE):
            # A damaged folder can be opened; what needs the damaged part says so.
            return settings
        return settings if stored is None else msgspec.structs.replace(settings, region=stored.decode())

    def _check(self, path: Path) -> bool:
        """Whether all records are known to be sound."""
        try:
            return records.check_when_opened(self.store, path)
        except BaseException:
            self.store.close()
            raise

    def read_tables(self) -> tuple[Transaction, Mapping[str, Table]]:
        """Begin a snapshot and return it with the tables that can be used; the caller ends it.

        Ending it by `abort` in a `finally` takes a quarter of the time of a `with`, which is a tenth of a GetItem.
        """
        snapshot, version = begin_snapshot(self.store.begin, records.CATALOG_VERSION)
        return snapshot, self.catalog.tables_at(version, snapshot)

    def table_arn(self, name: str) -> str:
        return f"arn:aws:dynamodb:{self.settings.region}:{self.settings.account}:table/{name}"


_Loaded = tuple[bytes | None, dict[str, Table], dict[str, Table], dict[str, Table]]
"""A version of the catalog, its tables that can be used, those that are not filled yet, and those of the first that
have no fence."""


class Catalog:
    def __init__(self) -> None:
        self._cached: _Loaded = (None, {}, {}, {})

    def tables(self, transaction: Transaction) -> Mapping[str, Table]:
        """All tables as this transaction sees them, also those that are not filled yet."""
        _, usable, unfilled, _ = self._at(transaction.get(records.CATALOG_VERSION), transaction)
        return usable | unfilled if unfilled else usable

    def usable_tables(self, transaction: Transaction) -> Mapping[str, Table]:
        """The tables whose items may be read and written."""
        return self.tables_at(transaction.get(records.CATALOG_VERSION), transaction)

    def tables_at(self, version: bytes | None, transaction: Transaction) -> Mapping[str, Table]:
        """The same, for a caller that has read the version already."""
        cached, tables, _, _ = self._cached
        return tables if cached == version else self._at(version, transaction)[1]

    def _at(self, version: bytes | None, transaction: Transaction) -> _Loaded:
        cached = self._cached
        if cached[0] != version:
            loaded = _load(transaction)
            usable = {name: table for name, table in loaded.items() if table.entry.is_filled}
            unfilled = {name: table for name, table in loaded.items() if not table.entry.is_filled}
            unfenced = {name: table for name, table in usable.items() if not has_fence(table)}
            self._cached = cached = (version, usable, unfilled, unfenced)
        return cached

    def last_seen(self, name: str) -> Table | None:
        """The table as a recent transaction saw it. It may be out of date: use it as a guess only."""
        return self._cached[1].get(name)

    def find(self, transaction: Transaction, name: str) -> Table | None:
        return self.tables(transaction).get(name)

    def require(self, transaction: Transaction, name: str) -> Table:
        """The table; raises the error of item operations if there is none."""
        return require_table(self.usable_tables(transaction), name)

    def require_in(self, batch: WriteBatch, name: str) -> Table:
        """The table to write to, as a write batch sees it, which has read the version once for all of its writes.
        Raises the error of its fence if it has one."""
        version, _, _, unfenced = self._cached
        if version != batch.catalog_version:
            unfenced = self._at(batch.catalog_version, batch.transaction)[3]
        # Not by calls: every write comes here.
        table = unfenced.get(name)
        if table is None:
            table = require_table(self.tables_at(batch.catalog_version, batch.transaction), name)
            error = fence_error(table, batch.now)
            if error is not None:
                raise error
        return table

    def require_named(self, transaction: Transaction, name: str) -> Table:
        """The table; raises the error of table operations, which has its name, if there is none."""
        table = self.tables(transaction).get(name)
        if table is None:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
        return table

    def require_active(self, transaction: Transaction, name: str) -> Table:
        """The same, for operations that change it; raises their error if it is not filled yet."""
        table = self.require_named(transaction, name)
        if not table.entry.is_filled:
            raise ResourceInUseException(
                f"Attempt to change a resource which is still in use: Table is being created: {name}"
            )
        return table

    def save(self, batch: WriteBatch, entry: TableEntry) -> Table:
        batch.put_record(records.TABLE_PREFIX + entry.name.encode(), _encoder.encode(entry))
        _changed(batch)
        return Table(entry)

    def remove(self, batch: WriteBatch, name: str) -> None:
        batch.delete(records.TABLE_PREFIX + name.encode())
        _changed(batch)


def require_table(tables: Mapping[str, Table], name: str) -> Table:
    table = tables.get(name)
    if table is None:
        raise not_found()
    return table


def not_found() -> ResourceNotFoundException:
    return ResourceNotFoundException("Requested resource not found")


def _load(transaction: Transaction) -> dict[str, Table]:
    # The version is only compared with the cached one. A damaged one differs, and is found here.
    records.read(transaction, records.CATALOG_VERSION)
    stored = ascending(transaction, records.TABLE_PREFIX, records.TABLE_END)
    entries = [_decoder.decode(records.opened(transaction, key, value)) for key, value in stored]
    return {entry.name: Table(entry) for entry in entries}


def _changed(batch: WriteBatch) -> None:
    batch.put_record(records.CATALOG_VERSION, secrets.token_bytes(16))
    batch.catalog_version = batch.transaction.get(records.CATALOG_VERSION)


def new_space(batch: WriteBatch) -> int:
    """A number for a new table, index or stream; no number is used twice."""
    number = records.read_number(batch.transaction, records.NEXT_SPACE) or records.FIRST_FREE
    batch.put_record(records.NEXT_SPACE, (number + 1).to_bytes(8, "big"))
    return number


def release_space(batch: WriteBatch, number: int) -> None:
    """Mark a space that nothing refers to any more; the janitor empties it in small steps."""
    space = records.space_bytes(number)
    batch.put_record(records.GARBAGE + space, b"")
    drop_count(batch, space)


def drop_count(batch: WriteBatch, space: bytes) -> None:
    batch.delete(records.COUNTS + space)
    batch.counts.pop(space, None)
