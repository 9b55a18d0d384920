"""`Converter`: one Python value to an attribute value in boto3 shape and back; and the converters of single values.

    str S · int, Decimal N · bool BOOL · bytes B · datetime, date, UUID S (as in keys, sortable) · epoch datetime N
    timedelta N, in seconds

`items/type_converter.py` has those of all types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from sortkey.errors import ValidationException
from sortkey.limits import NUMBER_DIGITS
from sortkey.model.errors import EncodeError, KeyPartError
from sortkey.model.fields.duration import from_seconds, to_seconds
from sortkey.model.fields.epoch import from_epoch, to_epoch
from sortkey.model.fields.key_text import instant_text, to_decimal
from sortkey.values import number

Value = dict[str, Any]
NULL: Final[Value] = {"NULL": True}
_UUID_LENGTH: Final = 36


class Converter(NamedTuple):
    encode: Callable[[Any], Value]
    decode: Callable[[Value], Any]
    tag: str
    """The attribute type; empty if values have several."""
    read: Callable[[Any], Any] | None
    """Converts the content behind the tag; None if that is the value. `decode` takes the whole attribute value, and so
    does `read` without a tag."""


def wrong_type(expected: str, value: Any) -> EncodeError:
    return EncodeError(f"expected {expected}, got {type(value).__name__} {value!r}")


def encode_text(value: Any) -> Value:
    if type(value) is str:
        return {"S": value}
    if not isinstance(value, str):
        raise wrong_type("str", value)
    return {"S": str.__str__(value)}


def encode_int(value: Any) -> Value:
    if type(value) is not int and (not isinstance(value, int) or isinstance(value, bool)):
        raise wrong_type("int", value)
    text = str(int(value))
    return {"N": text if len(text) <= NUMBER_DIGITS else _canonical(text)}


def encode_decimal(value: Any) -> Value:
    try:
        text = str(to_decimal(value))
    except KeyPartError as error:
        raise EncodeError(str(error)) from None
    # The store removes trailing zeros itself, and takes a short number without an exponent as it is.
    return {"N": text if len(text) <= NUMBER_DIGITS and "E" not in text else _canonical(text)}


def encode_float(value: Any) -> Value:
    if not isinstance(value, float | int) or isinstance(value, bool):
        raise wrong_type("float", value)
    return {"N": _canonical(repr(value))}


def _canonical(text: str) -> str:
    try:
        return number.canonical(text)
    except ValidationException as error:
        raise EncodeError(f"{text}: {error.message}") from None


def encode_bool(value: Any) -> Value:
    if type(value) is not bool:
        raise wrong_type("bool", value)
    return {"BOOL": value}


def encode_bytes(value: Any) -> Value:
    if type(value) is not bytes:
        raise wrong_type("bytes", value)
    return {"B": value}


def _encode_instant(value: Any) -> Value:
    try:
        return {"S": instant_text(value)}
    except KeyPartError as error:
        raise EncodeError(str(error)) from None


def _read_instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment


def _encode_epoch(value: Any) -> Value:
    try:
        return {"N": str(to_epoch(value))}
    except KeyPartError as error:
        raise EncodeError(str(error)) from None


def _decode_epoch(value: Value) -> datetime:
    # Before the field was marked, or by another program, the time may have been stored as text.
    return _read_instant(value["S"]) if "S" in value else from_epoch(value["N"])


def _encode_duration(value: Any) -> Value:
    try:
        return encode_decimal(to_seconds(value))
    except KeyPartError as error:
        raise EncodeError(str(error)) from None


def _encode_date(value: Any) -> Value:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise wrong_type("date", value)
    return {"S": str(value)}


def _encode_uuid(value: Any) -> Value:
    if not isinstance(value, UUID):
        raise wrong_type("UUID", value)
    return {"S": str(value)}


def _read_uuid(text: str) -> UUID:
    # UUID takes hyphens anywhere, and removes "urn:". Then the length would not tell the form.
    if len(text) == _UUID_LENGTH and not text[8] == text[13] == text[18] == text[23] == "-":
        raise ValueError("the hyphens are not where a UUID has them")
    return UUID(text)


def set_content(members: Iterable[Any], tag: str) -> list[Any]:
    """The encoded members of a set, each once: different values may be stored as one, such as times as seconds. Sorted,
    so that equal sets make equal requests."""
    return sorted({Decimal(member): member for member in members}.values() if tag == "N" else set(members))


def content_converter(encode: Callable[[Any], Value], tag: str, content: Callable[[Any], Any]) -> Converter:
    return Converter(encode, lambda value: content(value[tag]), tag, content)


SCALARS: Final[dict[Any, Converter]] = {
    str: Converter(encode_text, itemgetter("S"), "S", None),
    int: content_converter(encode_int, "N", int),
    Decimal: content_converter(encode_decimal, "N", Decimal),
    bool: Converter(encode_bool, itemgetter("BOOL"), "BOOL", None),
    bytes: Converter(encode_bytes, itemgetter("B"), "B", None),
    datetime: content_converter(_encode_instant, "S", _read_instant),
    date: content_converter(_encode_date, "S", date.fromisoformat),
    UUID: content_converter(_encode_uuid, "S", _read_uuid),
    timedelta: content_converter(_encode_duration, "N", lambda text: from_seconds(Decimal(text))),
}
EPOCH: Final = Converter(_encode_epoch, _decode_epoch, "N", from_epoch)
INEXACT: Final = content_converter(encode_float, "N", float)
