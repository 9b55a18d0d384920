"""`Converter`: one Python value to an attribute value in boto3 shape and back; and the converters of single values.

    str S · int, Decimal N · bool BOOL · bytes B · datetime, date, time, UUID S (as in keys, sortable)
    epoch datetime N · timedelta N, in seconds

`type_converter.py` has those of all types.

A field has one stored form, the one that Sortkey writes. A value that is stored in another one (a UUID in capitals, a
time with another zone, a number that no float holds) would be shown, but no condition would find it. So reading it
raises `OtherForm`. An audit reads all forms (`any_form`), and rewrites them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import msgspec
import orjson

from sortkey.errors import ValidationException
from sortkey.limits import NUMBER_DIGITS
from sortkey.model.errors import EncodeError, KeyPartError, shown
from sortkey.model.fields.key_text import clock_text, instant_text, to_decimal
from sortkey.model.fields.numeric_times import from_epoch, from_seconds, to_epoch, to_seconds
from sortkey.model.fields.real_types import RealTypes
from sortkey.values import number

Value = dict[str, Any]
NULL: Final[Value] = {"NULL": True}
T = TypeVar("T")

_read_iso: Final = RealTypes.datetime.fromisoformat
_UUID_LENGTH: Final = 36
_INSTANT_LENGTH: Final = len("2026-08-24T12:30:00.000000Z")
_SURELY_EXACT: Final = 15
"""A number of so many characters is that of a float: a float holds fifteen digits."""


class Converter(NamedTuple):
    encode: Callable[[Any], Value]
    decode: Callable[[Value], Any]
    tag: str
    """The attribute type; empty if values have several."""
    read: Callable[[Any], Any] | None
    """Converts the content behind the tag; None if that is the value. `decode` takes the whole attribute value, and so
    does `read` without a tag."""
    also: tuple[Callable[[Any], Value | None], ...] = ()
    """Encoders of the other forms that the field is read in: None for a value that the form does not hold exactly."""


class OtherForm(ValueError):
    """A stored value that can be read, but is not in the one form that its field has."""


_any_form: Final[ContextVar[bool]] = ContextVar("any_form", default=False)


@contextmanager
def any_form() -> Iterator[None]:
    """Within it, values are read in whatever form they are stored."""
    token = _any_form.set(True)
    try:
        yield
    finally:
        _any_form.reset(token)


def other_form(value: T, found: Any, own: str, declaration: str) -> T:
    """A value that was found in another form than its field's `own`. Raises OtherForm, which names the declaration that
    would read it, unless any form is read."""
    if _any_form.get():
        return value
    raise OtherForm(
        f"{found!r} is not in the form of the field, {own}; {declaration} reads it, and sortkey audit --repair "
        f"rewrites it"
    )


def wrong_type(expected: str, value: Any) -> EncodeError:
    return EncodeError(f"expected {expected}, got {type(value).__name__} {shown(value)}")


def encode_text(value: Any) -> Value:
    if type(value) is str:
        return {"S": value}
    if not isinstance(value, str):
        raise wrong_type("str", value)
    return {"S": str.__str__(value)}


def encode_int(value: Any) -> Value:
    if type(value) is not int and (not isinstance(value, int) or isinstance(value, bool)):
        raise wrong_type("int", value)
    try:
        text = str(int(value))
    except ValueError as error:
        raise EncodeError(str(error)) from None
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
    # numpy's floats are float, with a repr of their own.
    return {"N": _canonical(float.__repr__(value) if isinstance(value, float) else str(int(value)))}


def encode_floats(values: list[Any]) -> Value:
    """A list of floats, such as a vector. All at once, they take a fifth of the time of one by one."""
    if set(map(type, values)) == {float}:
        # As float's repr does, orjson writes the fewest digits that mean the number; of one that is not finite, null.
        text = f"{orjson.dumps(values).decode()[1:-1]},"
        if "n" not in text and "-0.0," not in text:
            texts = text.replace(".0,", ",").split(",")[:-1]
            return {"L": [{"N": _canonical(each) if "e" in each else each} for each in texts]}
    return {"L": [encode_float(value) for value in values]}


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


def read_instant(text: str) -> datetime:
    # Of the ISO forms with this length and these signs, only week dates and 24:00 are others.
    if (
        len(text) == _INSTANT_LENGTH
        and text[10] == "T"
        and text[26] == "Z"
        and text[19] == "."
        and text[5] < "2"
        and (sys.version_info < (3, 13) or text[11:13] != "24")
    ):
        return _read_iso(text)
    return other_form(read_any_instant(text), text, "2026-08-24T12:30:00.000000Z", _time_declaration(text))


def read_any_instant(text: str) -> datetime:
    """A time in any ISO form that has a zone."""
    moment = _read_iso(text)
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment


def _time_declaration(text: str) -> str:
    if len(text) == len("2026-08-24T12:30:00Z") and text.endswith("Z"):
        return "Annotated[datetime, sk.seconds]"
    return "a field with sk.stored_as"


def _encode_epoch(value: Any) -> Value:
    try:
        return {"N": str(to_epoch(value))}
    except KeyPartError as error:
        raise EncodeError(str(error)) from None


def _read_epoch(text: str) -> datetime:
    moment = from_epoch(text)
    if text.isdecimal() or not moment.microsecond:
        return moment
    return other_form(moment, text, "whole seconds since 1970", "a field with sk.stored_as")


def _decode_epoch(value: Value) -> datetime:
    if "S" not in value:
        return _read_epoch(value["N"])
    # Before the field was marked, or by another program, the time may have been stored as text.
    moment = read_any_instant(value["S"])
    return other_form(moment, value["S"], "a number of seconds since 1970", "a datetime without sk.epoch")


def read_float(text: str) -> float:
    made = float(text)
    if len(text) <= _SURELY_EXACT or Decimal(repr(made)) == Decimal(text):
        return made
    return other_form(made, text, "a number that a float holds", "Decimal")


def _encode_duration(value: Any) -> Value:
    try:
        return encode_decimal(to_seconds(value))
    except KeyPartError as error:
        raise EncodeError(str(error)) from None


def _encode_date(value: Any) -> Value:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise wrong_type("date", value)
    return {"S": RealTypes.date.isoformat(value)}


def _encode_time(value: Any) -> Value:
    try:
        return {"S": clock_text(value)}
    except KeyPartError as error:
        raise EncodeError(str(error)) from None


def _read_time(text: str) -> time:
    made = time.fromisoformat(text)
    if made.tzinfo is not None:
        raise ValueError("a time of day has no time zone")
    if clock_text(made) == text:
        return made
    return other_form(made, text, "12:30:00.000000", "a field with sk.stored_as")


def _encode_uuid(value: Any) -> Value:
    if not isinstance(value, UUID):
        raise wrong_type("UUID", value)
    return {"S": str(value)}


def _read_date(text: str) -> date:
    made = RealTypes.date.fromisoformat(text)
    if len(text) == len("2026-08-24") and text[7] == "-":
        return made
    return other_form(made, text, "2026-08-24", "a field with sk.stored_as")


def read_uuid(text: str) -> UUID:
    if len(text) == _UUID_LENGTH and text == text.lower():
        # Rejects hyphens elsewhere, and is faster than UUID.
        return msgspec.convert(text, UUID)
    return other_form(UUID(text), text, "lower case with hyphens", "a field with sk.stored_as")


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
    RealTypes.datetime: content_converter(_encode_instant, "S", read_instant),
    RealTypes.date: content_converter(_encode_date, "S", _read_date),
    time: content_converter(_encode_time, "S", _read_time),
    UUID: content_converter(_encode_uuid, "S", read_uuid),
    timedelta: content_converter(_encode_duration, "N", lambda text: from_seconds(Decimal(text))),
}
EPOCH: Final = Converter(_encode_epoch, _decode_epoch, "N", _read_epoch)
INEXACT: Final = content_converter(encode_float, "N", read_float)
