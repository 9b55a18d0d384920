"""Checks that a data folder is consistent: every byte in it is accounted for.

The check walks one snapshot from end to end, so other processes may write meanwhile. LMDB's pages are checked first, by
code that does not trust them (`storage/page_tree.py`), then the checksum of each record. Each table row must decode to
a canonical item with that row key. Everything that is derived from the items (index rows, expiry entries, counts) is
computed again and compared with what is stored. Every stream record must be in the right shard, within its range, and
have the right content; every backup must have as many items as it was begun with. Every space must belong to a catalog
entry or be garbage that waits for the janitor.

Index rows and expiry entries are looked up one by one while the items are walked, and counted afterwards: if every
expected one exists and there are no others, they agree exactly. During a backfill, rows after its position are expected
to have none.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson

from sortkey.engine.janitor.backups import rows_of_block
from sortkey.engine.rows import records, stored_item
from sortkey.engine.rows.catalog_entries import ShardEntry, StreamEntry
from sortkey.engine.rows.job_records import BACKUPS, spaces_in_use
from sortkey.engine.rows.records import damaged_records, problem_of
from sortkey.engine.rows.write_batch import read_count
from sortkey.engine.streams.stream_reader import TRIM_MARK
from sortkey.engine.streams.stream_writer import BINARY, HEADER, RECORD_KEY, slice_holds
from sortkey.engine.tables import expiry_index, row_versions, vector_rows
from sortkey.engine.tables.core import Catalog, Core
from sortkey.engine.tables.index_rows import Row, row_of
from sortkey.engine.tables.table import NEW_IMAGE_TYPES, OLD_IMAGE_TYPES, Index, Table, ends_of
from sortkey.engine.tables.vector_index import VectorIndex
from sortkey.errors import DynamoDBError, InternalServerError
from sortkey.storage import DAMAGED_PAGE, DamagedFolder, Transaction, after_prefix, ascending, open_existing, payload_of
from sortkey.values.attribute import Item, Normalised, normalise_item

Progress = Callable[[str, int, int], None]
"""Called with a table's name, the number of items done, and the number of all its items."""

MOST_PROBLEMS: Final = 1000
"""A bound on memory: a folder with more problems is lost anyway."""

PROGRESS_ROWS: Final = 1000


@dataclass(frozen=True)
class CheckReport:
    tables: int
    items: int
    index_rows: int
    problems: list[str]


class Findings:
    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.tables = 0
        self.items = 0
        self.index_rows = 0
        self._problems: list[str] = []
        self._left_out = 0

    def problem(self, text: str) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(text)
        else:
            self._left_out += 1

    def report(self) -> CheckReport:
        problems = self._problems + ([f"and {self._left_out} more"] if self._left_out else [])
        return CheckReport(self.tables, self.items, self.index_rows, problems)


def check(path: Path, progress: Progress | None = None) -> CheckReport:
    """Check a folder, which may be in use by other processes. Raises StorageError when it is not a data folder."""
    try:
        environment = open_existing(path, check_pages=True)
    except DamagedFolder as error:
        return CheckReport(tables=0, items=0, index_rows=0, problems=[str(error)])
    try:
        with environment.begin() as snapshot:
            return _check(snapshot, progress)
    finally:
        environment.close()


def check_database(core: Core, progress: Progress | None = None) -> CheckReport:
    """Check the store that this process has open."""
    with core.read() as snapshot:
        return _check(snapshot, progress)


def _check(snapshot: Transaction, progress: Progress | None) -> CheckReport:
    findings = Findings(progress)
    for key, has_key in damaged_records(snapshot):
        findings.problem(problem_of(snapshot, key, has_key))
    try:
        _check_content(snapshot, findings)
    except (InternalServerError, *DAMAGED_PAGE) as error:
        findings.problem(f"the check ended early: {error}")
    return findings.report()


def _check_content(snapshot: Transaction, findings: Findings) -> None:
    """Compare the records with one another."""
    tables = _tables(snapshot, findings)
    for table in tables:
        _check_table(snapshot, table, findings)
        _check_streams(snapshot, table, findings)
        _check_versions(snapshot, table, findings)
    _check_backups(snapshot, findings)
    _check_spaces(snapshot, tables, findings)


