"""Converts one Python value to an attribute value in boto3 shape and back.

    str S · int, Decimal N · bool BOOL · bytes B · datetime, date, UUID S (as in keys, sortable) · epoch datetime N
    Enum, Literal as their values · list L · dict[str, X] M · structs and items M · set, frozenset SS, NS or BS

None inside a list or map is NULL. So is an empty set, which DynamoDB does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin
from uuid import UUID

import msgspec

from sortkey.errors import ValidationException
from sortkey.limits import NUMBER_DIGITS
from sortkey.model.errors import DeclarationError, EncodeError, KeyPartError
from sortkey.model.items.annotation import Annotation, parse_annotation
from sortkey.model.items.constraints import Check, constraint_check
from sortkey.model.items.epoch import from_epoch, to_epoch
from sortkey.model.keys.encoding import instant_text, to_decimal
from sortkey.values import number

Value = dict[str, Any]
NULL: Final[Value] = {"NULL": True}


class Converter(NamedTuple):
    encode: Callable[[Any], Value]
    decode: Callable[[Value], Any]
    tag: str
    read: Callable[[Any], Any] | None
    """Converts the content behind the tag; None if that is the value. `decode` takes the whole attribute value."""


StructConverter = Callable[[type[msgspec.Struct]], Converter]
"""Makes the converter of a nested struct; the codec passes its own."""


def converter(annotation: Any, nested: StructConverter) -> Converter:
    """The converter of an annotation; None is NULL if the type allows it."""
    parsed = parse_annotation(annotation)
    made = _constrained(base_converter(parsed, nested), parsed)
    if parsed.optional:
        return _nullable(made)
    return made


def base_converter(annotation: Annotation, nested: StructConverter) -> Converter:
    """The converter of a type without None."""
    base, origin = annotation.base, get_origin(annotation.base)
    if base is float:
        if annotation.inexact:
            return _INEXACT
        raise DeclarationError(
            "float cannot hold DynamoDB's decimal numbers exactly; use Decimal, or Annotated[float, sk.inexact]"
        )
    if annotation.epoch:
        if base is not datetime:
            raise DeclarationError(f"only a datetime can be stored as seconds since 1970, not {base}")
        return EPOCH
    if base in _SCALARS:
        return _SCALARS[base]
    if origin is Literal:
        return _choice_converter({value: value for value in get_args(base)}, nested)
    if isinstance(base, type) and issubclass(base, Enum):
        return _choice_converter({member: member.value for member in base}, nested)
    if isinstance(base, type) and issubclass(base, msgspec.Struct):
        return nested(base)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](get_args(base), nested)
    raise DeclarationError(f"{base} is not a type that an item can hold")


def _constrained(made: Converter, annotation: Annotation) -> Converter:
    check = constraint_check(annotation.base, annotation.constraints)
    return made if check is None else made._replace(encode=checked(check, made.encode))


def checked(check: Check, encode: Callable[[Any], Value]) -> Callable[[Any], Value]:
    """The encoder, for values that meet the constraints."""

    def encode_checked(value: Any) -> Value:
        # First the type: a constraint may raise for a value of another one.
        encoded = encode(value)
        check(value)
        return encoded

    return encode_checked


def is_set(annotation: Annotation) -> bool:
    return get_origin(annotation.base) in (set, frozenset)


def _wrong_type(expected: str, value: Any) -> EncodeError:
    return EncodeError(f"expected {expected}, got {type(value).__name__} {value!r}")


def _encode_text(value: Any) -> Value:
    if type(value) is str:
        return {"S": value}
    if not isinstance(value, str):
        raise _wrong_type("str", value)
    return {"S": str.__str__(value)}


def _encode_int(value: Any) -> Value:
    if type(value) is not int and (not isinstance(value, int) or isinstance(value, bool)):
        raise _wrong_type("int", value)
    text = str(int(value))
    return {"N": text if len(text) <= NUMBER_DIGITS else _canonical(text)}


def _encode_decimal(value: Any) -> Value:
    try:
        text = str(to_decimal(value))
    except KeyPartError as error:
        raise EncodeError(str(error)) from None
    # The store removes trailing zeros itself, and takes a short number without an exponent as it is.
    return {"N": text if len(text) <= NUMBER_DIGITS and "E" not in text else _canonical(text)}


def _encode_float(value: Any) -> Value:
    if not isinstance(value, float | int) or isinstance(value, bool):
        raise _wrong_type("float", value)
    return {"N": _canonical(repr(value))}


def _canonical(text: str) -> str:
    try:
        return number.canonical(text)
    except ValidationException as error:
        raise EncodeError(f"{text}: {error.message}") from None


def _encode_bool(value: Any) -> Value:
    if type(value) is not bool:
        raise _wrong_type("bool", value)
    return {"BOOL": value}


def _encode_bytes(value: Any) -> Value:
    if type(value) is not bytes:
        raise _wrong_type("bytes", value)
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


def _encode_date(value: Any) -> Value:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _wrong_type("date", value)
    return {"S": str(value)}


def _encode_uuid(value: Any) -> Value:
    if not isinstance(value, UUID):
        raise _wrong_type("UUID", value)
    return {"S": str(value)}


def _content_converter(encode: Callable[[Any], Value], tag: str, content: Callable[[Any], Any]) -> Converter:
    return Converter(encode, lambda value: content(value[tag]), tag, content)


_SCALARS: Final[dict[Any, Converter]] = {
    str: Converter(_encode_text, itemgetter("S"), "S", None),
    int: _content_converter(_encode_int, "N", int),
    Decimal: _content_converter(_encode_decimal, "N", Decimal),
    bool: Converter(_encode_bool, itemgetter("BOOL"), "BOOL", None),
    bytes: Converter(_encode_bytes, itemgetter("B"), "B", None),
    datetime: _content_converter(_encode_instant, "S", _read_instant),
    date: _content_converter(_encode_date, "S", date.fromisoformat),
    UUID: _content_converter(_encode_uuid, "S", UUID),
}
EPOCH: Final = Converter(_encode_epoch, _decode_epoch, "N", from_epoch)
_INEXACT: Final = _content_converter(_encode_float, "N", float)


def _nullable(inner: Converter) -> Converter:
    encode, decode = inner[:2]
    return inner._replace(
        encode=lambda value: {"NULL": True} if value is None else encode(value),
        decode=lambda value: None if "NULL" in value else decode(value),
    )


def _choice_converter(values: dict[Any, Any], nested: StructConverter) -> Converter:
    types = {type(value) for value in values.values()}
    if len(types) != 1:
        raise DeclarationError(f"{', '.join(map(repr, values))} are not of one type")
    inner = base_converter(Annotation(types.pop(), optional=False, inexact=False), nested)
    encoded = {choice: inner.encode(value) for choice, value in values.items()}
    choices = {value: choice for choice, value in values.items()}

    def encode(value: Any) -> Value:
        try:
            # A copy, since the caller may change it.
            return encoded[value].copy()
        except (KeyError, TypeError):
            raise _wrong_type(f"one of {', '.join(map(repr, encoded))}", value) from None

    return _content_converter(encode, inner.tag, _choice_reader(inner.read, choices))


def _choice_reader(read_value: Callable[[Any], Any] | None, choices: dict[Any, Any]) -> Callable[[Any], Any]:
    if read_value is None:
        return choices.__getitem__
    return lambda content: choices[read_value(content)]


def _list(arguments: tuple[Any, ...], nested: StructConverter) -> Converter:
    encode_one, decode_one = converter(arguments[0], nested)[:2]

    def encode(values: Any) -> Value:
        if not isinstance(values, list):
            raise _wrong_type("list", values)
        return {"L": [encode_one(value) for value in values]}

    return _content_converter(encode, "L", lambda content: [decode_one(each) for each in content])


def _map(arguments: tuple[Any, ...], nested: StructConverter) -> Converter:
    if parse_annotation(arguments[0]).base is not str:
        raise DeclarationError(f"the keys of a dict must be str, not {arguments[0]}")
    encode_one, decode_one = converter(arguments[1], nested)[:2]

    def encode(values: Any) -> Value:
        if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
            raise _wrong_type("dict with keys of type str", values)
        return {"M": {name: encode_one(value) for name, value in values.items()}}

    return _content_converter(encode, "M", lambda content: {name: decode_one(each) for name, each in content.items()})


def _set(arguments: tuple[Any, ...], nested: StructConverter, *, make: type) -> Converter:
    member = parse_annotation(arguments[0])
    encode_one, _, inner, read_one = _constrained(base_converter(member, nested), member)
    if member.optional or inner not in ("S", "N", "B"):
        raise DeclarationError(f"a set has strings, numbers or binaries, not {arguments[0]}")
    tag = f"{inner}S"

    def encode(values: Any) -> Value:
        if not isinstance(values, set | frozenset):
            raise _wrong_type("set", values)
        # Sorted, so that equal sets make equal requests.
        return {tag: sorted(encode_one(value)[inner] for value in values)} if values else {"NULL": True}

    def collect(content: Any) -> Any:
        return make(content if read_one is None else map(read_one, content))

    return Converter(encode, lambda value: make() if "NULL" in value else collect(value[tag]), tag, collect)


def _mutable_set(arguments: tuple[Any, ...], nested: StructConverter) -> Converter:
    return _set(arguments, nested, make=set)


def _frozen_set(arguments: tuple[Any, ...], nested: StructConverter) -> Converter:
    return _set(arguments, nested, make=frozenset)


_CONTAINERS: Final[dict[Any, Callable[[tuple[Any, ...], StructConverter], Converter]]] = {
    list: _list,
    dict: _map,
    set: _mutable_set,
    frozenset: _frozen_set,
}
