"""Typed requests: one structure per operation, read from JSON bytes or from a dictionary.

    decode("GetItem", b'{"TableName": "t", …}')   from the endpoint
    convert("GetItem", {"TableName": "t", …})     from the embedded client

Both return the same structure. Undeclared members are ignored, and a null means that the member is absent. msgspec
reads a valid request in about a microsecond. A request that it rejects is read again, slowly and in AWS's order:
`aws_deserialiser` finds values of the wrong type, then `constraints` everything that is missing or out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock
from typing import Any, Final

import msgspec

from sortkey.engine.requests import (
    aws_deserialiser,
    backups,
    constraints,
    features,
    items,
    statements,
    tables,
    transfers,
)
from sortkey.engine.requests.shapes import Shape, table_name_of
from sortkey.errors import SerializationException, UnknownOperationException

__all__ = ["OPERATIONS", "convert", "decode", "table_name_of"]

OPERATIONS: Final[dict[str, type[Shape]]] = {
    operation.__name__: operation
    for operation in (
        tables.CreateTable,
        tables.DescribeTable,
        tables.ListTables,
        tables.DeleteTable,
        tables.UpdateTable,
        tables.UpdateTimeToLive,
        tables.DescribeTimeToLive,
        tables.TagResource,
        tables.UntagResource,
        tables.ListTagsOfResource,
        backups.CreateBackup,
        backups.DescribeBackup,
        backups.ListBackups,
        backups.DeleteBackup,
        backups.RestoreTableFromBackup,
        backups.DescribeContinuousBackups,
        backups.UpdateContinuousBackups,
        backups.RestoreTableToPointInTime,
        transfers.ExportTableToPointInTime,
        transfers.DescribeExport,
        transfers.ListExports,
        transfers.ImportTable,
        transfers.DescribeImport,
        transfers.ListImports,
        features.DescribeLimits,
        features.DescribeEndpoints,
        features.DescribeContributorInsights,
        features.UpdateContributorInsights,
        features.EnableKinesisStreamingDestination,
        features.DisableKinesisStreamingDestination,
        features.UpdateKinesisStreamingDestination,
        features.DescribeKinesisStreamingDestination,
        features.DescribeTableReplicaAutoScaling,
        features.UpdateTableReplicaAutoScaling,
        features.CreateGlobalTable,
        features.UpdateGlobalTable,
        features.UpdateGlobalTableSettings,
        features.DescribeGlobalTable,
        features.DescribeGlobalTableSettings,
        features.PutResourcePolicy,
        features.GetResourcePolicy,
        features.DeleteResourcePolicy,
        features.ListContributorInsights,
        features.ListGlobalTables,
        items.PutItem,
        items.GetItem,
        items.UpdateItem,
        items.DeleteItem,
        items.Query,
        items.Scan,
        items.SearchVectors,
        items.BatchGetItem,
        items.BatchWriteItem,
        items.TransactGetItems,
        items.TransactWriteItems,
        statements.ExecuteStatement,
        statements.BatchExecuteStatement,
        statements.ExecuteTransaction,
        tables.ListStreams,
        tables.DescribeStream,
        tables.GetShardIterator,
        tables.GetRecords,
    )
}


_inspecting: Final = Lock()


@cache
def _all_decoders() -> Mapping[str, Callable[[bytes], Shape]]:
    return {operation: msgspec.json.Decoder(shape).decode for operation, shape in OPERATIONS.items()}


def decoders() -> Mapping[str, Callable[[bytes], Shape]]:
    """A function for each operation, from the body of a request to the request. msgspec inspects a structure on first
    use, and crashes if a second thread uses it meanwhile. So all are inspected here, which takes 10 ms, and a module
    that uses a structure by itself calls this at import. A client of an endpoint uses few, and no decoder."""
    with _inspecting:
        return _all_decoders()


NOT_JSON: Final = ""
"""AWS's error for a body that it cannot parse has an empty message."""


def decode(operation: str, body: bytes) -> Shape:
    """The request in a body of JSON."""
    try:
        decoder = decoders()[operation]
    except KeyError:
        raise _unknown() from None
    try:
        return decoder(body)
    except msgspec.ValidationError:
        return _read_again(operation, _parse(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SerializationException(NOT_JSON) from error


def convert(operation: str, members: dict[str, Any]) -> Shape:
    """The request in a dictionary of AWS's members, which is never changed."""
    shape = OPERATIONS.get(operation)
    if shape is None:
        raise _unknown()
    decoders()
    try:
        return msgspec.convert(members, shape)
    except msgspec.ValidationError:
        return _read_again(operation, members)


def _parse(body: bytes) -> Any:
    """Parses the whole body: a decoder stops at the first invalid member, and the rest might not be JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SerializationException(NOT_JSON) from error


def _read_again(operation: str, members: object) -> Shape:
    """The request if msgspec rejected only a null or a fraction; otherwise raises AWS's error."""
    shape = OPERATIONS[operation]
    read = aws_deserialiser.read(shape, members)
    constraints.enforce(shape, read)
    try:
        return msgspec.convert(read, shape)
    except msgspec.ValidationError as error:
        # The right type, but out of its range: a time larger than any float.
        raise SerializationException(NOT_JSON) from error


def _unknown() -> UnknownOperationException:
    return UnknownOperationException("An unknown operation was requested.")
