"""The encoding of a field in a template: the one of its type, or the format that the template declares.

    {city:raw}                  str: without escapes, so without #        New York
    {number}                    int: sorts as the numbers do              a3
    {number:06}                 int: six digits, zero-padded              000003
    {number:d}                  int: as it is written, in text order      3
    {at:%Y-%m-%dT%H:%M:%SZ}     datetime, date: see `time_format`         2026-01-04T10:00:00Z
    {id:upper}                  UUID: in upper case                       6BA7B810-9DAD-11D1-80B4-00C04FD430C8
    {id:hex}, {id:HEX}          UUID: 32 digits                           6ba7b8109dad11d180b400c04fd430c8

Formats are for keys that other programs wrote. Every one is exact: a value that it cannot write is rejected, and a text
that it would not write is not read. Texts of `:d`, of some time formats, and of `:raw` where the key continues, do not
sort as the values do; such a field cannot have a range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from sortkey.model.errors import DeclarationError, EncodeError, KeyPartError
from sortkey.model.items.annotation import Annotation, parse_annotation
from sortkey.model.items.stored_as import StoredType
from sortkey.model.keys.encoding import SEPARATOR, TOP, Encoding, default_encoding, expect, in_whole_seconds
from sortkey.model.keys.time_format import time_encoding


def encoding_of(annotation: Annotation, spec: str, *, followed: bool) -> Encoding:
    """The encoding of a field in a template; `followed` if the template continues after it."""
    base = annotation.base
    if isinstance(base, StoredType):
        return _stored_encoding(base, spec, followed)
    if get_origin(base) is Literal:
        return _choice_encoding({value: value for value in get_args(base)}, spec, followed)
    if isinstance(base, type) and issubclass(base, Enum):
        return _choice_encoding({member: member.value for member in base}, spec, followed)
    if not spec:
        return default_encoding(annotation, followed=followed)
    if base is str:
        return _of_text(spec, followed)
    if base not in _FORMATS:
        raise DeclarationError(f"the format {spec!r} is for str, int, datetime, date or UUID, not for {base}")
    made = _FORMATS[base](spec)
    return made._replace(encode=in_whole_seconds(made.encode), of_content="") if annotation.epoch else made


def _stored_encoding(base: StoredType, spec: str, followed: bool) -> Encoding:
    """The encoding of what the value is stored as: keys sort by that, and have the formats of its type."""
    if base.codec.also:
        raise DeclarationError(f"{base} is stored in several forms, and a key has one")
    inner = encoding_of(parse_annotation(base.codec.stored), spec, followed=followed)

    def encode(value: Any) -> str:
        try:
            return inner.encode(base.encode(value))
        except EncodeError as error:
            raise KeyPartError(str(error)) from None

    return inner._replace(
        encode=encode,
        decode=lambda text: base.decode(inner.decode(text)),
        textual=False,
        of_content=_of_text_content(base.codec.stored, inner),
    )


def _of_text_content(stored: Any, inner: Encoding) -> str:
    """The encoding's `of_content`, for a type whose attribute's content is a str; the reader has others decoded."""
    return inner.of_content if stored in (str, int, datetime) else ""


def _choice_encoding(values: dict[Any, Any], spec: str, followed: bool) -> Encoding:
    types = {type(value) for value in values.values()}
    if len(types) != 1:
        raise DeclarationError(f"{', '.join(map(repr, values))} are not of one type")
    (stored,) = types
    inner = encoding_of(Annotation(stored, optional=False, inexact=False), spec, followed=followed)
    texts = {choice: inner.encode(value) for choice, value in values.items()}
    choices = {text: choice for choice, text in texts.items()}

    def encode(value: Any) -> str:
        try:
            return texts[value]
        except (KeyError, TypeError):
            raise KeyPartError(f"{value!r} is not one of {', '.join(map(repr, texts))}") from None

    pattern = "|".join(map(re.escape, choices))
    return Encoding(
        encode,
        choices.__getitem__,
        f"(?:{pattern})",
        inner.delimited,
        tuple(choices),
        ordered=inner.ordered,
        of_content=_of_text_content(stored, inner),
    )


def _of_text(spec: str, followed: bool) -> Encoding:
    if spec != "raw":
        raise DeclarationError(f"the format {spec!r} of a text is not raw")
    # Characters below the separator sort before it, so the text of a shorter value would come after a longer one.
    return Encoding(
        _encode_raw, str, f"[^#{TOP}]*", delimited=False, textual=True, ordered=not followed, of_content="{0}"
    )


def _encode_raw(value: Any) -> str:
    expect(str, value)
    text = str.__str__(value)
    if SEPARATOR in text or TOP in text:
        raise KeyPartError(f"{text!r} contains # or U+10FFFF, which the format raw cannot write")
    return text


def _of_int(spec: str) -> Encoding:
    if spec == "d":
        return _UNPADDED
    if not re.fullmatch(r"0[1-9]\d?", spec):
        raise DeclarationError(f"the format {spec!r} is not d, nor 0 and a width, such as 06")
    width = int(spec)

    def encode(value: Any) -> str:
        expect(int, value)
        text = str(int(value)).rjust(width, "0")
        if value < 0 or len(text) > width:
            raise KeyPartError(f"{value} does not fit in {width} digits, without a sign")
        return text

    return Encoding(encode, int, rf"[0-9]{{{width}}}", delimited=True, of_content=f"{{0}}.rjust({width}, '0')")


def _encode_unpadded(value: Any) -> str:
    expect(int, value)
    return str(int(value))


_UNPADDED: Final = Encoding(
    _encode_unpadded, int, "(?:0|-?[1-9][0-9]*)", delimited=False, ordered=False, of_content="{0}"
)


def _of_uuid(spec: str) -> Encoding:
    if spec not in _UUIDS:
        raise DeclarationError(f"the format {spec!r} of a UUID is not one of {', '.join(_UUIDS)}")
    write, pattern, of_content = _UUIDS[spec]

    def encode(value: Any) -> str:
        expect(UUID, value)
        return write(value)

    return Encoding(encode, UUID, pattern, delimited=True, of_content=of_content)


_UUIDS: Final[dict[str, tuple[Callable[[UUID], str], str, str]]] = {
    "upper": (
        lambda value: str(value).upper(),
        "[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}",
        "{0}.upper()",
    ),
    "hex": (lambda value: value.hex, "[0-9a-f]{32}", "{0}.replace('-', '')"),
    "HEX": (lambda value: value.hex.upper(), "[0-9A-F]{32}", "{0}.replace('-', '').upper()"),
}


_FORMATS: Final[dict[Any, Callable[[str], Encoding]]] = {
    int: _of_int,
    UUID: _of_uuid,
    datetime: lambda spec: time_encoding(datetime, spec),
    date: lambda spec: time_encoding(date, spec),
}
