"""Writes exports: AWS's files, in a folder in the place of a bucket.

    PREFIX/AWSDynamoDB/ID/_started                 empty
    PREFIX/AWSDynamoDB/ID/data/NAME.json.gz        lines of {"Item": {…}}
    PREFIX/AWSDynamoDB/data/NAME.json.gz           the same of an incremental export: lines of changes
    PREFIX/AWSDynamoDB/ID/manifest-files.json      a line for each data file, with its checksum; and its own in .md5
    PREFIX/AWSDynamoDB/ID/manifest-summary.json    written last; likewise

With an ExportFormat of ION, data files are NAME.ion.gz, with lines of Ion text.

A data file is one chunk of the table, written before the position is stored. Its name and its content follow from the
export and the position, so a process that goes on after a kill writes the same file again.
"""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from sortkey.engine.janitor.table_chunks import in_turn
from sortkey.engine.operations.export_filter import export_filter
from sortkey.engine.operations.exports import (
    BOTH_IMAGES,
    FOLDER,
    INCREMENTAL,
    arn_of,
    filter_of,
    format_of,
    manifest_key,
    prefix_of,
    span_of,
)
from sortkey.engine.operations.recovery import seconds_of
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.catalog_entries import ExportedFile, ExportEntry
from sortkey.engine.rows.job_records import EXPORTS
from sortkey.engine.rows.records import space_bytes
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import change_log
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import Table
from sortkey.limits import MIB
from sortkey.storage import BadName, Buckets, Transaction
from sortkey.values import ion

FILE_BYTES: Final = 4 * MIB
"""Of a data file, before it is compressed."""
READ_BYTES: Final = 16 * FILE_BYTES
"""Of items that are read for a data file, most of which a filter may leave out."""
COMPRESSION: Final = 1


class _Chunk(NamedTuple):
    lines: list[bytes]
    bytes: int
    """Of the items."""
    position: str | None


def write_exports(core: Core) -> Iterator[None]:
    """Write every export that has been begun, file by file."""
    if core.settings.buckets is None:
        return
    buckets = Buckets(core.settings.buckets)
    while (found := _next_chunk(core)) is not None:
        export, chunk = found
        try:
            written = _write(core, buckets, export, chunk)
        except (OSError, BadName) as error:
            reason = getattr(error, "strerror", None) or error
            written = msgspec.structs.replace(
                export,
                position=None,
                ended=round(core.clock.now(), 3),
                failure=("S3Error", f"cannot write to the bucket: {reason}"),
            )
        if not core.store.write(partial(_save, core, export, written)):
            return
        yield


def _next_chunk(core: Core) -> tuple[ExportEntry, _Chunk] | None:
    with core.read() as snapshot:
        for export in EXPORTS.all(snapshot):
            if export.position is not None:
                return export, _read(snapshot, export, export.position)
    return None


def _read(snapshot: Transaction, export: ExportEntry, position: str) -> _Chunk:
    lines: list[bytes] = []
    length, size = 0, 0
    for key, line, items in in_turn(_records(snapshot, export, position)):
        # Also what a filter leaves out is read, and billed by AWS.
        size += items
        if line is not None:
            lines.append(line)
            length += len(line)
        if length >= FILE_BYTES or size >= READ_BYTES:
            return _Chunk(lines, size, key.hex())
    return _Chunk(lines, size, None)


def _records(snapshot: Transaction, export: ExportEntry, position: str) -> Iterator[tuple[bytes, bytes | None, int]]:
    """Row keys without their space, the lines of a data file, None for what the filter leaves out, and the sizes of the
    items."""
    table = Table(export.source.table)
    selected = export_filter(table, filter_of(export))
    space = space_bytes(export.source.table.space)
    lines = _lines_of(export)
    has_old = export.since is not None and span_of(export)["ExportViewType"] == BOTH_IMAGES
    for change in _images(snapshot, export, position):
        row_key = space + change.key
        if selected.is_before(row_key):
            continue
        if selected.is_behind(row_key):
            return
        item = change.after or change.before
        size = stored_item.size(item)
        if not selected.selects(_text(item)):
            yield change.key, None, size
        elif export.since is None:
            yield change.key, lines.item(selected.shown(_text(item))), size
        else:
            images = {"OldImage": change.before if has_old else b"", "NewImage": change.after}
            line = lines.change(
                change.last // change_log.MICROSECOND,
                orjson.dumps(table.key_of(orjson.loads(_text(item)))),
                {name: selected.shown(_text(payload)) for name, payload in images.items() if payload},
            )
            yield change.key, line, size


def _images(snapshot: Transaction, export: ExportEntry, position: str) -> Iterator[change_log.Change]:
    """What is exported without a filter. A full export has one image of each row."""
    if export.since is not None:
        yield from change_log.changes_between(snapshot, export.source, export.since, position)
        return
    for key, payload in change_log.rows_at(snapshot, export.source, position):
        yield change_log.Change(key, b"", payload, 0)


