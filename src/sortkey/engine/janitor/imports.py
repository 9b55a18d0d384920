"""Fills imported tables from the objects of a bucket, which are lines of DynamoDB JSON or Ion text, or CSV.

A chunk is read, parsed and prepared first, and then put in one transaction, which also stores the place: which
object is done, and how many records of the next one. A process that goes on after a kill reads that object again up
to there. What cannot be an item of the table is counted, logged and skipped; if an object itself is damaged, the rest
of it is.

An object that is replaced meanwhile is not noticed.
"""

from __future__ import annotations

import csv
import gzip
import logging
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec
import orjson

from sortkey.engine.operations import write
from sortkey.engine.operations.imports import zstd
from sortkey.engine.operations.tables import spaces_of
from sortkey.engine.rows.catalog_entries import ImportEntry, TableEntry
from sortkey.engine.rows.job_records import IMPORTS
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Core, release_space
from sortkey.engine.tables.table import Table
from sortkey.errors import DynamoDBError
from sortkey.limits import KIB, MIB
from sortkey.storage import Buckets, NoSuchBucket, StoredObject
from sortkey.values import ion
from sortkey.values.attribute import Item, normalise_item

CHUNK_RECORDS: Final = 500
CHUNK_BYTES: Final = 256 * KIB
LONGEST_LINE: Final = 4 * MIB
LOGGED_ERRORS: Final = 10_000
"""Of an import; AWS logs as many."""

_logger = logging.getLogger(__name__)


class BadRecord(Exception):
    """A record that is no item; the message says why."""


class BadObject(Exception):
    """An object of which the rest cannot be read."""


class Record(NamedTuple):
    bytes: int
    """Uncompressed."""
    parse: Callable[[], Item]
    """Raises BadRecord."""


class _Chunk(NamedTuple):
    puts: list[write.PreparedPut]
    after: ImportEntry


class Imports:
    """Carries out all imports, chunk by chunk. Between two chunks, it keeps the object open that it reads."""

    def __init__(self) -> None:
        self._reading: tuple[ImportEntry, Iterator[Record]] | None = None

    def __call__(self, core: Core) -> Iterator[None]:
        if core.settings.buckets is None:
            return
        buckets = Buckets(core.settings.buckets)
        while (found := _first(core)) is not None:
            entry, table = found
            try:
                chunk = self._next_chunk(buckets, entry, table)
            except NoSuchBucket as error:
                chunk = _Chunk([], msgspec.structs.replace(entry, failure=("S3NoSuchBucket", str(error))))
            except OSError as error:
                message = f"cannot read the bucket: {error.strerror or error}"
                chunk = _Chunk([], msgspec.structs.replace(entry, failure=("S3Error", message)))
            if not core.store.write(partial(_save, core, entry, chunk)):
                break
            yield
        self._reading = None

    def _next_chunk(self, buckets: Buckets, entry: ImportEntry, table: Table) -> _Chunk:
        source = entry.asked["S3BucketSource"]
        bucket = source["S3Bucket"]
        objects = buckets.objects(bucket, source.get("S3KeyPrefix", ""))
        present = next((each for each in objects if each.key > entry.done), None)
        if not objects:
            return _Chunk(
                [], msgspec.structs.replace(entry, failure=("S3NoSuchKey", "the bucket has no object with this prefix"))
            )
        if present is None:
            return _Chunk([], msgspec.structs.replace(entry, status="COMPLETED"))
        if self._reading is None or self._reading[0] != entry:
            opened = buckets.open(bucket, present.key)
            self._reading = (entry, islice(_records(opened, entry, table), entry.record, None))
        chunk, is_done = _prepare(self._reading[1], entry, table, present)
        self._reading = None if is_done else (chunk.after, self._reading[1])
        return chunk


def _first(core: Core) -> tuple[ImportEntry, Table] | None:
    with core.read() as snapshot:
        for entry in IMPORTS.all(snapshot):
            if entry.status == "IN_PROGRESS":
                table = core.catalog.find(snapshot, entry.name)
                if table is not None and table.entry.id == entry.table_id:
                    return entry, table
    return None


def _prepare(found: Iterator[Record], entry: ImportEntry, table: Table, present: StoredObject) -> tuple[_Chunk, bool]:
    """The next chunk of an object, and whether it is the last one."""
    puts: list[write.PreparedPut] = []
    size, done, errors = 0, 0, 0

    def log(reason: object) -> None:
        if entry.errors + errors < LOGGED_ERRORS:
            number = entry.record + done
            _logger.warning("import into %s: %s, record %d: %s", entry.name, present.key, number, reason)

    is_done = False
    while done < CHUNK_RECORDS and size < CHUNK_BYTES:
        try:
            record = next(found, None)
        except BadObject as error:
            log(error)
            errors += 1
            is_done = True
            break
        if record is None:
            is_done = True
            break
        done += 1
        size += record.bytes
        try:
            puts.append(_prepared(table, record.parse()))
        except (BadRecord, DynamoDBError) as error:
            log(error)
            errors += 1
    after = msgspec.structs.replace(
        entry,
        done=present.key if is_done else entry.done,
        record=0 if is_done else entry.record + done,
        processed=entry.processed + done,
        imported=entry.imported + len(puts),
        errors=entry.errors + errors,
        bytes=entry.bytes + size,
    )
    return _Chunk(puts, after), is_done


