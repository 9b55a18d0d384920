"""Requests to a remote store, written in C.

botocore walks every request along its service model twice, to check it and to write it, which takes longer than the
network: some 40 µs a key. Requests on items are checked here as the embedded client checks them, by the engine's typed
requests, and written as they are. botocore takes over where a check fails, and words the error, and where a request has
structures that only the service model describes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import orjson

from sortkey.client.boto3_shapes import NeedsBotocore, to_dynamodb_json
from sortkey.engine.requests import OPERATIONS
from sortkey.engine.requests.items import KeysAndAttributes
from sortkey.engine.requests.shapes import Shape

_STRUCTURED: Final = frozenset({"AttributeUpdates", "Expected", "KeyConditions", "QueryFilter", "ScanFilter"})
"""Members with nested structures, where a misspelt name would go unnoticed."""
_WRITTEN: Final[dict[str, tuple[type[Shape], frozenset[str]]]] = {
    operation: (OPERATIONS[operation], frozenset(OPERATIONS[operation].__struct_encode_fields__) - _STRUCTURED)
    for operation in (
        *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"),
        *("BatchGetItem", "BatchWriteItem"),
    )
}
_KEYS_AND_ATTRIBUTES: Final = frozenset(KeysAndAttributes.__struct_encode_fields__)
_BATCH_WRITES: Final = ({"PutRequest": {"Item"}}, {"DeleteRequest": {"Key"}})


class Serialiser:
    """Replaces the serialiser of a botocore or aiobotocore client."""

    def __init__(self, botocore: Any) -> None:
        self._botocore = botocore

    def serialize_to_request(self, parameters: Any, operation_model: Any) -> Any:
        body = request_body(operation_model.name, parameters)
        if body is None:
            return self._botocore.serialize_to_request(parameters, operation_model)
        return {
            "url_path": "/",
            "query_string": "",
            "method": "POST",
            "headers": headers(operation_model.name),
            "body": body,
        }


def headers(operation: str) -> dict[str, str]:
    return {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}


def install(client: Any) -> Any:
    """Let the client write requests this way; returns the client."""
    client._serializer = Serialiser(client._serializer)
    return client


def request_body(operation: str, members: Any, binary: bool = True) -> bytes | None:
    """The body of a request; None if botocore has to write it. `binary` tells whether binary may occur in the
    members."""
    shape, known = _WRITTEN.get(operation, (None, frozenset()))
    if shape is None or not members.keys() <= known:
        return None
    try:
        body = to_dynamodb_json(members) if binary else members
        msgspec.convert(body, shape)
        return orjson.dumps(body) if _has_known_names(operation, body) else None
    except (NeedsBotocore, msgspec.ValidationError, orjson.JSONEncodeError):
        return None


def _has_known_names(operation: str, body: dict[str, Any]) -> bool:
    """Whether the parts of a batch have only members that DynamoDB defines."""
    if operation == "BatchGetItem":
        return all(part.keys() <= _KEYS_AND_ATTRIBUTES for part in body["RequestItems"].values())
    if operation == "BatchWriteItem":
        writes = [write for part in body["RequestItems"].values() for write in part]
        return all({name: inner.keys() for name, inner in write.items()} in _BATCH_WRITES for write in writes)
    return True
