"""`OwnForm`: how the store can compare a type of which several stored values show one value.

Conditions are of what the item shows: of the value that its row would have if Sortkey wrote it again, its *own form*.
The store compares what is stored. Many types have one form only, and both are the same. A type of which other programs
store other forms has one of these:

* `TextForm`: a text. The store tells by tests whether it is in the own form; they hold for a readable text exactly if
  it is. A text with 27 characters may be `2026-08-24 12:30:00.000000Z`, or a week date, and a UUID may be in capital
  letters.
* `RoundedForm`: a number that is shown rounded. The store cannot tell the form, but compares with the neighbours of
  the value (`changes/rounded_comparison.py`).
* `UNKNOWN_FORM`: no test tells. A map may have attributes that its class does not declare, or lack some that have
  defaults; what contains a type with several forms has several, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin
from uuid import UUID

from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.fields.annotation import Annotation, parse_annotation
from sortkey.model.fields.codec import Field
from sortkey.model.fields.containers import CONTAINERS
from sortkey.model.fields.converter import Value, encode_decimal, encode_float
from sortkey.model.fields.records import is_record
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.fields.time_codecs import seconds


class FormTest(NamedTuple):
    """One test of a form in DynamoDB's syntax, and its opposite, which is true if the attribute is absent."""

    own: str
    other: str


class TextForm(NamedTuple):
    """Texts of one length that contain these parts, and none of the others."""

    length: int
    parts: str
    excluded: str

    def includes(self, stored: Value) -> bool:
        text = stored.get("S", "")
        return (
            len(text) == self.length
            and all(part in text for part in self.parts)
            and not any(part in text for part in self.excluded)
        )

    def tests(self, name: str, placeholders: Placeholders) -> list[FormTest]:
        length = placeholders.value({"N": str(self.length)})
        made = [FormTest(f"size({name}) = {length}", f"size({name}) <> {length}")]
        for part in self.parts:
            contains = f"contains({name}, {placeholders.value({'S': part})})"
            made.append(FormTest(contains, f"NOT {contains}"))
        for part in self.excluded:
            contains = f"contains({name}, {placeholders.value({'S': part})})"
            made.append(FormTest(f"NOT {contains}", contains))
        return made


class RoundedForm(NamedTuple):
    """Numbers that are shown rounded, to the next or the lower one of those that Sortkey writes."""

    neighbours: Callable[[Decimal], tuple[Value, Value]]
    """The next lower and the next higher number that Sortkey writes."""
    is_text_read: bool
    """Whether the type is also read from text."""


class UnknownForm(NamedTuple):
    """No test of the store tells the form."""


UNKNOWN_FORM: Final = UnknownForm()
OwnForm = TextForm | RoundedForm | UnknownForm

_SMALLEST: Final = 1e-130
_LARGEST: Final = {"N": "9.9999999999999999999999999999999999999E+125"}
_LEAST: Final = {"N": f"-{_LARGEST['N']}"}


def _seconds_beside(number: Decimal) -> tuple[Value, Value]:
    return encode_decimal(number - 1), encode_decimal(number + 1)


def _floats_beside(number: Decimal) -> tuple[Value, Value]:
    return _next_float(float(number), -math.inf) or _LEAST, _next_float(float(number), math.inf) or _LARGEST


def _next_float(number: float, direction: float) -> Value | None:
    """The next float that DynamoDB's numbers hold; None if there is none."""
    following = math.nextafter(number, direction)
    if abs(following) < _SMALLEST:
        following = 0.0 if number else math.copysign(_SMALLEST, direction)
    return encode_float(following) if abs(following) < float(_LARGEST["N"]) else None


# W is in the dates of weeks, 2026-W34-1. Dates and times without "-" and ":" may have the length by a longer fraction.
_FORMS: Final[dict[Any, OwnForm]] = {
    datetime: TextForm(len("2026-08-24T12:30:00.000000Z"), parts="TZ-:.", excluded="W"),
    date: TextForm(len("2026-08-24"), parts="", excluded="W"),
    UUID: TextForm(len("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), parts="", excluded="ABCDEF"),
    float: RoundedForm(_floats_beside, is_text_read=False),
}
_SECONDS: Final = TextForm(len("2026-08-24T12:30:00Z"), parts="TZ-:", excluded="W")
_EPOCH: Final = RoundedForm(_seconds_beside, is_text_read=True)
_ONE_FORM: Final = frozenset({str, int, Decimal, bool, bytes, timedelta})


def own_form(field: Field) -> OwnForm | None:
    """How the store can compare a field's values; None if they have one form."""
    base = field.annotation.base
    # Most fields have such a type.
    return None if isinstance(base, type) and base in _ONE_FORM else _form(field.annotation)


def _form(annotation: Annotation) -> OwnForm | None:
    base, origin = annotation.base, get_origin(annotation.base)
    if annotation.epoch:
        return _EPOCH
    if isinstance(base, StoredType):
        return _SECONDS if base.codec is seconds else _form(parse_annotation(base.codec.stored))
    if base is Any:
        return UNKNOWN_FORM if annotation.inexact else None
    if origin is Literal or (isinstance(base, type) and issubclass(base, Enum)):
        choice = get_args(base)[0] if origin is Literal else next(iter(base)).value
        return _form(Annotation(type(choice), optional=False, inexact=False))
    if origin in CONTAINERS or origin in (Union, UnionType):
        members = (parse_annotation(each) for each in get_args(base) if each is not Ellipsis)
        return UNKNOWN_FORM if any(_form(each) is not None for each in members) else None
    return UNKNOWN_FORM if is_record(base) else _FORMS.get(base)
