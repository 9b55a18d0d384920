"""Exports: ExportTableToPointInTime, DescribeExport, ListExports.

The files go to a folder in the place of a bucket (`Settings.buckets`). The janitor writes them (`janitor/exports.py`).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import Final

import msgspec

from sortkey.engine.operations.export_filter import export_filter
from sortkey.engine.operations.recovery import earliest, require_entry, seconds_of
from sortkey.engine.operations.restores import moment_of
from sortkey.engine.operations.tags import resource_of_arn
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.transfers import (
    DescribeExport,
    ExportTableToPointInTime,
    FilterSpecification,
    ListExports,
    shown,
)
from sortkey.engine.rows.catalog_entries import ExportEntry, Source, TableEntry
from sortkey.engine.rows.job_records import EXPORTS
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import change_log
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.table import Table
from sortkey.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    InvalidRestoreTimeException,
    ValidationException,
)
from sortkey.storage import BadName, Buckets, Transaction, check_names

FULL: Final = "FULL_EXPORT"
INCREMENTAL: Final = "INCREMENTAL_EXPORT"
BOTH_IMAGES: Final = "NEW_AND_OLD_IMAGES"
DEFAULT_FORMAT: Final = "DYNAMODB_JSON"
DEFAULT_PAGE: Final = 25
TOKEN_SECONDS: Final = 8 * 3600
SHORTEST_SECONDS: Final = 15 * 60
LONGEST_SECONDS: Final = 24 * 3600
FOLDER: Final = "AWSDynamoDB"
_EXPORT: Final = re.compile(r"table/([^/:]+)/export/([0-9]{14}-[0-9a-f]{8})")


def buckets_of(core: Core) -> Buckets:
    if core.settings.buckets is None:
        raise ValidationException(
            f"{INVALID}This store has no buckets: start `sortkey db` with --buckets DIR, or open the folder with "
            "?buckets=DIR, and each folder in DIR is a bucket"
        )
    return Buckets(core.settings.buckets)


def export_table_to_point_in_time(core: Core, request: ExportTableToPointInTime) -> Work:
    buckets_of(core)
    _check_specification(request)
    name = table_name_of(request.table_arn)
    asked = shown(request)
    try:
        check_names(request.s3_bucket, f"{prefix_of(asked)}{FOLDER}")
    except BadName as error:
        raise ValidationException(f"{INVALID}{error}") from error

    def work(batch: WriteBatch) -> Answer:
        earlier = _same_token(batch, asked)
        if earlier is not None:
            return {"ExportDescription": _describe(core, earlier)}
        table = require_entry(core, batch.transaction, name)
        selected = export_filter(Table(table), request.filter_specification)
        since, moment = _moments(batch, table, request)
        batch.end_moment(moment)
        export = ExportEntry(
            id=f"{int(batch.now * 1000):014}-{secrets.token_hex(4)}",
            asked=asked,
            source=Source(table, moment),
            started=round(batch.now, 3),
            since=since,
            position=selected.start.hex(),
        )
        EXPORTS.save(batch, export.id, export)
        return {"ExportDescription": _describe(core, export)}

    return work


def prefix_of(asked: dict[str, object]) -> str:
    """What the keys of an export begin with: nothing, or a text that ends with a slash."""
    prefix = str(asked.get("S3Prefix", "")).removesuffix("/")
    return f"{prefix}/" if prefix else ""


def _check_specification(request: ExportTableToPointInTime) -> None:
    if (request.export_type == INCREMENTAL) is not (request.incremental_export_specification is not None):
        raise ValidationException(f"{INVALID}IncrementalExportSpecification is for an ExportType of {INCREMENTAL}")
    if request.export_type == INCREMENTAL and request.export_time is not None:
        raise ValidationException(f"{INVALID}ExportTime is for an ExportType of {FULL}")


def _moments(batch: WriteBatch, table: TableEntry, request: ExportTableToPointInTime) -> tuple[int | None, int]:
    """The moment whose state is exported, and for an incremental export the moment after which changes count."""
    try:
        present = moment_of(batch, table, None)
        span = request.incremental_export_specification
        if span is None:
            return None, moment_of(batch, table, request.export_time)
        begin, end = span.export_from_time, span.export_to_time
        if begin is None:
            raise ValidationException(f"{INVALID}ExportFromTime is required")
        seconds = (seconds_of(present) if end is None else end) - begin
        if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
            raise ValidationException(f"{INVALID}An incremental export is of at least 15 minutes and at most 24 hours")
        # Both ends are exact here: from the first moment of one microsecond to before the first of another.
        return _before(batch, table, begin), present if end is None else _before(batch, table, end)
    except InvalidRestoreTimeException as error:
        raise InvalidExportTimeException(error.message) from error


def _before(batch: WriteBatch, table: TableEntry, time: float) -> int:
    """The last moment before a time."""
    moment_of(batch, table, time)
    assert table.recovery is not None
    exact = round(time * 1_000_000) * change_log.MICROSECOND - 1
    return max(exact, earliest(table.recovery, batch.moment()))


def _same_token(batch: WriteBatch, asked: dict[str, object]) -> ExportEntry | None:
    token = asked.get("ClientToken")
    if token is None:
        return None
    for export in EXPORTS.all(batch.transaction):
        if export.asked.get("ClientToken") == token and export.started > batch.now - TOKEN_SECONDS:
            if export.asked != asked:
                raise ExportConflictException(f"Export with the client token {token} has other parameters")
            return export
    return None


def describe_export(core: Core, request: DescribeExport) -> Answer:
    with core.read() as transaction:
        return {"ExportDescription": _describe(core, _require(transaction, request.export_arn))}


def list_exports(core: Core, request: ListExports) -> Answer:
    """A page of exports, newest first."""
    name = None if request.table_arn is None else table_name_of(request.table_arn)
    with core.read() as transaction:
        found = [export for export in _newest_first(transaction) if name in (None, export.source.table.name)]
    if request.next_token is not None:
        found = [export for export in found if export.id < request.next_token]
    page = found[: request.max_results or DEFAULT_PAGE]
    summaries = [
        {
            "ExportArn": arn_of(core, export),
            "ExportStatus": export.status,
            "ExportType": export.asked.get("ExportType", FULL),
        }
        for export in page
    ]
    answer: Answer = {"ExportSummaries": summaries}
    return answer | {"NextToken": page[-1].id} if len(found) > len(page) else answer


def _newest_first(transaction: Transaction) -> Iterator[ExportEntry]:
    return reversed(list(EXPORTS.all(transaction)))


def _require(transaction: Transaction, arn: str) -> ExportEntry:
    named = _EXPORT.fullmatch(resource_of_arn(arn, "DescribeExport"))
    found = None if named is None else EXPORTS.find(transaction, named[2])
    if named is None or found is None or found.source.table.name != named[1]:
        raise ExportNotFoundException(f"Export not found: {arn}")
    return found


def arn_of(core: Core, export: ExportEntry) -> str:
    return f"{core.table_arn(export.source.table.name)}/export/{export.id}"


def format_of(export: ExportEntry) -> str:
    return str(export.asked.get("ExportFormat", DEFAULT_FORMAT))


def filter_of(export: ExportEntry) -> FilterSpecification | None:
    asked = export.asked.get("FilterSpecification")
    return None if asked is None else msgspec.convert(asked, FilterSpecification)


def manifest_key(export: ExportEntry) -> str:
    return f"{prefix_of(export.asked)}{FOLDER}/{export.id}/manifest-summary.json"


def _describe(core: Core, export: ExportEntry) -> Answer:
    kept = {name: value for name, value in export.asked.items() if name not in ("TableArn", "ExportTime")}
    defaults = {"ExportFormat": DEFAULT_FORMAT, "ExportType": FULL, "S3SseAlgorithm": "AES256"}
    answer: Answer = defaults | kept
    answer |= {
        "ExportArn": arn_of(core, export),
        "ExportStatus": export.status,
        "StartTime": export.started,
        "TableArn": core.table_arn(export.source.table.name),
        "TableId": export.source.table.id,
    }
    if export.since is None:
        answer["ExportTime"] = seconds_of(export.source.moment)
    else:
        answer["IncrementalExportSpecification"] = span_of(export)
    if export.ended is not None:
        answer["EndTime"] = export.ended
    if export.status == "COMPLETED":
        answer |= {
            "ExportManifest": manifest_key(export),
            "BilledSizeBytes": export.bytes,
            "ItemCount": export.items,
        }
    if export.failure is not None:
        answer["FailureCode"], answer["FailureMessage"] = export.failure
    return answer


def span_of(export: ExportEntry) -> Answer:
    """What an incremental export is of; the end is the time of the request if none was given."""
    asked = export.asked["IncrementalExportSpecification"]
    return {
        "ExportFromTime": asked["ExportFromTime"],
        "ExportToTime": asked.get("ExportToTime", export.started),
        "ExportViewType": asked.get("ExportViewType", BOTH_IMAGES),
    }
