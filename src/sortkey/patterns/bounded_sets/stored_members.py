"""Changes and conditions of a set as it is stored.

Other programs may store one value in several forms, such as a UUID in capital letters. The model's conditions are of
what an item shows, and the store cannot tell that of the elements of such a set; a write would have to be conditional
on the whole set as it was read, and of many writers at once, one would get through at a time. So a bounded set first
asks the store for what is stored, and looks at the set that the store returns.
"""

from __future__ import annotations

from typing import Any

from sortkey.model.changes.condition import EITHER, Condition, Results
from sortkey.model.changes.conditions import attribute_of
from sortkey.model.changes.operators import Discard
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.fields.codec import Codec, Field
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema


class AsStored(Condition):
    """A condition that the store tests on what is stored: a member in another form is another member. It is false for
    what is no set of this type, so that the row comes back, and its error names it."""

    def __init__(self, condition: Condition, tag: str) -> None:
        self.condition = condition
        self.tag = tag

    def __repr__(self) -> str:
        return repr(self.condition)

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        name, tag = placeholders.name(attribute_of(schema, field)), placeholders.value({"S": self.tag})
        return all_of([self.condition.render(schema, field, placeholders), f"attribute_type({name}, {tag})"])

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        return self.condition.holds(schema, field, shown)

    def right_results(self, _base: Any) -> Results:
        return EITHER


class DiscardStored(Discard):
    """Removes members in the form in which Sortkey stores them."""

    def needs_value(self, _schema: Schema[Any], _field: str) -> bool:
        return False


def as_shown(codec: Codec, field: str, member: Any) -> tuple[Any, str]:
    """A member as an item shows it, and the type of the stored set. A codec may read another value than it was given to
    write. Raises EncodeError for what the set cannot have."""
    stored = codec.encode_field(field, {member}) or {}
    (shown,) = codec.by_name[field].decode(stored)
    (tag,) = stored
    return shown, tag


def forms_of(field: Field, stored: Value | None, member: Any) -> int:
    """In how many forms a stored set has a member."""
    if stored is None:
        return 0
    ((tag, elements),) = stored.items()
    return sum(field.decode({tag: [each]}) == {member} for each in elements)
