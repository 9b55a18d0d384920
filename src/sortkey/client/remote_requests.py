"""A remote store's requests, written in C.

botocore walks every request along its service model twice, to check it and to write it, which takes longer than the
network: some 40 µs a key. The operations on items are checked here as the embedded client checks them, by the engine's
typed requests, and written as they are. Whatever does not pass, or has structures inside that only the service model
knows, is left to botocore, and so are its words for mistakes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import orjson

from sortkey.client.shapes import Unusual, to_wire
from sortkey.engine.requests import OPERATIONS
from sortkey.engine.requests.batches import KeysAndAttributes
from sortkey.engine.requests.shapes import Shape

_STRUCTURED: Final = frozenset({"AttributeUpdates", "Expected", "KeyConditions", "QueryFilter", "ScanFilter"})
"""Members with structures inside, where a misspelt name would go unnoticed."""
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
    """Stands in for the serialiser of a botocore or aiobotocore client."""

    def __init__(self, botocore: Any) -> None:
        self._botocore = botocore

    def serialize_to_request(self, parameters: Any, operation_model: Any) -> Any:
        body = written(operation_model.name, parameters)
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
    """The client, which writes requests so."""
    client._serializer = Serialiser(client._serializer)
    return client


def written(operation: str, members: Any, plain: bool = False) -> bytes | None:
    """The request's body; None if it is not of the usual kind. `plain` says that there is no binary in it."""
    shape, known = _WRITTEN.get(operation, (None, frozenset()))
    if shape is None or not members.keys() <= known:
        return None
    try:
        wire = members if plain else to_wire(members)
        msgspec.convert(wire, shape)
        return orjson.dumps(wire) if _is_known_inside(operation, wire) else None
    except (Unusual, msgspec.ValidationError, orjson.JSONEncodeError):
        return None


def _is_known_inside(operation: str, wire: dict[str, Any]) -> bool:
    """Whether the parts of a batch have no other names than they should."""
    if operation == "BatchGetItem":
        return all(part.keys() <= _KEYS_AND_ATTRIBUTES for part in wire["RequestItems"].values())
    if operation == "BatchWriteItem":
        writes = [write for part in wire["RequestItems"].values() for write in part]
        return all({name: inner.keys() for name, inner in write.items()} in _BATCH_WRITES for write in writes)
    return True
