"""A remote store's answers, read in C.

botocore walks every answer along its service model, value by value, which takes longer than the network: some 80 µs an
item. DynamoDB's JSON has boto3's shape already, save binaries (base64 text) and moments (seconds), so it is read
as it is, and walked only where it may hold one of those. Whatever is unusual, errors among it, botocore reads itself.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from functools import partial
from typing import Any, Final

import orjson

from sortkey.client.shapes import TIMESTAMPS, moment

_ITEMS_ONLY: Final = frozenset(
    f"{operation}Output"
    for operation in (
        *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"),
        *("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
    )
)
"""Answers without moments."""
_binary_tag: Final = re.compile(rb'"BS?"\s*:').search
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
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return slowly(body, shape)
    # Most items have no binary, and to look for its tag is cheaper than to walk them.
    if shape.name in _ITEMS_ONLY and not _binary_tag(body):
        return answer
    return _native("", answer)


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