class _JSONLines:
    """The lines of data files, from DynamoDB JSON: of an item, and of a change with its images."""

    suffix = "json.gz"

    def item(self, text: bytes) -> bytes:
        return b'{"Item":%b}' % text

    def change(self, micros: int, key: bytes, images: dict[str, bytes]) -> bytes:
        members = b"".join(b',"%b":%b' % (name.encode(), text) for name, text in images.items())
        return b'{"Metadata":{"WriteTimestampMicros":{"N":"%d"}},"Keys":%b%b}' % (micros, key, members)


class _IonLines:
    suffix = "ion.gz"

    def item(self, text: bytes) -> bytes:
        return b"%b {Item:%b}" % (ion.VERSION, self._struct(text))

    def change(self, micros: int, key: bytes, images: dict[str, bytes]) -> bytes:
        members = b"".join(b",%b:%b" % (name.encode(), self._struct(text)) for name, text in images.items())
        record = b"Keys:%b,Metadata:{WriteTimestampMicros:%d.}%b" % (self._struct(key), micros, members)
        return b"%b {Record:{%b}}" % (ion.VERSION, record)

    def _struct(self, text: bytes) -> bytes:
        return ion.written(orjson.loads(text))


def _lines_of(export: ExportEntry) -> _JSONLines | _IonLines:
    return _IonLines() if format_of(export) == "ION" else _JSONLines()


def _text(payload: bytes) -> bytes:
    return payload[stored_item.HEADER_BYTES :]


def _write(core: Core, buckets: Buckets, export: ExportEntry, chunk: _Chunk) -> ExportEntry:
    """Write a file, and the manifests after the last one. Returns the export after it."""
    bucket = export.asked["S3Bucket"]
    folder = f"{prefix_of(export.asked)}{FOLDER}"
    if not export.files:
        buckets.put(bucket, f"{folder}/{export.id}/_started", b"")
    number = len(export.files)
    name = hashlib.blake2b(f"{export.id}/{number}".encode(), digest_size=13).hexdigest()
    data = f"{folder}/data" if export.since is not None else f"{folder}/{export.id}/data"
    content = gzip.compress(b"".join(line + b"\n" for line in chunk.lines), COMPRESSION, mtime=0)
    digest = hashlib.md5(content, usedforsecurity=False)
    key = f"{data}/{name}.{_lines_of(export).suffix}"
    buckets.put(bucket, key, content)
    file = ExportedFile(key, len(chunk.lines), b64encode(digest.digest()).decode(), f"{digest.hexdigest()}-1")
    written = msgspec.structs.replace(
        export, files=[*export.files, file], bytes=export.bytes + chunk.bytes, position=chunk.position
    )
    if chunk.position is not None:
        return written
    written = msgspec.structs.replace(written, ended=round(core.clock.now(), 3))
    _write_manifests(core, buckets, written)
    return written


def _write_manifests(core: Core, buckets: Buckets, export: ExportEntry) -> None:
    bucket = export.asked["S3Bucket"]
    summary = manifest_key(export)
    files = summary.replace("manifest-summary.json", "manifest-files.json")
    lines = [
        {"itemCount": file.items, "md5Checksum": file.md5, "etag": file.etag, "dataFileS3Key": file.key}
        for file in export.files
    ]
    for key, text in (
        (files, b"".join(orjson.dumps(line) + b"\n" for line in lines)),
        (summary, orjson.dumps(_summary(core, export, files))),
    ):
        digest = b64encode(hashlib.md5(text, usedforsecurity=False).digest())
        buckets.put(bucket, key.replace(".json", ".md5"), digest)
        buckets.put(bucket, key, text)


def _summary(core: Core, export: ExportEntry, files: str) -> dict[str, Any]:
    asked = export.asked
    summary: dict[str, Any] = {
        "version": "2020-06-30" if export.since is None else "2023-08-01",
        "exportArn": arn_of(core, export),
        "startTime": _instant(export.started),
        "endTime": _instant(export.ended or export.started),
        "tableArn": core.table_arn(export.source.table.name),
        "tableId": export.source.table.id,
    }
    if export.since is None:
        summary["exportTime"] = _instant(seconds_of(export.source.moment))
    else:
        span = span_of(export)
        summary["exportFromTime"] = _instant(span["ExportFromTime"])
        summary["exportToTime"] = _instant(span["ExportToTime"])
    summary |= {
        "s3Bucket": asked["S3Bucket"],
        "s3Prefix": asked.get("S3Prefix"),
        "s3SseAlgorithm": asked.get("S3SseAlgorithm", "AES256"),
        "s3SseKmsKeyId": asked.get("S3SseKmsKeyId"),
        "manifestFilesS3Key": files,
        "billedSizeBytes": export.bytes,
        "itemCount": export.items,
        "outputFormat": format_of(export),
    }
    if export.since is not None:
        summary |= {"outputView": span_of(export)["ExportViewType"], "exportType": INCREMENTAL}
    return summary


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _save(core: Core, before: ExportEntry, after: ExportEntry, batch: WriteBatch) -> bool:
    """False if another process has written the file, too."""
    if EXPORTS.find(batch.transaction, before.id) != before:
        return False
    EXPORTS.save(batch, after.id, after)
    if after.position is None:
        change_log.release(core, batch, after.source)
    return True
