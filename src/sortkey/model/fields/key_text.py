"""Encodes one value in a key: as text that can be decoded, and that sorts as the values do.

    str        unchanged; `#` and `$` become `$` and the character 30₁₆ higher (`$S`, `$T`). If the key continues,
               so does every character below `#`
    int        a letter for the number of digits, then the digits: 7 is a7, 42 is b42. Negative numbers have the
               capital letters from Z down, and each digit taken from 9: -7 is Z2. More than 25 digits are
               z or A, then the number of digits as an int (negative after A), then the digits
    Decimal    M for 0. N, the exponent of the leading digit as an int, the digits, `.` for positive numbers;
               L, minus the exponent, each digit taken from 9, `~` for negative ones. 1.5 is Na015.
    datetime   2026-08-24T12:30:00.000000Z, always UTC, always microseconds; 000000 if it is stored in whole seconds
    date       2026-08-24
    time       12:30:00.000000
    UUID       as str(uuid), in lower case
    bool       0 or 1
    bytes      hexadecimal
    timedelta  its seconds, as a Decimal
    Enum, Literal   as their values (`field_encoding`, which also has the formats that a template may declare)

Why text sorts: `$` is the character after the separator `#`, so an escaped character sorts between the separator and
all unescaped ones; two escapes sort by their second character, as the two characters do; and what follows a value, the
separator or the end, sorts below anything that could continue the value.

No encoding contains `#`, so the separators of a key are those of its template. None contains U+10FFFF, which is not a
character and is rejected in str: it sorts above everything, and ends ranges. An encoding is *delimited* if no value's
text is a prefix of another's; only after such a value may a literal other than `#` follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from sortkey.model.errors import DeclarationError, KeyPartError, shown
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.numeric_times import from_seconds, to_seconds
from sortkey.model.fields.real_types import RealTypes, real_time

SEPARATOR: Final = "#"
ABOVE_SEPARATOR: Final = "$"
TOP: Final = "\U0010ffff"

_ESCAPE_SHIFT: Final = 0x30
_LAST_ESCAPED: Final = ord("$")
_LONG: Final = 25
_INSTANT_LENGTH: Final = len("2026-08-24T12:30:00.000000Z")
_EXCLUDED: Final[dict[type, type]] = {int: bool, RealTypes.date: RealTypes.datetime}
_NINES: Final = str.maketrans("0123456789", "9876543210")


class Encoding(NamedTuple):
    encode: Callable[[Any], str]
    decode: Callable[[str], Any]
    pattern: str
    """A regular expression that matches every text of this encoding, and no text with a separator."""
    delimited: bool
    choices: tuple[str, ...] | None = None
    """All texts of an Enum, Literal or bool; None for other types."""
    textual: bool = False
    """Whether a value's prefix is encoded as the text's prefix, and letters and digits are unchanged."""
    ordered: bool = True
    """Whether the texts sort as the values do, or, if it is `descending`, in the opposite order."""
    descending: bool = False
    """Whether the greatest value comes first, as in `{points:desc}`."""
    of_content: str = ""
    """The source of an expression that makes the text of most values from the content `{0}` of their attribute, as
    `RowReader` has it. If its result is a key's text, without escapes, key and attribute have one value; otherwise they
    may have. Empty if there is none."""
    lossy: bool = False
    """Whether several values have one text, as in `{email:lower}`; decoding returns one of them."""
    pieces: tuple[str | Encoding, ...] = ()
    """Of a text with separators, the parts of a time: literals and encodings."""
    end: OpenEnd | None = None
    """Of a text that may have separators, at the end of a key."""

    @property
    def matched(self) -> str:
        """The pattern of what it writes now."""
        return self.pattern if self.end is None or self.end.is_open else self.end.closed


class OpenEnd:
    """Whether `{x:raw}` at the end of a key may have separators. It may not, if the key of another class of the table
    goes on with a separator there."""

    def __init__(self, closed: str) -> None:
        self.is_open = True
        self.closed = closed
        """The pattern without separators."""


def default_encoding(annotation: Annotation, *, followed: bool) -> Encoding:
    """The encoding of a type without a format; `followed` if the template continues after the field."""
    base = annotation.base
    if base is str:
        return _TEXT_FOLLOWED if followed else _TEXT_LAST
    if annotation.epoch:
        return _WHOLE_SECONDS
    if base in _ENCODINGS:
        return _ENCODINGS[base]
    raise DeclarationError(f"a key cannot contain {base}; it can contain {_NAMES}")


def expect(expected: type, value: Any) -> None:
    """Accepts the type or a derived one, but not bool for int, nor datetime for date. Raises KeyPartError."""
    if type(value) is expected:
        return
    if not isinstance(value, expected) or isinstance(value, _EXCLUDED.get(expected, ())):
        raise KeyPartError(f"expected {expected.__name__}, got {type(value).__name__} {shown(value)}")


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
    expect(str, value)
    text = str.__str__(value)  # the value of an Enum's member
    if not needed(text):
        return text
    if TOP in text:
        raise KeyPartError("a key cannot contain U+10FFFF, which is not a character")
    return text.translate(escapes)


def _decode_text(text: str) -> str:
    return _unescape.sub(lambda escape: chr(ord(escape[1]) - _ESCAPE_SHIFT), text) if "$" in text else text


def _text(encode: Callable[[Any], str], unescaped: str, escapes: str) -> Encoding:
    # Runs of unescaped characters between escapes match faster than one character at a time.
    pattern = rf"{unescaped}*(?:\$[{escapes}]{unescaped}*)*"
    return Encoding(encode, _decode_text, pattern, delimited=False, textual=True, of_content="{0}")


_TEXT_FOLLOWED: Final = _text(_encode_followed, "[%-\U0010fffe]", "0-T")
_TEXT_LAST: Final = _text(_encode_last, '[\0-"%-\U0010fffe]', "ST")


def _encode_int(value: Any) -> str:
    expect(int, value)
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
    """The number at the start of the text, and the rest."""
    letter, rest = text[0], text[1:]
    if letter in "zA":
        count, rest = _read_int(rest)
        count = abs(count)
    else:
        count = ord(letter) - ord("a") + 1 if letter.islower() else ord("Z") - ord(letter) + 1
    digits, rest = rest[:count], rest[count:]
    return (int(digits) if letter.islower() else -int(digits.translate(_NINES))), rest


def to_decimal(value: Any) -> Decimal:
    """The value as a Decimal; accepts Decimal and int. Raises KeyPartError."""
    if type(value) is int:
        return Decimal(value)
    expect(Decimal, value)
    number: Decimal = value
    if not number.is_finite():
        raise KeyPartError(f"{number} is not a number")
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


def aware_utc(value: Any) -> datetime:
    """An aware datetime, in UTC. Raises KeyPartError."""
    moment: datetime = value if value.__class__ is datetime else _plain_time(value)
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise KeyPartError(f"{moment!r} has no time zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise KeyPartError(f"{moment!r} is before the year 1 or after 9999 in UTC, in which it is stored") from None


def _plain_time(value: Any) -> datetime:
    """The time of a subclass, such as pendulum's DateTime. Raises KeyPartError."""
    expect(RealTypes.datetime, value)
    try:
        parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        made = RealTypes.datetime(*parts, tzinfo=value.tzinfo, fold=value.fold)
        is_same = bool(made == value)
    except (TypeError, ValueError):
        is_same = False
    if not is_same:
        # pandas has nanoseconds, and a time that is none.
        raise KeyPartError(f"{type(value).__name__} {shown(value)} is more, or less, than a datetime holds")
    return made