def _check_versions(snapshot: Transaction, table: Table, findings: Findings) -> None:
    """A row that is there has no version of a delete; one that is not has no other, and is in the list of deletes."""
    replication = table.replication
    if replication is None:
        return
    listed = set(row_versions.deleted_rows(snapshot, replication))
    for row, version in row_versions.versions(snapshot, replication):
        is_there = snapshot.get(table.space + row) is not None
        if is_there is version.deleted:
            found = "is there" if is_there else "is not there"
            findings.problem(f"table {table.name}: row {row.hex()} {found}, and its version says otherwise")
        elif version.deleted and (version.time, row) not in listed:
            findings.problem(f"table {table.name}: the version of row {row.hex()} would be kept for ever")


def _check_backups(snapshot: Transaction, findings: Findings) -> None:
    """Every backup must have the rows that it was begun with."""
    for backup in BACKUPS.all(snapshot):
        if backup.position is not None:
            continue
        items, size = 0, 0
        try:
            for number in range(backup.blocks):
                for _, row in rows_of_block(snapshot, backup, number):
                    items += 1
                    size += _size(row)
        except (InternalServerError, zlib.error, struct.error) as error:
            findings.problem(f"backup {backup.id} of table {backup.source.table.name} cannot be read: {error}")
            continue
        counted = (backup.items, backup.bytes)
        if counted != (items, size):
            findings.problem(
                f"backup {backup.id} of table {backup.source.table.name}: counted {_count(counted)}, "
                f"there are {_count((items, size))}"
            )


def _tables(snapshot: Transaction, findings: Findings) -> list[Table]:
    try:
        tables = Catalog().tables(snapshot)
    except msgspec.DecodeError as error:
        findings.problem(f"the catalog cannot be read: {error}")
        return []
    findings.tables = len(tables)
    return list(tables.values())


def _check_spaces(snapshot: Transaction, tables: list[Table], findings: Findings) -> None:
    counted = {space for table in tables for space in _counted_spaces(table)}
    streams = {records.space_bytes(stream.space) for table in tables for stream in table.entry.all_streams}
    others = {records.space_bytes(table.entry.log) for table in tables if table.entry.log}
    others |= {index.log for table in tables for index in table.vector_indexes.values()}
    others |= {records.space_bytes(space) for table in tables for space in table.entry.replication_spaces}
    others |= {records.space_bytes(space) for space in spaces_in_use(snapshot)}
    garbage = _members(snapshot, records.GARBAGE)
    used = counted | streams | others
    for space in sorted(garbage & used):
        findings.problem(f"space {_number(space)} is in use, but marked as garbage")
    for space in _used_spaces(snapshot):
        if space not in used | garbage and space not in records.OWN:
            findings.problem(f"space {_number(space)} has no owner")
    for space in sorted(_members(snapshot, records.COUNTS) - counted):
        findings.problem(f"space {_number(space)} has a count, but is not a table or index")
    _check_next_space(snapshot, used | garbage, findings)


def _counted_spaces(table: Table) -> set[bytes]:
    return {table.space, *(index.space for index in table.all_indexes)}


def _members(snapshot: Transaction, space: bytes) -> set[bytes]:
    return {key[records.SPACE_BYTES :] for key, _ in ascending(snapshot, space, after_prefix(space))}


def _used_spaces(snapshot: Transaction) -> list[bytes]:
    """The spaces that are not empty, found by seeking from one to the next."""
    used: list[bytes] = []
    cursor = snapshot.cursor()
    found = cursor.first()
    while found:
        used.append(cursor.key()[: records.SPACE_BYTES])
        found = cursor.set_range(after_prefix(used[-1]))
    return used


def _check_next_space(snapshot: Transaction, assigned: set[bytes], findings: Findings) -> None:
    next_space = records.read_number(snapshot, records.NEXT_SPACE)
    if assigned and _number(max(assigned)) >= next_space:
        findings.problem(f"space {_number(max(assigned))} is in use, but would be assigned again")


def _number(space: bytes) -> int:
    return int.from_bytes(space, "big")


