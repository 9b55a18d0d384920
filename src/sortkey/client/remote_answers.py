"""Answers of a remote store, read in C.

botocore walks every answer along its service model, value by value, which takes longer than the network: some 80 µs an
item. DynamoDB JSON has boto3's shape already, except for binary (base64 text) and times (seconds). So it is parsed as
it is, and walked only where one of these may occur. The items of `UNPARSED_READS` are not even parsed: the model does
that better. botocore reads everything else: errors, and bodies that are not JSON.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec
import orjson

from sortkey.client.boto3_shapes import UNPARSED_READS, Unparsed, convert_member, parse_items

_WITHOUT_TIMES: Final = frozenset(
    f"{operation}Output"
    for operation in (
        *("PutItem", "UpdateItem", "DeleteItem"),
        *("BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
    )
)
_UNPARSED: Final = frozenset(f"{operation}Output" for operation in UNPARSED_READS)
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Parsers:
    """Replaces the parser factory of a botocore or aiobotocore client."""

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def create_parser(self, protocol: str) -> Any:
        parser = self._factory.create_parser(protocol)
        if protocol == "json":
            parser._handle_json_body = partial(read, parser._handle_json_body)
        return parser


def install(client: Any) -> Any:
    """Let the client read answers this way; returns the client."""
    endpoint = client._endpoint
    endpoint._response_parser_factory = Parsers(endpoint._response_parser_factory)
    return client


def read(botocore: Any, body: bytes, shape: Any) -> Any:
    """A body as the parser of botocore, which is given, would read it; items of UNPARSED_READS are unparsed."""
    if shape.metadata.get("exception"):
        return botocore(body, shape)
    if shape.name in _UNPARSED:
        members = read_unparsed(body)
        return botocore(body, shape) if members is None else members
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return botocore(body, shape)
    return answer if shape.name in _WITHOUT_TIMES and not _may_have_binary(body) else convert_member("", answer)


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
        return Unparsed(bytes(raw), binary)
    if name == "Responses":
        return {table: Unparsed(bytes(items), binary) for table, items in _members(raw).items()}
    return parse_items(bytes(raw), binary)
