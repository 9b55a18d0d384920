"""The catalog of tables.

Table entries are in the store beside the data, so a table and its rows appear and go in one transaction, and every
process sees the same tables. Parsed tables are cached under the catalog's *version*, sixteen random bytes that each
change replaces, so one small read per request validates the cache. (A counter would not do: after an aborted
transaction another change would get the same number.)
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import msgspec

from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.table import Table
from sortkey.errors import ResourceNotFoundException
from sortkey.storage import Transaction, ascending

_decoder = msgspec.json.Decoder(TableEntry)
_encoder = msgspec.json.Encoder()


class Catalog:
    def __init__(self) -> None:
        self._cached: tuple[bytes | None, dict[str, Table]] = (None, {})

    def tables(self, transaction: Transaction) -> Mapping[str, Table]:
        """All tables as this transaction sees them."""
        return self.tables_at(transaction.get(records.CATALOG_VERSION), transaction)

    def tables_at(self, version: bytes | None, transaction: Transaction) -> Mapping[str, Table]:
        """The same, for a caller that has read the version already."""
        cached, tables = self._cached
        if cached != version:
            tables = _load(transaction)
            self._cached = (version, tables)
        return tables

    def last_seen(self, name: str) -> Table | None:
        """The table as a recent transaction saw it. It may be out of date: use it as a guess only."""
        return self._cached[1].get(name)

    def find(self, transaction: Transaction, name: str) -> Table | None:
        return self.tables(transaction).get(name)

    def require(self, transaction: Transaction, name: str) -> Table:
        """The table; raises the error of item operations if there is none."""
        return require_table(self.tables(transaction), name)

    def require_in(self, batch: WriteBatch, name: str) -> Table:
        """The same, as a write batch sees it, which has read the version once for all of its writes."""
        version, tables = self._cached
        if version != batch.catalog_version:
            return require_table(self.tables_at(batch.catalog_version, batch.transaction), name)
        # Not by calls: every write comes here.
        table = tables.get(name)
        if table is None:
            raise not_found()
        return table

    def require_named(self, transaction: Transaction, name: str) -> Table:
        """The table; raises the error of table operations, which has its name, if there is none."""
        table = self.tables(transaction).get(name)
        if table is None:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
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
    found = batch.get_record(records.NEXT_SPACE)
    number = records.FIRST_FREE if found is None else int.from_bytes(found, "big")
    batch.put_record(records.NEXT_SPACE, (number + 1).to_bytes(8, "big"))
    return number


def release_space(batch: WriteBatch, number: int) -> None:
    """Mark a space that nothing refers to any more; the janitor empties it in small steps."""
    space = records.space_bytes(number)
    batch.put_record(records.GARBAGE + space, b"")
    batch.delete(records.COUNTS + space)
    batch.counts.pop(space, None)
