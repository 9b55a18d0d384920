"""Kinesis streaming destinations: Enable-, Disable-, Update- and DescribeKinesisStreamingDestination.

A destination has a stream of its own in the store, beside the table's: each change is recorded there in its own
transaction, and stays until it is delivered (`streams/kinesis_records`), for a day at most.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from sortkey.engine.requests import features, table_name_of
from sortkey.engine.requests.features import KinesisStreamingConfiguration
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.rows.catalog_entries import DestinationEntry, TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams.kinesis_records import MILLISECOND
from sortkey.engine.streams.stream_writer import destination_stream
from sortkey.engine.tables.core import Answer, Core, Work, release_space
from sortkey.errors import ResourceNotFoundException, ValidationException

STREAM_ARN: Final = re.compile(r"arn:[^:]*:kinesis:[^:]*:[^:]*:stream/([a-zA-Z0-9_.-]{1,128})")
NEEDS_OPTION: Final = (
    "Kinesis streaming destinations are not delivered here: start the endpoint by `sortkey db --kinesis TARGET`, "
    "a folder or the URL of a Kinesis-compatible endpoint"
)
NOT_READY: Final = (
    "Table is not in a valid state to {0} Kinesis Streaming Destination: "
    "KinesisStreamingDestination must be {1} to perform {2} operation."
)


def enable_kinesis_streaming_destination(core: Core, request: features.EnableKinesisStreamingDestination) -> Work:
    """Record the table's changes from now on."""
    name, arn = table_name_of(request.table_name), request.stream_arn
    stream_name = _stream_name(arn)
    if not core.settings.delivers_to_kinesis:
        raise ValidationException(NEEDS_OPTION)
    precision = _precision(request.enable_kinesis_streaming_configuration) or MILLISECOND

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_named(batch.transaction, name).entry
        before = _find(entry, arn)
        if before is not None and before.stream is not None:
            raise ValidationException(NOT_READY.format("enable", "DISABLED or ENABLE_FAILED", "ENABLE"))
        _save(core, batch, entry, DestinationEntry(arn, precision, destination_stream(batch, stream_name)))
        return _answer(name, arn, "ENABLING") | {"EnableKinesisStreamingConfiguration": _shown(precision)}

    return work


def disable_kinesis_streaming_destination(core: Core, request: features.DisableKinesisStreamingDestination) -> Work:
    """Stop; what is not delivered yet is dropped."""
    name, arn = table_name_of(request.table_name), request.stream_arn
    _stream_name(arn)

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_named(batch.transaction, name).entry
        before = _require(entry, arn)
        if before.stream is None:
            raise ValidationException(NOT_READY.format("disable", "ACTIVE", "DISABLE"))
        release_space(batch, before.stream.space)
        _save(core, batch, entry, msgspec.structs.replace(before, stream=None))
        return _answer(name, arn, "DISABLING") | {"EnableKinesisStreamingConfiguration": _shown(before.precision)}

    return work


def update_kinesis_streaming_destination(core: Core, request: features.UpdateKinesisStreamingDestination) -> Work:
    """Change the precision of times, also of changes that are not delivered yet."""
    name, arn = table_name_of(request.table_name), request.stream_arn
    _stream_name(arn)
    precision = _precision(request.update_kinesis_streaming_configuration)
    if precision is None:
        raise ValidationException(
            "Streaming destination cannot be updated with given parameters: "
            "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
        )

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_named(batch.transaction, name).entry
        before = _require(entry, arn)
        if before.stream is None:
            raise ValidationException(NOT_READY.format("update", "ACTIVE", "UPDATE"))
        if before.precision == precision:
            raise ValidationException(
                f"Invalid Request: Precision is already set to the desired value of {precision} "
                f"for tableId: {entry.id}, kdsArn: {arn}"
            )
        _save(core, batch, entry, msgspec.structs.replace(before, precision=precision))
        return _answer(name, arn, "UPDATING") | {"UpdateKinesisStreamingConfiguration": _shown(precision)}

    return work


def describe_kinesis_streaming_destination(core: Core, request: features.DescribeKinesisStreamingDestination) -> Answer:
    with core.read() as transaction:
        entry = core.catalog.require_named(transaction, table_name_of(request.table_name)).entry
    return {
        "TableName": entry.name,
        "KinesisDataStreamDestinations": [_described(core, destination) for destination in entry.destinations],
    }


def _described(core: Core, destination: DestinationEntry) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "StreamArn": destination.arn,
        "DestinationStatus": "DISABLED" if destination.stream is None else "ACTIVE",
    } | _shown(destination.precision)
    if destination.stream is not None and not core.settings.delivers_to_kinesis:
        shown["DestinationStatusDescription"] = NEEDS_OPTION
    return shown


def _stream_name(arn: str) -> str:
    found = STREAM_ARN.fullmatch(arn)
    if found is None:
        raise ValidationException(f"{INVALID}Invalid StreamArn: {arn} is not the ARN of a Kinesis data stream")
    return found[1]


def _precision(configuration: KinesisStreamingConfiguration | None) -> str | None:
    return None if configuration is None else configuration.approximate_creation_date_time_precision


def _find(entry: TableEntry, arn: str) -> DestinationEntry | None:
    return next((destination for destination in entry.destinations if destination.arn == arn), None)


def _require(entry: TableEntry, arn: str) -> DestinationEntry:
    found = _find(entry, arn)
    if found is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: Table: {entry.name} has no Kinesis streaming destination {arn}"
        )
    return found


def _save(core: Core, batch: WriteBatch, entry: TableEntry, destination: DestinationEntry) -> None:
    others = [each for each in entry.destinations if each.arn != destination.arn]
    core.catalog.save(batch, msgspec.structs.replace(entry, destinations=[*others, destination]))


def _answer(name: str, arn: str, status: str) -> Answer:
    return {"TableName": name, "StreamArn": arn, "DestinationStatus": status}


def _shown(precision: str) -> dict[str, str]:
    return {"ApproximateCreationDateTimePrecision": precision}
