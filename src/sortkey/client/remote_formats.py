"""Requests to a remote store and its answers, written and read in C.

botocore walks every request along its service model twice, to check it and to write it, and every answer once: some
40 µs a key and 80 µs an item, longer than the network takes. DynamoDB JSON has boto3's shape already, except for binary
(base64 text) and times (seconds). So requests on items are checked as the embedded client checks them, by the engine's
typed requests, and written as they are; answers are parsed as they are, and walked only where binary or a time may
occur. The items of `UNPARSED_READS` are not even parsed: the model does that better.

botocore takes over where a check fails, and words the error; where a request has structures that only the service model
describes; and it reads errors, and bodies that are not JSON. Both ways meet in three of botocore's events
(`install`).
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
import orjson

from sortkey.client import errors
from sortkey.client.boto3_shapes import (
    UNPARSED_READS,
    NeedsBotocore,
    Unparsed,
    convert_member,
    parse_items,
    to_dynamodb_json,
)
from sortkey.engine.requests import OPERATIONS
from sortkey.engine.requests.items import KeysAndAttributes
from sortkey.engine.requests.shapes import Shape
from sortkey.values.errors import not_unicode

_STRUCTURED: Final = frozenset({"AttributeUpdates", "Expected", "KeyConditions", "QueryFilter", "ScanFilter"})
"""Members with nested structures, where a misspelt name would go unnoticed."""
_PLACEHOLDERS: Final[dict[str, dict[str, Any]]] = {
    "GetItem": {"Key": {}},
    "PutItem": {"Item": {}},
    "UpdateItem": {"Key": {}},
    "DeleteItem": {"Key": {}},
    "Query": {},
    "Scan": {},
    "BatchGetItem": {},
    "BatchWriteItem": {},
}
"""The operations that are written here, with the least that botocore requires next to the names of tables."""
_BATCH_PLACEHOLDERS: Final[dict[str, Any]] = {"BatchGetItem": {"Keys": [{}]}, "BatchWriteItem": [{}]}
"""As above, for each table."""
_WRITTEN: Final[dict[str, tuple[type[Shape], frozenset[str]]]] = {
    operation: (OPERATIONS[operation], frozenset(OPERATIONS[operation].__struct_encode_fields__) - _STRUCTURED)
    for operation in _PLACEHOLDERS
}
for _shape, _ in _WRITTEN.values():
    # msgspec inspects a structure on first use, and crashes if a second thread uses it meanwhile.
    msgspec.json.Decoder(_shape)
_KEYS_AND_ATTRIBUTES: Final = frozenset(KeysAndAttributes.__struct_encode_fields__)
_BATCH_WRITES: Final = ({"PutRequest": {"Item"}}, {"DeleteRequest": {"Key"}})
_WITHOUT_TIMES: Final = frozenset(
    {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"}
)
_HALF: Final = re.compile("[\ud800-\udfff]")
_OK: Final = 200
_BODY: Final = "sortkey_body"
"""The body of a request in botocore's context of the call."""

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def headers(operation: str) -> dict[str, str]:
    return {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}


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


def read_answer(operation: str, body: bytes) -> dict[str, Any] | None:
    """An answer in boto3's shape, the items of UNPARSED_READS unparsed; None if botocore has to read it."""
    if operation in UNPARSED_READS:
        return read_unparsed(body)
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if type(answer) is not dict:
        return None
    if operation in _WITHOUT_TIMES and not _may_have_binary(body):
        return answer
    converted: dict[str, Any] = convert_member("", answer)
    return converted


def read_unparsed(body: bytes) -> dict[str, Any] | None:
    """An answer to one of UNPARSED_READS, its items unparsed; None if it is not JSON."""
    binary = _may_have_binary(body)
    try:
        return {name: _member(name, raw, binary) for name, raw in _members(body).items()}
    except msgspec.DecodeError:
        return None


def _may_have_binary(body: bytes) -> bool:
    """Most items have none, and to search for the tag is cheaper than to walk them."""
    return b'"B"' in body or b'"BS"' in body


def _member(name: str, raw: msgspec.Raw, binary: bool) -> Any:
    if name in ("Item", "Items"):
        return Unparsed(bytes(raw), binary, is_foreign=True)
    if name == "Responses":
        return {table: Unparsed(bytes(items), binary, is_foreign=True) for table, items in _members(raw).items()}
    return parse_items(bytes(raw), binary)


def install(client: Any) -> None:
    """Let a client of botocore or aiobotocore write requests and read answers this way.

    The hooks of the program's own session see the members before they are taken out, and the body that is sent.
    """
    events = client.meta.events
    events.register_last("before-parameter-build", _take_members)
    service = client.meta.service_model.service_id.hyphenize()
    for operation in _WRITTEN:
        events.register_first(f"before-call.{service}.{operation}", _put_body)
    events.register_first("before-parse", _read)


def _take_members(params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
    """Write the body, and leave botocore a request that is quickly checked and written, for the same tables."""
    body = request_body(model.name, params)
    if body is None:
        if _has_half_characters(params):
            # botocore would write it, and a store may then store another character.
            raise errors.client_error(model.name, params, not_unicode())
        return
    context[_BODY] = body
    tables = {name: params[name] for name in ("TableName",) if name in params}
    if "RequestItems" in params:
        tables["RequestItems"] = dict.fromkeys(params["RequestItems"], _BATCH_PLACEHOLDERS[model.name])
    params.clear()
    params.update(tables, **_PLACEHOLDERS[model.name])


def _has_half_characters(part: Any) -> bool:
    """Whether a text has half of a surrogate pair."""
    if isinstance(part, str):
        return not part.isascii() and _HALF.search(part) is not None
    if isinstance(part, dict):
        return any(map(_has_half_characters, part)) or any(map(_has_half_characters, part.values()))
    return isinstance(part, list | tuple) and any(map(_has_half_characters, part))


def _put_body(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    body = context.pop(_BODY, None)
    if body is not None:
        params["body"] = body


def _read(
    operation_model: Any, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    if response_dict["status_code"] != _OK:
        return
    answer = read_answer(operation_model.name, response_dict["body"])
    if answer is not None:
        customized_response_dict.update(answer)
        response_dict["body"] = b"{}"