def instant_text(value: Any) -> str:
    """An aware datetime as sortable text, in UTC. Raises KeyPartError."""
    # msgspec writes Z for UTC, and six digits or none, in a tenth of the time of isoformat.
    try:
        text: str = msgspec.to_builtins(aware_utc(value))
    except TypeError:
        # Of a subclass, such as freezegun's.
        text = msgspec.to_builtins(real_time(aware_utc(value)))
    return text if len(text) == _INSTANT_LENGTH else f"{text[:-1]}.000000Z"


def in_whole_seconds(encode: Callable[[Any], str]) -> Callable[[Any], str]:
    """The encoder of a time that is stored in whole seconds: without the fraction, which the attribute lacks too."""
    return lambda value: encode(value.replace(microsecond=0) if isinstance(value, datetime) else value)


def _encode_duration(value: Any) -> str:
    return _encode_decimal(to_seconds(value))


def _decode_duration(text: str) -> timedelta:
    return from_seconds(_decode_decimal(text))


def _encode_date(value: Any) -> str:
    expect(RealTypes.date, value)
    return RealTypes.date.isoformat(value)


def clock_text(value: Any) -> str:
    """A time of day as sortable text. Raises KeyPartError."""
    expect(time, value)
    if value.tzinfo is not None:
        raise KeyPartError(f"{value!r} has a time zone; a time of day is stored without one")
    return time.isoformat(value, "microseconds")


def _encode_uuid(value: Any) -> str:
    expect(UUID, value)
    return str(value)


def _encode_bool(value: Any) -> str:
    expect(bool, value)
    return "1" if value else "0"


def _encode_bytes(value: Any) -> str:
    expect(bytes, value)
    text: str = value.hex()
    return text


_INT: Final = r"[zA]?[B-Za-y][0-9]+"
_DECIMAL: Final = rf"(?:M|N{_INT}\.|L{_INT}~)"
_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_INSTANT: Final = rf"{_DAY}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]{{6}}Z"
_CLOCK: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_ENCODINGS: Final[dict[Any, Encoding]] = {
    int: Encoding(_encode_int, _decode_int, _INT, delimited=True, of_content="chr(96 + len({0})) + {0}"),
    Decimal: Encoding(_encode_decimal, _decode_decimal, _DECIMAL, delimited=True),
    timedelta: Encoding(_encode_duration, _decode_duration, _DECIMAL, delimited=True),
    RealTypes.datetime: Encoding(
        instant_text, RealTypes.datetime.fromisoformat, _INSTANT, delimited=True, of_content="{0}"
    ),
    RealTypes.date: Encoding(_encode_date, RealTypes.date.fromisoformat, _DAY, delimited=True, of_content="str({0})"),
    time: Encoding(clock_text, time.fromisoformat, _CLOCK, delimited=True, of_content="{0}"),
    UUID: Encoding(_encode_uuid, UUID, _UUID, delimited=True, of_content="{0}"),
    bool: Encoding(_encode_bool, "1".__eq__, "[01]", delimited=True, choices=("0", "1")),
    bytes: Encoding(_encode_bytes, bytes.fromhex, "(?:[0-9a-f]{2})*", delimited=False, textual=True),
}
_WHOLE_SECONDS: Final = _ENCODINGS[RealTypes.datetime]._replace(encode=in_whole_seconds(instant_text), of_content="")
_NAMES: Final = "str, int, Decimal, datetime, date, time, timedelta, UUID, bool, bytes, or an Enum or Literal of these"
