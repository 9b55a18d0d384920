"""boto3's shapes and the engine's, both ways.

They differ in three things only. Binary is `bytes` for callers and base64 text in the engine; moments are `datetime`
for callers and seconds in the engine; and the engine leaves stored items unparsed, as `stored.Json`.

A tag `B` with a text, or `BS` with a list, is found in attribute values alone: whatever else has such a name (an
attribute, a table) has a dictionary behind it. So one walk serves every operation.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from datetime import datetime
from typing import Any, Final

import orjson
from dateutil.tz import tzlocal

from sortkey.engine.core import Answer
from sortkey.engine.rows.stored_item import Json

_loads = orjson.loads

TIMESTAMPS: Final = frozenset(
    """
    ArchivalDateTime BackupCreationDateTime BackupExpiryDateTime CreationDateTime CreationRequestDateTime
    EarliestRestorableDateTime EndTime InaccessibleEncryptionDateTime LastDecreaseDateTime LastIncreaseDateTime
    LastUpdateDateTime LastUpdateToPayPerRequestDateTime LatestRestorableDateTime ReplicaInaccessibleDateTime
    RestoreDateTime StartTime
    """.split()
)


class Unusual(Exception):
    """Something that boto3 may take or reject: a tuple, a subclass, a file, a moment, None."""


def to_wire(members: dict[str, Any]) -> dict[str, Any]:
    """The same with binary as base64 text; what has none is not copied. Raises Unusual for anything but plain types."""
    copy: dict[str, Any] | None = None
    for name, member in members.items():
        kind = type(member)
        if kind is str:
            if name != "B":
                continue
            wire: Any = _base64(member.encode())
        elif kind is dict:
            # Most are attribute values that hold a text: not worth a call.
            if len(member) == 1 and type(member.get("S")) is str:
                continue
            wire = to_wire(member)
        elif kind is bool or kind is int:
            continue
        elif kind is list:
            wire = [_base64_of(each) for each in member] if name == "BS" else _list_to_wire(member)
        elif kind is bytes and name == "B":
            wire = _base64(member)
        else:
            raise Unusual
        if wire is not member:
            if copy is None:
                copy = members.copy()
            copy[name] = wire
    return members if copy is None else copy


def _list_to_wire(elements: list[Any]) -> list[Any]:
    copy: list[Any] | None = None
    for index, element in enumerate(elements):
        kind = type(element)
        if kind is dict:
            wire = to_wire(element)
            if wire is not element:
                if copy is None:
                    copy = elements.copy()
                copy[index] = wire
        elif kind is not str:
            raise Unusual
    return elements if copy is None else copy


def _base64_of(content: Any) -> str:
    if type(content) is bytes:
        return _base64(content)
    if type(content) is str:
        return _base64(content.encode())
    raise Unusual


def _base64(content: bytes) -> str:
    return b2a_base64(content, newline=False).decode()


def from_wire(answer: Answer) -> dict[str, Any]:
    """An answer as boto3 gives it."""
    native: dict[str, Any] = {}
    for name, member in answer.items():
        native[name] = _stored(member) if type(member) is Json else described(name, member)
    return native


def _stored(leaf: Json) -> Any:
    return native_value(leaf.text, leaf.binary)


def native_value(text: bytes, binary: bool) -> Any:
    """Items, or attributes of one, in JSON text; `binary` says whether there may be any in it."""
    value = _loads(text)
    return _with_bytes("", value) if binary else value


def described(name: str, member: Any) -> Any:
    """The parts of an answer that the engine made itself."""
    kind = type(member)
    if kind is dict:
        return {name: described(name, inner) for name, inner in member.items()}
    if kind is list:
        return [described("", element) for element in member]
    if kind is Json:
        return _stored(member)
    if (kind is float or kind is int) and name in TIMESTAMPS:
        return moment(member)
    return member


def _with_bytes(name: str, member: Any) -> Any:
    """The parts that come from items."""
    kind = type(member)
    if kind is dict:
        return {name: _with_bytes(name, inner) for name, inner in member.items()}
    if kind is list:
        return [a2b_base64(text) for text in member] if name == "BS" else [_with_bytes("", each) for each in member]
    if name == "B" and kind is str:
        return a2b_base64(member)
    return member


def date_records(records: list[dict[str, Any]]) -> None:
    """A stream's records are stored whole, and say within when they were made."""
    for record in records:
        change = record["dynamodb"]
        change["ApproximateCreationDateTime"] = moment(change["ApproximateCreationDateTime"])


def moment(seconds: float) -> datetime:
    """As botocore makes it: in the machine's time zone, of the same class."""
    return datetime.fromtimestamp(seconds, tzlocal())
