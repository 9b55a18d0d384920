"""Checks a table: its rows, and everything that is derived from them.

Index rows and expiry entries are looked up one by one while the items are walked, and counted afterwards: if every
expected one exists and there are no others, they agree exactly. During a backfill, rows after its position are expected
to have none.
"""

from __future__ import annotations

from typing import Final

import orjson

from sortkey.engine.check.findings import Findings
from sortkey.engine.rows import expiry_index, stored_item
from sortkey.engine.rows.index_rows import row_of
from sortkey.engine.tables.table import Index, Table, owner_of
from sortkey.engine.write_batch import read_count
from sortkey.errors import DynamoDBError
from sortkey.storage import Transaction, after_prefix, ascending
from sortkey.values.attribute import Item, Normalised, normalise_item

PROGRESS_ROWS: Final = 1000


def check_table(snapshot: Transaction, table: Table, findings: Findings) -> None:
    derived = [_IndexCheck(snapshot, table, index) for index in table.indexes.values()]
    expiries = _ExpiryCheck(snapshot, table)
    counted = read_count(snapshot, table.space)
    items, size = 0, 0
    for key, row in ascending(snapshot, table.space, after_prefix(table.space)):
        items += 1
        size += _size(row)
        item = _item(table, key, row, findings)
        if item is not None:
            for index in derived:
                index.check_item(key, row, item, findings)
            expiries.check_item(key, item, findings)
        if findings.progress is not None and items % PROGRESS_ROWS == 0:
            findings.progress(table.name, items, max(items, counted[0]))
    if counted != (items, size):
        findings.problem(f"table {table.name}: counted {_count(counted)}, there are {_count((items, size))}")
    for index in derived:
        index.check_total(findings)
    expiries.check_total(findings)
    findings.items += items
    if findings.progress is not None:
        findings.progress(table.name, items, items)


def _size(row: bytes) -> int:
    return stored_item.size(row) if len(row) >= stored_item.FRAME_BYTES else 0


def _count(count: tuple[int, int]) -> str:
    return f"{count[0]} items of {count[1]} bytes"


def _item(table: Table, key: bytes, row: bytes, findings: Findings) -> Item | None:
    """The item of a row; None if it cannot be read."""
    where = f"table {table.name}, row {key.hex()}"
    try:
        item = stored_item.decode(row)
        normalised = normalise_item(item)
        expected_key = table.row_prefix(item)
    except (orjson.JSONDecodeError, DynamoDBError, AttributeError, KeyError, TypeError) as error:
        findings.problem(f"{where}: does not contain an item of this table ({type(error).__name__}: {error})")
        return None
    for wrong in _mistakes(normalised, item, row):
        findings.problem(f"{where}: {wrong}")
    if key != expected_key:
        findings.problem(f"{where}: its item belongs under {expected_key.hex()}")
    return item


def _mistakes(normalised: Normalised, item: Item, row: bytes) -> list[str]:
    wrong = []
    if normalised.item != item:
        wrong.append("its item is not canonical")
    if normalised.size != stored_item.size(row):
        wrong.append(f"its size is stored as {stored_item.size(row)}, but is {normalised.size}")
    if normalised.binary != stored_item.has_binary(row):
        wrong.append(f"it is marked as {'' if stored_item.has_binary(row) else 'not '}binary")
    return wrong


class _IndexCheck:
    def __init__(self, snapshot: Transaction, table: Table, index: Index) -> None:
        self._snapshot = snapshot
        self._index = index
        self._name = f"index {table.name}/{index.name}"
        self._matched = 0

    def check_item(self, key: bytes, table_row: bytes, item: Item, findings: Findings) -> None:
        if not self._index.reaches(key):
            return
        expected = row_of(self._index, item, owner_of(key), table_row)
        if expected is None:
            return
        found = self._snapshot.get(expected.key)
        if found is None:
            findings.problem(f"{self._name}: has no row for table row {key.hex()}")
            return
        self._matched += 1
        if found != expected.value:
            findings.problem(f"{self._name}: its row for table row {key.hex()} differs from the item")

    def check_total(self, findings: Findings) -> None:
        space = self._index.space
        rows, size = 0, 0
        for _, row in ascending(self._snapshot, space, after_prefix(space)):
            rows += 1
            size += _size(row)
        if rows != self._matched:
            findings.problem(f"{self._name}: {rows - self._matched} rows belong to no item")
        counted = read_count(self._snapshot, space)
        if counted != (rows, size):
            findings.problem(f"{self._name}: counted {_count(counted)}, there are {_count((rows, size))}")
        findings.index_rows += rows


class _ExpiryCheck:
    def __init__(self, snapshot: Transaction, table: Table) -> None:
        self._snapshot = snapshot
        self._table = table
        self._matched = 0

    def check_item(self, key: bytes, item: Item, findings: Findings) -> None:
        entry = expiry_index.entry_of(self._table, key, item) if expiry_index.reaches(self._table, key) else None
        if entry is None:
            return
        if self._snapshot.get(entry) is None:
            findings.problem(f"table {self._table.name}: has no expiry entry for row {key.hex()}")
            return
        self._matched += 1

    def check_total(self, findings: Findings) -> None:
        if self._table.ttl_attribute is None:
            return
        start = expiry_index.prefix(self._table.entry)
        entries = sum(1 for _ in ascending(self._snapshot, start, after_prefix(start)))
        if entries != self._matched:
            findings.problem(f"table {self._table.name}: {entries - self._matched} expiry entries belong to no item")
