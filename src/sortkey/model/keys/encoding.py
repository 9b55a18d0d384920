"""How one value stands in a key: text that reads back as the value, and sorts as the value does.

    str        itself; `#` and `$` as `$` and the character 30₁₆ further on (`$S`, `$T`). Where something follows in
               the key, the same for every character below `#`
    int        a letter for the number of digits, then the digits: 7 is a7, 42 is b42. Negative numbers have the
               capital letters from Z down, and each digit taken from 9: -7 is Z2. More than 25 digits are
               z or A, then the number of digits as an int (negative after A), then the digits
    int, :06   six digits, zero-padded; neither negative nor longer
    Decimal    M for 0. N, the exponent of the leading digit as an int, the digits, `.` for positive numbers;
               L, minus the exponent, each digit taken from 9, `~` for negative ones. 1.5 is Na015.
    datetime   2026-08-24T12:30:00.000000Z, always UTC, always microseconds
    date       2026-08-24
    UUID       its usual text, in lower case
    bool       0 or 1
    bytes      hexadecimal
    Enum, Literal   as their values

Why text sorts: `$` is the character right above the separator `#`, so an escaped character lies between the separator
and everything not escaped; two escapes differ in their second character as the two characters do; and what follows a
part, the separator or the end, lies below anything that could continue it.

No encoding holds `#`, so the separators of a key are those of its template. None holds U+10FFFF, which is no character
and is rejected in text: it stands above everything, and closes ranges. An encoding is *delimited* when no value's text
begins another's; only those may be followed by a literal other than `#` and still sort.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin
from uuid import UUID

import msgspec

from sortkey.model.errors import DeclarationError, KeyPartError
from sortkey.model.items.annotation import Annotation

SEPARATOR: Final = "#"
ABOVE_SEPARATOR: Final = "$"
TOP: Final = "\U0010ffff"

_ESCAPE_SHIFT: Final = 0x30
_LAST_ESCAPED: Final = ord("$")
_LONG: Final = 25
_INSTANT_LENGTH: Final = len("2026-08-24T12:30:00.000000Z")
_EXCLUDED: Final[dict[type, type]] = {int: bool, date: datetime}
_NINES: Final = str.maketrans("0123456789", "9876543210")


class Encoding(NamedTuple):
    encode: Callable[[Any], str]
    decode: Callable[[str], Any]
    pattern: str
    """A regular expression that matches every text of this encoding, and none with a separator."""
    delimited: bool
    choices: tuple[str, ...] | None = None
    """All texts there are, where they are few."""
    textual: bool = False
    """Whether it is of text: a value's beginning has the text's beginning, and letters and digits are themselves."""


def encoding_of(annotation: Annotation, spec: str, *, followed: bool) -> Encoding:
    """The encoding of a field where the template has it; `followed` says whether anything comes after."""
    base = annotation.base
    if get_origin(base) is Literal:
        return _choice_encoding({value: value for value in get_args(base)}, spec, followed)
    if isinstance(base, type) and issubclass(base, Enum):
        return _choice_encoding({member: member.value for member in base}, spec, followed)
    if spec and base is not int:
        raise DeclarationError(f"the format {spec!r} is for int; {base} has its own")
    if base is str:
        return _TEXT_FOLLOWED if followed else _TEXT_LAST
    if base is int and spec:
        return _padded(spec)
    if base in _ENCODINGS:
        return _ENCODINGS[base]
    raise DeclarationError(f"{base} cannot stand in a key; a part is {_NAMES}")


def _choice_encoding(values: dict[Any, Any], spec: str, followed: bool) -> Encoding:
    types = {type(value) for value in values.values()}
    if len(types) != 1:
        raise DeclarationError(f"{', '.join(map(repr, values))} are not all of one type")
    inner = encoding_of(Annotation(types.pop(), optional=False, inexact=False), spec, followed=followed)
    texts = {choice: inner.encode(value) for choice, value in values.items()}
    choices = {text: choice for choice, text in texts.items()}

    def encode(value: Any) -> str:
        try:
            return texts[value]
        except (KeyError, TypeError):
            raise KeyPartError(f"{value!r} is not one of {', '.join(map(repr, texts))}") from None

    pattern = "|".join(map(re.escape, choices))
    return Encoding(encode, choices.__getitem__, f"(?:{pattern})", inner.delimited, tuple(choices))


def _expect(expected: type, value: Any) -> None:
    """That type or one derived from it, though a bool is no int here, nor a datetime a date."""
    if type(value) is expected:
        return
    if not isinstance(value, expected) or isinstance(value, _EXCLUDED.get(expected, ())):
        raise KeyPartError(f"expected {expected.__name__}, got {type(value).__name__} {value!r}")


_needs_escape_followed = re.compile("[\0-$\U0010ffff]").search
_needs_escape_last = re.compile("[#$\U0010ffff]").search
_escape_followed: Final = {code: f"${chr(code + _ESCAPE_SHIFT)}" for code in range(_LAST_ESCAPED + 1)}
_escape_last: Final = {code: _escape_followed[code] for code in map(ord, "#$")}
_unescape = re.compile(r"\$([0-T])")


def _encode_followed(value: Any) -> str:
    return _escaped(value, _needs_escape_followed, _escape_followed)


def _encode_last(value: Any) -> str:
    return _escaped(value, _needs_escape_last, _escape_last)


def _escaped(value: Any, needed: Callable[[str], Any], escapes: dict[int, str]) -> str:
    _expect(str, value)
    text = str.__str__(value)  # the text itself, where it is an Enum's member
    if not needed(text):
        return text
    if TOP in text:
        raise KeyPartError("U+10FFFF is no character, and cannot stand in a key")
    return text.translate(escapes)


def _decode_text(text: str) -> str:
    return _unescape.sub(lambda escape: chr(ord(escape[1]) - _ESCAPE_SHIFT), text) if "$" in text else text


def _text(encode: Callable[[Any], str], plain: str, escapes: str) -> Encoding:
    # Runs of plain characters between escapes, which is quicker to match than one or the other each time.
    pattern = rf"{plain}*(?:\$[{escapes}]{plain}*)*"
    return Encoding(encode, _decode_text, pattern, delimited=False, textual=True)


_TEXT_FOLLOWED: Final = _text(_encode_followed, "[%-\U0010fffe]", "0-T")
_TEXT_LAST: Final = _text(_encode_last, '[\0-"%-\U0010fffe]', "ST")


def _encode_int(value: Any) -> str:
    _expect(int, value)
    digits = str(abs(int(value)))
    count = len(digits)
    if value >= 0:
        return (chr(ord("a") + count - 1) if count <= _LONG else f"z{_encode_int(count)}") + digits
    digits = digits.translate(_NINES)
    return (chr(ord("Z") - count + 1) if count <= _LONG else f"A{_encode_int(-count)}") + digits


def _decode_int(text: str) -> int:
    value, rest = _read_int(text)
    if rest:
        raise ValueError(text)
    return value


def _read_int(text: str) -> tuple[int, str]:
    """The number at the beginning of the text, and what comes after it."""
    letter, rest = text[0], text[1:]
    if letter in "zA":
        count, rest = _read_int(rest)
        count = abs(count)
    else:
        count = ord(letter) - ord("a") + 1 if letter.islower() else ord("Z") - ord(letter) + 1
    digits, rest = rest[:count], rest[count:]
    return (int(digits) if letter.islower() else -int(digits.translate(_NINES))), rest


def _padded(spec: str) -> Encoding:
    if not re.fullmatch(r"0[1-9]\d?", spec):
        raise DeclarationError(f"the format {spec!r} is not a zero and a width, such as 06")
    width = int(spec)

    def encode(value: Any) -> str:
        _expect(int, value)
        text = str(int(value)).rjust(width, "0")
        if value < 0 or len(text) > width:
            raise KeyPartError(f"{value} does not fit in {width} digits without a sign")
        return text

    return Encoding(encode, int, rf"[0-9]{{{width}}}", delimited=True)


def to_decimal(value: Any) -> Decimal:
    """A Decimal; an int will do, since it is one without rounding."""
    if type(value) is int:
        return Decimal(value)
    _expect(Decimal, value)
    number: Decimal = value
    if not number.is_finite():
        raise KeyPartError(f"{number} is no number")
    return number


def _encode_decimal(value: Any) -> str:
    number = to_decimal(value)
    if not number:
        return "M"
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    exponent = number.adjusted()
    if number > 0:
        return f"N{_encode_int(exponent)}{digits}."
    return f"L{_encode_int(-exponent)}{digits.translate(_NINES)}~"


def _decode_decimal(text: str) -> Decimal:
    if text == "M":
        return Decimal(0)
    exponent, rest = _read_int(text[1:])
    digits = rest[:-1]
    if text[0] == "L":
        exponent, digits = -exponent, digits.translate(_NINES)
    return Decimal((int(text[0] == "L"), tuple(map(int, digits)), exponent - len(digits) + 1))


def instant_text(value: Any) -> str:
    """An aware datetime as text that sorts as time does."""
    if value.__class__ is not datetime:
        _expect(datetime, value)
    if value.tzinfo is not UTC:
        if value.utcoffset() is None:
            raise KeyPartError(f"{value!r} has no time zone, so it is no instant")
        value = value.astimezone(UTC)
    # msgspec writes UTC as Z, with six digits or none, in a tenth of the time that isoformat takes.
    text: str = msgspec.to_builtins(value)
    return text if len(text) == _INSTANT_LENGTH else f"{text[:-1]}.000000Z"


def _encode_date(value: Any) -> str:
    _expect(date, value)
    return str(value)


def _encode_uuid(value: Any) -> str:
    _expect(UUID, value)
    return str(value)


def _encode_bool(value: Any) -> str:
    _expect(bool, value)
    return "1" if value else "0"


def _encode_bytes(value: Any) -> str:
    _expect(bytes, value)
    text: str = value.hex()
    return text


_INT: Final = r"[zA]?[B-Za-y][0-9]+"
_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_INSTANT: Final = rf"{_DAY}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]{{6}}Z"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_ENCODINGS: Final[dict[Any, Encoding]] = {
    int: Encoding(_encode_int, _decode_int, _INT, delimited=True),
    Decimal: Encoding(_encode_decimal, _decode_decimal, rf"(?:M|N{_INT}\.|L{_INT}~)", delimited=True),
    datetime: Encoding(instant_text, datetime.fromisoformat, _INSTANT, delimited=True),
    date: Encoding(_encode_date, date.fromisoformat, _DAY, delimited=True),
    UUID: Encoding(_encode_uuid, UUID, _UUID, delimited=True),
    bool: Encoding(_encode_bool, "1".__eq__, "[01]", delimited=True, choices=("0", "1")),
    bytes: Encoding(_encode_bytes, bytes.fromhex, "(?:[0-9a-f]{2})*", delimited=False, textual=True),
}
_NAMES: Final = "str, int, Decimal, datetime, date, UUID, bool, bytes, an Enum or a Literal of those"
