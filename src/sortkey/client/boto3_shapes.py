"""boto3's shapes and DynamoDB JSON, both ways.

They differ in two types. Binary is `bytes` in boto3 and base64 text in DynamoDB JSON; times are `datetime` in boto3 and
seconds in DynamoDB JSON. In the engine's answers, stored items are still text (`JsonText`).

A tag `B` with a text, or `BS` with a list, occurs in attribute values only: anything else of that name (an attribute, a
table) holds a dictionary. So one walk serves every operation.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import orjson
from dateutil.tz import tzlocal

from sortkey.values.json_text import JsonText

if TYPE_CHECKING:
    from sortkey.engine.tables.core import Answer

_loads = orjson.loads

UNPARSED_READS: Final = frozenset({"GetItem", "Query", "Scan", "BatchGetItem"})
"""The operations whose items a client leaves unparsed on request."""
TIMESTAMPS: Final = frozenset(
    """
    ApproximateCreationDateTime ArchivalDateTime BackupCreationDateTime BackupExpiryDateTime CreationDateTime
    CreationRequestDateTime EarliestRestorableDateTime EndTime ExportFromTime ExportTime ExportToTime
    InaccessibleEncryptionDateTime LastDecreaseDateTime LastIncreaseDateTime LastUpdateDateTime
    LastUpdateToPayPerRequestDateTime LatestRestorableDateTime ReplicaInaccessibleDateTime RestoreDateTime StartTime
    TableCreationDateTime
    """.split()
)


class NeedsBotocore(Exception):
    """A value that boto3 may convert or reject: a tuple, a subclass, a file, a datetime, None."""


def to_dynamodb_json(members: dict[str, Any]) -> dict[str, Any]:
    """The members with binary as base64 text. Parts without binary are not copied. Raises NeedsBotocore for any type
    other than dict, list, str, bytes, int and bool."""
    copy: dict[str, Any] | None = None
    for name, member in members.items():
        member_type = type(member)
        if member_type is str:
            if name != "B":
                continue
            converted: Any = _base64(member.encode())
        elif member_type is dict:
            # Most are attribute values that hold a text: not worth a call.
            if len(member) == 1 and type(member.get("S")) is str:
                continue
            converted = to_dynamodb_json(member)
        elif member_type is bool or member_type is int:
            continue
        elif member_type is list:
            converted = [_binary_element(each) for each in member] if name == "BS" else _convert_list(member)
        elif member_type is bytes and name == "B":
            converted = _base64(member)
        else:
            raise NeedsBotocore
        if converted is not member:
            if copy is None:
                copy = members.copy()
            copy[name] = converted
    return members if copy is None else copy


def _convert_list(elements: list[Any]) -> list[Any]:
    # A vector has hundreds of numbers: not worth as many calls.
    if elements and type(elements[0]) is dict and "N" in elements[0] and _are_numbers(elements):
        return elements
    copy: list[Any] | None = None
    for index, element in enumerate(elements):
        element_type = type(element)
        if element_type is dict:
            converted = to_dynamodb_json(element)
            if converted is not element:
                if copy is None:
                    copy = elements.copy()
                copy[index] = converted
        elif element_type is not str:
            raise NeedsBotocore
    return elements if copy is None else copy


def _are_numbers(elements: list[Any]) -> bool:
    if set(map(type, elements)) != {dict} or set(map(len, elements)) != {1}:
        return False
    return {type(element.get("N")) for element in elements} == {str}


def _binary_element(content: Any) -> str:
    if type(content) is bytes:
        return _base64(content)
    if type(content) is str:
        return _base64(content.encode())
    raise NeedsBotocore


def _base64(content: bytes) -> str:
    return b2a_base64(content, newline=False).decode()


def to_boto3(answer: Answer) -> dict[str, Any]:
    """An answer of the engine in boto3's shape."""
    # Every answer to a session's request has its capacity, which is in boto3's shape already.
    return {
        name: member if name == "ConsumedCapacity" else convert_member(name, member) for name, member in answer.items()
    }


def convert_member(name: str, member: Any) -> Any:
    """A member of an answer, given with its name, in boto3's shape."""
    member_type = type(member)
    if member_type is dict:
        return {name: convert_member(name, inner) for name, inner in member.items()}
    if member_type is list:
        if name == "BS":
            return [a2b_base64(text) for text in member]
        return [convert_member("", element) for element in member]
    if member_type is str:
        return a2b_base64(member) if name == "B" else member
    if isinstance(member, JsonText):
        return parse_items(member.text, member.binary)
    if (member_type is float or member_type is int) and name in TIMESTAMPS:
        return to_datetime(member)
    return member


def parse_items(text: bytes, binary: bool) -> Any:
    """Items, or attributes of one, from JSON text; `binary` tells whether binary may occur in it."""
    value = _loads(text)
    return convert_member("", value) if binary else value


def date_records(records: list[dict[str, Any]]) -> None:
    """Convert the times in stream records, which are stored as JSON text and walked only if they have binary. Those of
    one second share one object."""
    last: tuple[float, datetime] | None = None
    for record in records:
        change = record["dynamodb"]
        created = change["ApproximateCreationDateTime"]
        if not isinstance(created, datetime):
            if last is None or last[0] != created:
                last = created, to_datetime(created)
            change["ApproximateCreationDateTime"] = last[1]


def to_datetime(seconds: float) -> datetime:
    """As botocore does it: in the machine's time zone, with the same tzinfo class."""
    return datetime.fromtimestamp(seconds, tzlocal())


class Unparsed:
    """One item, or a list of them, as DynamoDB JSON text. The model parses it into its classes directly."""

    __slots__ = ("binary", "is_foreign", "text")

    def __init__(self, text: bytes, binary: bool, is_foreign: bool = False) -> None:
        self.text = text
        self.binary = binary
        """Whether binary, which is base64 here, may occur in the text."""
        self.is_foreign = is_foreign
        """Whether another store wrote the text, which may have numbers in any spelling."""

    def parsed(self) -> Any:
        """In boto3's shape."""
        return parse_items(self.text, self.binary)


def with_unparsed_items(answer: Answer) -> dict[str, Any]:
    """The engine's answer to one of UNPARSED_READS, or to an UpdateItem, in boto3's shape, except for its items.
    Changes it in place."""
    for name, member in answer.items():
        if name in ("Item", "Items", "Attributes"):
            answer[name] = Unparsed(member.text, member.binary)
        elif name == "Responses":
            answer[name] = {table: Unparsed(items.text, items.binary) for table, items in member.items()}
        elif name in ("LastEvaluatedKey", "UnprocessedKeys"):
            answer[name] = convert_member(name, member)
    return answer


def with_parsed_items(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with its items parsed. Changes it in place."""
    for name in ("Item", "Items", "Responses"):
        if name in answer:
            answer[name] = _parsed(answer[name])
    return answer


def _parsed(member: Any) -> Any:
    if isinstance(member, Unparsed):
        return member.parsed()
    return {table: items.parsed() for table, items in member.items()}
