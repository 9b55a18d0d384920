"""`sk.compat.pynamodb`: fields as PynamoDB 6 stores its attributes.

    class Visit(sk.Item, table="visits"):
        id: str                                             UnicodeAttribute(hash_key=True)
        at: sk.compat.pynamodb.UTCDateTime                  UTCDateTimeAttribute()
        photo: sk.compat.pynamodb.LegacyBinary              BinaryAttribute(legacy_encoding=True)
        photos: set[sk.compat.pynamodb.LegacyBinary]        BinarySetAttribute(legacy_encoding=True)
        answers: sk.compat.pynamodb.JSON                    JSONAttribute(null=True)
        version: Annotated[int, sk.version] = 0             VersionAttribute()

        key = sk.Key("{id}", names=("id",))

What it stores in one of Sortkey's own forms needs no alias; `docs/learn/from-pynamodb.md` has the table of all.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import datetime
from typing import Annotated, Any, Final

from sortkey.model.fields.annotation import epoch, inexact
from sortkey.model.fields.key_text import instant_text
from sortkey.model.fields.stored_as import StoredAs, stored_as
from sortkey.model.fields.time_codecs import instant_in_form

__all__ = ["JSON", "TTL", "AnyValue", "LegacyBinary", "LegacyBoolean", "Number", "UTCDateTime"]

_EXAMPLE: Final = "2026-08-24T12:30:00.000000+0000"


def _to_text(value: Any) -> str:
    return f"{instant_text(value)[:-1]}+0000"


def _from_text(text: str) -> datetime:
    return instant_in_form(text, _to_text, _EXAMPLE)


def _to_base64(value: bytes) -> bytes:
    return b64encode(value)


def _from_base64(stored: bytes) -> bytes:
    return b64decode(stored, validate=True)


def _to_json(value: Any) -> str:
    # The separators and the escapes are those that PynamoDB writes.
    return json.dumps(value)


def _from_json(text: str) -> Any:
    return json.loads(text, strict=False)


def _zero_or_one(number: int) -> bool:
    if number not in (0, 1):
        raise ValueError(f"{number} is neither 0 nor 1")
    return number == 1


UTCDateTime = Annotated[datetime, StoredAs(str, _to_text, _from_text, is_strict=True)]
"""UTCDateTimeAttribute: text with microseconds that ends with `+0000`, the only form that PynamoDB reads. It sorts as
the times do, so it can be a key."""

LegacyBinary = Annotated[bytes, stored_as(bytes, encode=_to_base64, decode=_from_base64)]
"""BinaryAttribute(legacy_encoding=True): the base64 text of the bytes, stored as B. `set[LegacyBinary]` is
BinarySetAttribute(legacy_encoding=True). Without the legacy encoding, and in maps and lists, `bytes` is right."""

JSON = Annotated[Any, stored_as(str, encode=_to_json, decode=_from_json)]
"""JSONAttribute: any JSON value, stored as text. None is an absent attribute, as in PynamoDB. Conditions compare the
text, so they compare the order of an object's members, too."""

LegacyBoolean = Annotated[bool, stored_as(bool, also=[stored_as(int, encode=int, decode=_zero_or_one)])]
"""A BooleanAttribute in a table that is so old that rows have the numbers 0 and 1: reads them and BOOL, and writes
BOOL. Without such rows `bool` is right."""

Number = Annotated[float, inexact]
"""NumberAttribute with fractions: PynamoDB reads a number with a fraction as float, and its next `save` writes that. So
a Decimal with more digits would lose them. For whole numbers `int` is right: PynamoDB keeps those of any length."""

TTL = Annotated[datetime, epoch]
"""TTLAttribute: whole seconds since 1970, as in the field of a table's `ttl=`."""

AnyValue = Annotated[Any, inexact]
"""What a map or a list without declared types holds: `dict[str, AnyValue]` is MapAttribute, `list[AnyValue]` is
ListAttribute. Numbers with a fraction are floats, as in PynamoDB."""