def _prepared(table: Table, item: Item) -> write.PreparedPut:
    new = normalise_item(item)
    write.check_size(new.size)
    return write.prepare_put(table, new)


def _save(core: Core, before: ImportEntry, chunk: _Chunk, batch: WriteBatch) -> bool:
    """False if the table was deleted, or another process has written the chunk."""
    if IMPORTS.find(batch.transaction, before.id) != before:
        return False
    after = chunk.after
    if after.failure is not None:
        after = msgspec.structs.replace(after, status="FAILED")
    if after.status != "IN_PROGRESS":
        after = msgspec.structs.replace(after, ended=round(batch.now, 3))
    for put in chunk.puts:
        write.put_prepared(batch, put)
    IMPORTS.save(batch, after.id, after)
    entry = core.catalog.require_named(batch.transaction, after.name).entry
    if after.status == "COMPLETED":
        core.catalog.save(batch, msgspec.structs.replace(entry, is_filled=True))
    elif after.status == "FAILED":
        _remove_table(core, batch, entry)
    return True


def _remove_table(core: Core, batch: WriteBatch, entry: TableEntry) -> None:
    """A table that could not be filled is not left behind."""
    core.catalog.remove(batch, entry.name)
    for space in (entry.space, *spaces_of([*entry.indexes, *entry.vector_indexes])):
        release_space(batch, space)


def _records(opened: BinaryIO, entry: ImportEntry, table: Table) -> Iterator[Record]:
    """The records of an object. Raises BadObject where it cannot be read any more."""
    compression = entry.asked.get("InputCompressionType", "NONE")
    damage = _damage(compression)
    with opened:
        try:
            lines = _lines(_uncompressed(opened, compression))
            if entry.asked["InputFormat"] == "CSV":
                yield from _csv_records(lines, entry, table)
                return
            parse = _ion_item if entry.asked["InputFormat"] == "ION" else _json_item
            for line in lines:
                if line.strip():
                    yield Record(len(line), partial(parse, line))
        except damage as error:
            raise BadObject(f"the rest of the object cannot be read: {error}") from error


def _uncompressed(opened: BinaryIO, compression: str) -> Any:
    if compression == "GZIP":
        return gzip.GzipFile(fileobj=opened)
    if compression == "ZSTD":
        return zstd().open(opened)
    return opened


def _damage(compression: str) -> tuple[type[Exception], ...]:
    """What a damaged object raises where it is read."""
    of_text = (csv.Error, UnicodeDecodeError)
    if compression == "ZSTD":
        return (EOFError, zstd().ZstdError, *of_text)
    return (EOFError, gzip.BadGzipFile, zlib.error, *of_text)


def _lines(opened: Any) -> Iterator[bytes]:
    while line := opened.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise BadObject("a line is longer than any item")
        yield line


def _json_item(line: bytes) -> Item:
    try:
        item = orjson.loads(line)["Item"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise BadRecord('not a line of {"Item": {…}}') from None
    if not isinstance(item, dict):
        raise BadRecord("its Item is no object")
    return item


def _ion_item(line: bytes) -> Item:
    try:
        return ion.read(line)
    except ion.NotAnItem as error:
        raise BadRecord(str(error)) from error


def _csv_records(lines: Iterator[bytes], entry: ImportEntry, table: Table) -> Iterator[Record]:
    options = entry.asked.get("InputFormatOptions", {}).get("Csv", {})
    rows = csv.reader(_decoded(lines), delimiter=options.get("Delimiter", ","), strict=True)
    header = options.get("HeaderList") or next(rows, [])
    types = table.attribute_types
    for row in rows:
        if row:
            yield Record(sum(map(len, row)) + len(row), partial(_csv_item, header, types, row))


def _decoded(lines: Iterator[bytes]) -> Iterator[str]:
    """Lines of text. Some programs begin a file with a mark of its encoding."""
    for number, line in enumerate(lines):
        yield line.decode("utf-8" if number else "utf-8-sig")


def _csv_item(header: list[str], types: dict[str, str], row: list[str]) -> Item:
    if len(row) != len(header):
        raise BadRecord(f"it has {len(row)} values, the header {len(header)}")
    return {name: {types.get(name, "S"): value} for name, value in zip(header, row, strict=True)}
