"""Typed requests: one structure per operation, read from JSON bytes or from a dictionary.

    decode("GetItem", b'{"TableName": "t", …}')   what the wire brings
    convert("GetItem", {"TableName": "t", …})     what the embedded client brings

Both give the same structure; members nobody declared are ignored, and a null is the same as nothing. msgspec reads
what fits in about a microsecond. What does not fit is looked at a second time, slowly and as AWS does it: `reading`
finds values of the wrong type, then `constraints` everything that is missing or out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from sortkey.engine.requests import (
    batches,
    constraints,
    deserialiser,
    features,
    items,
    reads,
    streams,
    tables,
    transactions,
)
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.table_names import table_name_of
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
        features.DescribeLimits,
        features.DescribeEndpoints,
        features.DescribeContinuousBackups,
        features.UpdateContinuousBackups,
        features.DescribeContributorInsights,
        features.DescribeKinesisStreamingDestination,
        features.DescribeTableReplicaAutoScaling,
        features.DescribeGlobalTable,
        features.DescribeGlobalTableSettings,
        features.GetResourcePolicy,
        features.ListBackups,
        features.ListContributorInsights,
        features.ListExports,
        features.ListGlobalTables,
        features.ListImports,
        items.PutItem,
        items.GetItem,
        items.UpdateItem,
        items.DeleteItem,
        reads.Query,
        reads.Scan,
        batches.BatchGetItem,
        batches.BatchWriteItem,
        transactions.TransactGetItems,
        transactions.TransactWriteItems,
        streams.ListStreams,
        streams.DescribeStream,
        streams.GetShardIterator,
        streams.GetRecords,
    )
}


# All of them now, though that takes 10 ms: msgspec learns what a structure is when it first meets it, and crashes if a
# second thread meets it meanwhile.
_DECODERS: Final[dict[str, Callable[[bytes], Shape]]] = {
    operation: msgspec.json.Decoder(shape).decode for operation, shape in OPERATIONS.items()
}

NOT_JSON: Final = ""
"""AWS says nothing more about a body that it cannot parse."""


def decode(operation: str, body: bytes) -> Shape:
    """The request in a body of JSON."""
    try:
        decoder = _DECODERS[operation]
    except KeyError:
        raise _unknown() from None
    try:
        return decoder(body)
    except msgspec.ValidationError:
        return _second_look(operation, _parsed(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SerializationException(NOT_JSON) from error


def convert(operation: str, members: dict[str, Any]) -> Shape:
    """The request in a dictionary of AWS's members; what it holds may be shared, and is never changed."""
    shape = OPERATIONS.get(operation)
    if shape is None:
        raise _unknown()
    try:
        return msgspec.convert(members, shape)
    except msgspec.ValidationError:
        return _second_look(operation, members)


def _parsed(body: bytes) -> Any:
    """The whole body. A decoder stops at the first member that does not fit, so the rest need not even be JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SerializationException(NOT_JSON) from error


def _second_look(operation: str, members: object) -> Shape:
    """The request after all, where only a null or a fraction was in msgspec's way; else AWS's error."""
    shape = OPERATIONS[operation]
    understood = deserialiser.read(shape, members)
    constraints.enforce(shape, understood)
    try:
        return msgspec.convert(understood, shape)
    except msgspec.ValidationError as error:
        # Of the right type, and yet nothing that the type can hold: a time beyond all floats.
        raise SerializationException(NOT_JSON) from error


def _unknown() -> UnknownOperationException:
    return UnknownOperationException("An unknown operation was requested.")
