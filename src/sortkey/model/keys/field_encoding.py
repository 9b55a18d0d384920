"""The encoding of a field in a template: the one of its type, or the format that the template declares.

    {city:raw}                  str: without escapes; # only at the end   New York
    {email:lower}, :upper       str: any capitals find one key            ada@example.org
    {number}                    int: sorts as the numbers do              a3
    {number:06}                 int: six digits, zero-padded              000003
    {number:d}                  int: as it is written, in text order      3
    {number:desc}               int: the greatest first                   Z6
    {at:%Y-%m-%dT%H:%M:%SZ}     datetime, date, time: see below           2026-01-04T10:00:00Z
    {day:%Y}#{day:%m}#{day:%d}  parts of a time, which together are it    2026#01#04
    {id:upper}                  UUID: in upper case                       6BA7B810-9DAD-11D1-80B4-00C04FD430C8
    {id:hex}, {id:HEX}          UUID: 32 digits                           6ba7b8109dad11d180b400c04fd430c8

`{number:desc}` is for lists that go down by a number and up by what follows: `"{points:desc}#{player}"`. The others are
for keys that other programs wrote. Every one but `:lower` and `:upper` of a text is exact: a value that it
cannot write is rejected, and a text that it would not write is not read. Texts of `:d`, of some time formats, of
`:lower`, and of `:raw` where the key continues, do not sort as the values do; such a field cannot have a range.

Times are written in UTC; `Z` or `+00:00` is a literal of the format. The directives are those of `strftime` that have a
fixed width, and two others:

    %Y %m %d %H %M %S    year to second          %f   microseconds, six digits
    %s                   seconds since 1970      %L   milliseconds, three digits

`%s` has ten digits, which is from 2001 to 2286. A value with a part that the format does not have, such as a fraction
without `%f`, is rejected: its key could not be read back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin
from uuid import UUID

from sortkey.model.errors import DeclarationError, EncodeError, KeyPartError, shown
from sortkey.model.fields.annotation import Annotation, parse_annotation
from sortkey.model.fields.key_text import (
    SEPARATOR,
    TOP,
    Encoding,
    OpenEnd,
    aware_utc,
    clock_text,
    default_encoding,
    expect,
    in_whole_seconds,
)
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.fields.stored_as import StoredType


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
        raise DeclarationError(f"the format {spec!r} is for str, int, datetime, date, time or UUID, not for {base}")
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
    return inner.of_content if stored in (str, int, RealTypes.datetime) else ""


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
            raise KeyPartError(f"{shown(value)} is not one of {', '.join(map(repr, texts))}") from None

    pattern = "|".join(map(re.escape, choices))
    return Encoding(
        encode,
        choices.__getitem__,
        f"(?:{pattern})",
        inner.delimited,
        tuple(choices),
        ordered=inner.ordered,
        descending=inner.descending,
        of_content=_of_text_content(stored, inner),
    )


def _of_text(spec: str, followed: bool) -> Encoding:
    if spec in ("lower", "upper"):
        return _of_one_case(spec, followed)
    if spec != "raw":
        raise DeclarationError(f"the format {spec!r} of a text is not raw, lower or upper")
    if followed:
        # Characters below the separator sort before it, so the text of a shorter value would come after a longer one.
        return Encoding(_encode_raw, str, _RAW, delimited=False, textual=True, ordered=False, of_content="{0}")
    end = OpenEnd(_RAW)

    def encode(value: Any) -> str:
        expect(str, value)
        text = str.__str__(value)
        if TOP in text or (SEPARATOR in text and not end.is_open):
            raise KeyPartError(
                f"{shown(text)} contains U+10FFFF, or #, with which the key of another class of the table continues"
            )
        return text

    return Encoding(encode, str, f"[^{TOP}]*", delimited=False, textual=True, of_content="{0}", end=end)


_RAW: Final = f"[^#{TOP}]*"


def _encode_raw(value: Any) -> str:
    expect(str, value)
    text = str.__str__(value)
    if SEPARATOR in text or TOP in text:
        raise KeyPartError(
            f"{shown(text)} contains # or U+10FFFF, which the format raw cannot write before the end of a key"
        )
    return text


def _of_one_case(spec: str, followed: bool) -> Encoding:
    inner = default_encoding(Annotation(str, optional=False, inexact=False), followed=followed)
    change = str.lower if spec == "lower" else str.upper

    def encode(value: Any) -> str:
        expect(str, value)
        return inner.encode(change(str.__str__(value)))

    return inner._replace(encode=encode, textual=False, ordered=False, of_content=f"{{0}}.{spec}()", lossy=True)


def exact_encoding(encoding: Encoding) -> Encoding:
    """The encoding, for a key that must tell its fields: it rejects the values that others have the text of."""
    if not encoding.lossy:
        return encoding

    def encode(value: Any) -> str:
        text = encoding.encode(value)
        if encoding.decode(text) != value:
            raise KeyPartError(
                f"{shown(value)} would come back as {shown(encoding.decode(text))}, since the primary key has it so; "
                f"convert it before, or use the format in an index"
            )
        return text

    return encoding._replace(encode=encode, lossy=False)


def _of_int(spec: str) -> Encoding:
    if spec == "d":
        return _UNPADDED
    if spec == "desc":
        return _DESCENDING
    if not re.fullmatch(r"0[1-9]\d?", spec):
        raise DeclarationError(f"the format {spec!r} is not d or desc, nor 0 and a width, such as 06")
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


_SORTED: Final = default_encoding(Annotation(int, optional=False, inexact=False), followed=False)


def _encode_descending(value: Any) -> str:
    expect(int, value)
    return _SORTED.encode(-int(value))


def _decode_descending(text: str) -> int:
    number: int = _SORTED.decode(text)
    return -number


_DESCENDING: Final = _SORTED._replace(
    encode=_encode_descending, decode=_decode_descending, descending=True, of_content=""
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


_START: Final = RealTypes.datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_EPOCH_WIDTH: Final = 10
_CALENDAR: Final = "Ymd"


class _Directive(NamedTuple):
    part: str
    """The argument of `datetime`, or `epoch`."""
    rank: int
    """The place among the directives of a format whose texts sort as its times do."""
    width: int
    pattern: str
    start: int
    """Where it starts in the text of a stored time; -1 if it is not there."""
    unit: int = 1
    """What one stands for, of the part."""


_DIRECTIVES: Final = {
    "Y": _Directive("year", 0, 4, "[0-9]{4}", 0),
    "m": _Directive("month", 1, 2, "(?:0[1-9]|1[0-2])", 5),
    "d": _Directive("day", 2, 2, "(?:0[1-9]|[12][0-9]|3[01])", 8),
    "H": _Directive("hour", 3, 2, "(?:[01][0-9]|2[0-3])", 11),
    "M": _Directive("minute", 4, 2, "[0-5][0-9]", 14),
    "S": _Directive("second", 5, 2, "[0-5][0-9]", 17),
    "s": _Directive("epoch", 5, _EPOCH_WIDTH, f"[1-9][0-9]{{{_EPOCH_WIDTH - 1}}}", -1),
    "f": _Directive("microsecond", 6, 6, "[0-9]{6}", 20),
    "L": _Directive("microsecond", 6, 3, "[0-9]{3}", 20, 1000),
}
_STARTS: Final = tuple(sorted({directive.start for directive in _DIRECTIVES.values() if directive.start >= 0}))
_OF_THE_DAY: Final = ("hour", "minute", "second", "microsecond")


class _Format(NamedTuple):
    text: str
    literals: tuple[str, ...]
    """One more than the directives."""
    directives: tuple[_Directive, ...]

    @property
    def units(self) -> dict[str, int]:
        return {directive.part: directive.unit for directive in self.directives}


def time_encoding(base: type, text: str) -> Encoding:
    """The encoding of datetime, date or time in this format. Raises DeclarationError."""
    if SEPARATOR in text:
        raise DeclarationError(f"the format {text!r} contains {SEPARATOR}, which separates the parts of a key")
    return _whole_time(base, _parse(text))


def joined_encoding(annotation: Annotation, specs: Sequence[str], literals: Sequence[str]) -> Encoding:
    """The encoding of a field that occurs several times in a row, each time with a part of the time: as one format,
    with the literals between them. Raises DeclarationError if the parts together are not the whole time."""
    base = annotation.base
    if base not in _TIMES:
        raise DeclarationError(f"only a datetime, a date or a time can be there in parts, not {base}")
    formats = [_parse(spec) for spec in specs]
    text, joined, directives = specs[0], list(formats[0].literals), list(formats[0].directives)
    for literal, spec, each in zip(literals, specs[1:], formats[1:], strict=True):
        text += literal + spec
        joined[-1] += literal + each.literals[0]
        joined += each.literals[1:]
        directives += each.directives
    made = _whole_time(base, _Format(text, tuple(joined), tuple(directives)))
    pieces: list[str | Encoding] = []
    for literal, directive in zip(joined, [*directives, None], strict=True):
        pieces.append(literal)
        if directive is not None:
            # For the test of collisions, which asks only for the pattern.
            pieces.append(Encoding(str, str, directive.pattern, delimited=True))
    made = made._replace(pieces=tuple(pieces))
    return made._replace(encode=in_whole_seconds(made.encode), of_content="") if annotation.epoch else made


def _whole_time(base: type, parsed: _Format) -> Encoding:
    text, parts = parsed.text, set(parsed.units)
    if len(parts) < len(parsed.directives):
        raise DeclarationError(f"the format {text!r} has a part of the time twice")
    if base is RealTypes.date and parts != {"year", "month", "day"}:
        raise DeclarationError(f"the format {text!r} of a date must have %Y, %m and %d, and no other")
    if base is time and not {"hour"} <= parts <= {*_OF_THE_DAY}:
        raise DeclarationError(f"the format {text!r} of a time must have %H, and only %M, %S and %f or %L besides")
    whole = {"epoch"} if "epoch" in parts else {"year", "month", "day"}
    clashing = parts.difference({"epoch", "microsecond"}) if "epoch" in parts else set()
    if base is not time and (not whole <= parts or clashing):
        raise DeclarationError(f"the format {text!r} must have %Y, %m and %d, or %s alone with %f or %L")
    ranks = [directive.rank for directive in parsed.directives]
    pattern = "".join(
        re.escape(literal) + (directive.pattern if directive else "")
        for literal, directive in zip(parsed.literals, (*parsed.directives, None), strict=True)
    )
    write, read = _TIMES[base]
    return Encoding(
        write(parsed),
        read(parsed),
        pattern,
        delimited=True,
        ordered=ranks == sorted(ranks),
        of_content="" if base is time else _of_content(parsed, "str({0})" if base is RealTypes.date else "{0}"),
    )


def _of_content(parsed: _Format, stored: str) -> str:
    """The text as slices of a stored time, `2026-08-24T12:30:00.000000Z`, or date; empty if the format has a part that
    these do not have, or leaves out one between others."""
    starts = sorted(directive.start for directive in parsed.directives)
    if starts != [start for start in _STARTS if start <= starts[-1]]:
        return ""
    pieces = [
        f"{literal!r} + {stored}[{directive.start}:{directive.start + directive.width}]"
        for literal, directive in zip(parsed.literals, parsed.directives, strict=False)
    ]
    pieces.append(repr(parsed.literals[-1]))
    if stored == "{0}":
        end = max(directive.start + directive.width for directive in parsed.directives)
        # The rest must be zeros: a time with a part that the format does not write has another text.
        pieces.append(f"{stored}[{end}:].strip('T:.0Z')")
    return " + ".join(pieces)


def _parse(text: str) -> _Format:
    literals, directives = [""], []
    for literal, name in re.findall(r"([^%]*)(%.|%$)?", text, re.DOTALL):
        literals[-1] += literal
        if name == "%%":
            literals[-1] += "%"
        elif name:
            if name[1:] not in _DIRECTIVES:
                known = " ".join(f"%{each}" for each in _DIRECTIVES)
                raise DeclarationError(f"the format {text!r} contains {name}; a key can have {known}, and UTC as Z")
            directives.append(_DIRECTIVES[name[1:]])
            literals.append("")
    return _Format(text, tuple(literals), tuple(directives))


def _writer(parsed: _Format) -> Callable[[Callable[[str], int]], str]:
    """Writes the parts that a function returns."""
    pieces = [
        (literal, directive.part, directive.unit, directive.width)
        for literal, directive in zip(parsed.literals, parsed.directives, strict=False)
    ]
    last = parsed.literals[-1]

    def write(part: Callable[[str], int]) -> str:
        return "".join(f"{literal}{part(name) // unit:0{width}}" for literal, name, unit, width in pieces) + last

    return write


def _time_writer(parsed: _Format) -> Callable[[Any], str]:
    write, units = _writer(parsed), parsed.units
    of_the_day = ("microsecond",) if "epoch" in units else _OF_THE_DAY
    absent = [part for part in of_the_day if part not in units]
    unit = units.get("microsecond", 1)

    def encode(value: Any) -> str:
        moment = aware_utc(value)
        if any(getattr(moment, part) for part in absent) or moment.microsecond % unit:
            raise KeyPartError(f"{moment.isoformat()} has parts that the format {parsed.text!r} does not write")
        if "epoch" not in units:
            return write(lambda part: int(getattr(moment, part)))
        seconds = (moment - _START) // _SECOND
        if len(str(seconds)) != _EPOCH_WIDTH or seconds < 0:
            raise KeyPartError(f"{moment.isoformat()} does not have {_EPOCH_WIDTH} digits in seconds since 1970")
        return write({"epoch": seconds, "microsecond": moment.microsecond}.__getitem__)

    return encode


def _clock_writer(parsed: _Format) -> Callable[[Any], str]:
    write, units = _writer(parsed), parsed.units
    absent = [part for part in _OF_THE_DAY if part not in units]
    unit = units.get("microsecond", 1)

    def encode(value: Any) -> str:
        clock_text(value)
        if any(getattr(value, part) for part in absent) or value.microsecond % unit:
            raise KeyPartError(f"{value.isoformat()} has parts that the format {parsed.text!r} does not write")
        return write(lambda part: int(getattr(value, part)))

    return encode


def _clock_reader(parsed: _Format) -> Callable[[str], time]:
    read = _reader(parsed)
    return lambda text: time(tzinfo=None, **read(text))


def _date_writer(parsed: _Format) -> Callable[[Any], str]:
    write = _writer(parsed)

    def encode(value: Any) -> str:
        expect(RealTypes.date, value)
        return write(lambda part: int(getattr(value, part)))

    return encode


def _reader(parsed: _Format) -> Callable[[str], dict[str, int]]:
    """Reads the parts; the text matches the pattern, and every directive has its own width."""
    slices, position = [], 0
    for literal, directive in zip(parsed.literals, parsed.directives, strict=False):
        position += len(literal)
        slices.append((directive.part, directive.unit, position, position + directive.width))
        position += directive.width
    return lambda text: {part: int(text[start:end]) * unit for part, unit, start, end in slices}


def _time_reader(parsed: _Format) -> Callable[[str], datetime]:
    read = _reader(parsed)

    def decode(text: str) -> datetime:
        parts = read(text)
        if "epoch" not in parts:
            return RealTypes.datetime(tzinfo=UTC, **parts)
        return _START + timedelta(seconds=parts["epoch"], microseconds=parts.get("microsecond", 0))

    return decode


def _date_reader(parsed: _Format) -> Callable[[str], date]:
    read = _reader(parsed)
    return lambda text: RealTypes.date(**read(text))


_Writer = Callable[[_Format], Callable[[Any], str]]
_Reader = Callable[[_Format], Callable[[str], Any]]
_TIMES: Final[dict[Any, tuple[_Writer, _Reader]]] = {
    RealTypes.datetime: (_time_writer, _time_reader),
    RealTypes.date: (_date_writer, _date_reader),
    time: (_clock_writer, _clock_reader),
}
_FORMATS: Final[dict[Any, Callable[[str], Encoding]]] = {
    int: _of_int,
    UUID: _of_uuid,
    RealTypes.datetime: lambda spec: time_encoding(RealTypes.datetime, spec),
    RealTypes.date: lambda spec: time_encoding(RealTypes.date, spec),
    time: lambda spec: time_encoding(time, spec),
}
