"""`OwnForm`: the one form in which Sortkey stores a type whose decoder also reads the forms of other programs.

The store compares texts and numbers as they are stored, so it can judge a row only if the value is in this form. It
tells by the tests here. They hold for a readable value exactly if it is in the form: a text with 27 characters may be
`2026-08-24 12:30:00.000000Z`, or a week date, and a UUID may be in capital letters.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.items.codec import Field
from sortkey.model.items.converter import Value
from sortkey.model.items.stored_as import StoredType
from sortkey.model.items.time_codecs import seconds


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


class NumberForm(NamedTuple):
    """Numbers, of a type that is also read from text."""

    def includes(self, stored: Value) -> bool:
        return "N" in stored

    def tests(self, name: str, placeholders: Placeholders) -> list[FormTest]:
        is_number = f"attribute_type({name}, {placeholders.value({'S': 'N'})})"
        return [FormTest(is_number, f"NOT {is_number}")]


OwnForm = TextForm | NumberForm

# W is in the dates of weeks, 2026-W34-1. Dates and times without "-" and ":" may have the length by a longer fraction.
_FORMS: Final[dict[Any, OwnForm]] = {
    datetime: TextForm(len("2026-08-24T12:30:00.000000Z"), parts="TZ-:.", excluded="W"),
    date: TextForm(len("2026-08-24"), parts="", excluded="W"),
    UUID: TextForm(len("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), parts="", excluded="ABCDEF"),
}
_SECONDS: Final = TextForm(len("2026-08-24T12:30:00Z"), parts="TZ-:", excluded="W")
_EPOCH: Final = NumberForm()


def own_form(field: Field) -> OwnForm | None:
    """The form of a field's values; None if its decoder reads no other."""
    base = field.annotation.base
    if field.annotation.epoch:
        return _EPOCH
    if isinstance(base, StoredType):
        return _SECONDS if base.codec is seconds else None
    return _FORMS.get(base) if isinstance(base, type) else None