def _check_table(snapshot: Transaction, table: Table, findings: Findings) -> None:
    derived = [_IndexCheck(snapshot, table, index) for index in table.all_indexes]
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
    """Of an index of either kind."""

    def __init__(self, snapshot: Transaction, table: Table, index: Index | VectorIndex) -> None:
        self._snapshot = snapshot
        self._index = index
        kind = "vector index" if isinstance(index, VectorIndex) else "index"
        self._name = f"{kind} {table.name}/{index.name}"
        self._matched = 0

    def check_item(self, key: bytes, table_row: bytes, item: Item, findings: Findings) -> None:
        if not self._index.reaches(key):
            return
        expected = self._expected(key, table_row, item)
        if expected is None:
            return
        found = self._snapshot.get(expected.key)
        if found is None:
            findings.problem(f"{self._name}: has no row for table row {key.hex()}")
            return
        self._matched += 1
        if found != expected.value:
            findings.problem(f"{self._name}: its row for table row {key.hex()} differs from the item")

    def _expected(self, key: bytes, table_row: bytes, item: Item) -> Row | vector_rows.VectorRow | None:
        if isinstance(self._index, VectorIndex):
            return vector_rows.row_of(self._index, item, key)
        return row_of(self._index, item, ends_of(key), table_row)

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


def _check_streams(snapshot: Transaction, table: Table, findings: Findings) -> None:
    last = records.read_number(snapshot, records.LAST_SEQUENCE)
    for stream in table.entry.all_streams:
        _StreamCheck(table, stream, last, findings).check(snapshot)


class _StreamCheck:
    def __init__(self, table: Table, stream: StreamEntry, last_sequence: int, findings: Findings) -> None:
        self._table = table
        self._stream = stream
        self._shards = {shard.number: shard for shard in stream.shards}
        self._marks: dict[int, int] = {}
        self._last_sequence = last_sequence
        self._findings = findings

    def check(self, snapshot: Transaction) -> None:
        space = records.space_bytes(self._stream.space)
        for key, sealed in ascending(snapshot, space, after_prefix(space)):
            value = payload_of(sealed)
            number, sequence = RECORD_KEY.unpack_from(key, records.SPACE_BYTES)
            shard = self._shards.get(number)
            if shard is None:
                self._problem(sequence, f"is in shard {number}, which does not exist")
            elif sequence == TRIM_MARK:
                self._marks[number] = int.from_bytes(value, "big")
            else:
                self._check_position(shard, sequence)
                self._check_record(shard, sequence, value)

    def _problem(self, sequence: int, what: str) -> None:
        self._findings.problem(f"stream {self._table.name}/{self._stream.label}: record {sequence} {what}")

    def _check_position(self, shard: ShardEntry, sequence: int) -> None:
        last = self._last_sequence if shard.last_sequence is None else shard.last_sequence
        if not shard.first_sequence <= sequence <= last:
            self._problem(sequence, f"is outside its shard's range, {shard.first_sequence} to {last}")
        if sequence <= self._marks.get(shard.number, TRIM_MARK):
            self._problem(sequence, "exists, but its shard was trimmed past it")

    def _check_record(self, shard: ShardEntry, sequence: int, value: bytes) -> None:
        try:
            content = orjson.loads(value[HEADER.size :])
            change = content["dynamodb"]
            row_key = self._table.row_prefix(change["Keys"])
            binary = _any_binary(change)
        except (orjson.JSONDecodeError, DynamoDBError, AttributeError, KeyError, TypeError) as error:
            self._problem(sequence, f"is not a change of this table ({type(error).__name__}: {error})")
            return
        if change.get("SequenceNumber") != f"{sequence:021}":
            self._problem(sequence, f"has the sequence number {change.get('SequenceNumber')}")
        if not slice_holds(shard, row_key):
            self._problem(sequence, "belongs to an item outside its shard's slice")
        if bool(HEADER.unpack_from(value)[0] & BINARY) != binary:
            self._problem(sequence, "has a wrong binary mark")
        if _images(change) != _expected_images(self._stream.view_type, content.get("eventName")):
            self._problem(sequence, f"does not have the images of {self._stream.view_type}")


def _images(change: dict[str, Any]) -> tuple[bool, bool]:
    return "NewImage" in change, "OldImage" in change


def _expected_images(view_type: str, event: object) -> tuple[bool, bool]:
    return view_type in NEW_IMAGE_TYPES and event != "REMOVE", view_type in OLD_IMAGE_TYPES and event != "INSERT"


def _any_binary(change: dict[str, Any]) -> bool:
    images = (change["Keys"], change.get("NewImage", {}), change.get("OldImage", {}))
    return any(normalise_item(image).binary for image in images)
