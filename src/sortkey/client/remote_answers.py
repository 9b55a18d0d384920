"""A remote store's answers, read in C.

botocore walks every answer along its service model, value by value, which takes longer than the network: some 80 µs an
item. DynamoDB's JSON has boto3's shape already, save binaries (base64 text) and moments (seconds), so it is read
as it is, and walked only where it may hold one of those. The items of the operations that read them are not even
parsed: who asked may have a better way. Whatever is unusual, errors among it, botocore reads itself.
"""

from __future__ import annotations

from binascii import a2b_base64
from functools import partial
from typing import Any, Final

import msgspec
import orjson

from sortkey.client.shapes import TIMESTAMPS, moment, native_value
from sortkey.client.unparsed_items import READS, Unparsed

_ITEMS_ONLY: Final = frozenset(
    f"{operation}Output"
    for operation in (
        *("PutItem", "UpdateItem", "DeleteItem", "Scan"),
        *("BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
    )
)
"""Answers without moments."""
_UNPARSED: Final = frozenset(f"{operation}Output" for operation in READS)
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MOMENTS: Final = TIMESTAMPS | {"ApproximateCreationDateTime"}


class Parsers:
    """Stands in for the factory of parsers that a session of botocore or aiobotocore has."""

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def create_parser(self, protocol: str) -> Any:
        parser = self._factory.create_parser(protocol)
        if protocol == "json":
            parser._handle_json_body = partial(read, parser._handle_json_body)
        return parser


def install(session: Any) -> Any:
    """The session, whose clients read answers so."""
    name = "response_parser_factory"
    session.register_component(name, Parsers(session.get_component(name)))
    return session


def read(slowly: Any, body: bytes, shape: Any) -> Any:
    if shape.metadata.get("exception"):
        return slowly(body, shape)
    if shape.name in _UNPARSED:
        members = read_members(body)
        return slowly(body, shape) if members is None else members
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return slowly(body, shape)
    return answer if shape.name in _ITEMS_ONLY and not _may_have_binary(body) else _native("", answer)


def read_members(body: bytes) -> dict[str, Any] | None:
    """An answer to one of the reads, its items unparsed; None if it is not JSON."""
    binary = _may_have_binary(body)
    try:
        return {name: _member(name, raw, binary) for name, raw in _members(body).items()}
    except msgspec.DecodeError:
        return None


def _may_have_binary(body: bytes) -> bool:
    """Most items have none, and to look for its tag is cheaper than to walk them."""
    return b'"B"' in body or b'"BS"' in body


def _member(name: str, raw: msgspec.Raw, binary: bool) -> Any:
    if name in ("Item", "Items"):
        return Unparsed(bytes(raw), binary)
    if name == "Responses":
        return {table: Unparsed(bytes(items), binary) for table, items in _members(raw).items()}
    return native_value(bytes(raw), binary)


def _native(name: str, member: Any) -> Any:
    """A tag `B` with a text, or `BS` with a list, is found in attribute values alone, and a number never is."""
    kind = type(member)
    if kind is dict:
        return {name: _native(name, inner) for name, inner in member.items()}
    if kind is list:
        return [a2b_base64(text) for text in member] if name == "BS" else [_native("", each) for each in member]
    if kind is str:
        return a2b_base64(member) if name == "B" else member
    if (kind is float or kind is int) and name in _MOMENTS:
        return moment(member)
    return member
