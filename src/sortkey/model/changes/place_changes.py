"""Changes of places inside a field: `{"address.city": "Rome", "lines[0].quantity": sk.add(1)}`.

The store changes the place alone, on condition that what contains it is there. If it is not, because the row lacks the
field and the item shows its default, the session changes the value that the item shows and writes the field whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import Any

from sortkey.model.changes.operators import SET, Clause, Operator
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.changes.places import (
    Place,
    PlacePlaceholders,
    Steps,
    find_place,
    parse_place,
    place_text,
    reject_foreign,
    stored_at,
)
from sortkey.model.errors import unknown_field
from sortkey.model.fields.converter import Value
from sortkey.model.fields.records import is_record, replace_fields
from sortkey.model.items.schema import Schema


class PlaceMissing(LookupError):
    """The item has nothing at the place."""


class PlaceChanges(Operator):
    """Changes of one or more places inside a field."""

    def __init__(self, schema: Schema[Any], field: str, changes: Mapping[Steps, Any]) -> None:
        super().__init__({place_text(field, steps): change for steps, change in changes.items()})
        self.field = field
        self.changes = dict(changes)
        self.places = {steps: find_place(schema, field, steps) for steps in changes}
        for steps, place in self.places.items():
            _encoded(place, changes[steps])
            if any(other != steps and other[: len(steps)] == steps for other in changes):
                raise ValueError(f"{schema.name}: {place_text(field, steps)} and a place inside it both change")

    def __deepcopy__(self, memo: dict[int, Any]) -> PlaceChanges:
        # The places belong to the class, which must not be copied.
        made = copy(self)
        made.changes = deepcopy(self.changes, memo)
        made.value = {place_text(self.field, steps): change for steps, change in made.changes.items()}
        return made

    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        made: list[Clause] = []
        for place, change, inside in self._placed(schema, field, placeholders):
            if isinstance(change, Operator):
                made += change.clauses(place.fields, place.name, inside)
                continue
            value = _encoded(place, change)
            path = inside.name(place.name)
            made.append(Clause("REMOVE", path) if value is None else Clause(SET, f"{path} = {inside.value(value)}"))
        return made

    def tests(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[str]:
        made: dict[str, None] = {}
        for place, change, inside in self._placed(schema, field, placeholders):
            around = f"attribute_type({inside.around}, {placeholders.value({'S': place.parent_type})})"
            made[around] = None
            if place.parent_type == "L":
                # The store would append to the list instead.
                made[f"attribute_exists({inside.name(place.name)})"] = None
            if isinstance(change, Operator):
                made |= dict.fromkeys(change.tests(place.fields, place.name, inside))
        return list(made)

    def applies_to(self, value: Value | None) -> bool:
        for steps, place in self.places.items():
            around = stored_at(value, place.stored[:-1])
            if around is None or place.parent_type not in around:
                return False
            inner, change = stored_at(around, place.stored[-1:]), self.changes[steps]
            if inner is None and place.parent_type == "L":
                return False
            if isinstance(change, Operator) and not change.applies_to(inner):
                return False
        return True

    def needs_value(self, _schema: Schema[Any], _field: str) -> bool:
        return any(
            isinstance(change, Operator) and change.needs_value(self.places[steps].fields, self.places[steps].name)
            for steps, change in self.changes.items()
        )

    def apply(self, current: Any) -> Any:
        for steps, change in self.changes.items():
            try:
                current = _changed(current, steps, change)
            except (LookupError, AttributeError):
                raise PlaceMissing(place_text(self.field, steps)) from None
        return current

    def _placed(
        self, schema: Schema[Any], field: str, placeholders: Placeholders
    ) -> list[tuple[Place, Any, PlacePlaceholders]]:
        attribute = schema.codec.by_name[field].attribute
        return [
            (place, self.changes[steps], PlacePlaceholders(placeholders, attribute, place.stored))
            for steps, place in self.places.items()
        ]


def _encoded(place: Place, change: Any) -> Value | None:
    """The value of an assignment, checked; None for one that is not stored, and for operators."""
    if isinstance(change, Operator):
        return None
    value: Value | None = place.fields.codec.encode_field(place.name, change, check=True)
    return value


def _changed(value: Any, steps: Steps, change: Any) -> Any:
    """A copy with a change. Raises LookupError if there is nothing that contains the place."""
    if not steps:
        return change.apply(value) if isinstance(change, Operator) else change
    step, rest = steps[0], steps[1:]
    if value is None:
        raise LookupError(step)
    if isinstance(step, int):
        if not isinstance(value, list | tuple):
            raise LookupError(step)
        return type(value)([*value[:step], _changed(value[step], rest, change), *value[step + 1 :]])
    if isinstance(value, dict):
        return {**value, step: _changed(value.get(step), rest, change)}
    if not is_record(type(value)):
        raise LookupError(step)
    return replace_fields(value, **{step: _changed(getattr(value, step), rest, change)})


Changes = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Changes of an item: a mapping from fields, or places in them, to values or changes; or a list of such mappings,
and of what the methods of `sk.F` return."""


def by_name(schema: Schema[Any], changes: Changes) -> dict[str, Any]:
    """The changes of one or several mappings. Raises UnknownField for fields of another class."""
    found: dict[str, Any] = {}
    given: Any = changes if isinstance(changes, list | tuple) else [changes]
    for mapping in given:
        if not isinstance(mapping, Mapping):
            raise TypeError(
                f"changes are {{'stock': 3}}, sk.F(Product.stock).set(3), or a list of such; not {mapping!r}"
            )
        for name, change in mapping.items():
            reject_foreign(name, schema)
            if name in found:
                raise ValueError(f"{schema.name}: {name} changes twice")
            found[name] = change
    return found


def by_field(schema: Schema[Any], changes: Changes) -> dict[str, Any]:
    """The changes by field; those of places inside a field are one operator. Raises UnknownField."""
    found: dict[str, Any] = {}
    places: dict[str, dict[Steps, Any]] = {}
    for name, change in by_name(schema, changes).items():
        field, steps = (name, ()) if name in schema.codec.by_name else parse_place(name, schema)
        if not steps:
            found[field] = change
            continue
        if field not in schema.codec.by_name:
            raise unknown_field(schema.name, field, schema.codec.by_name)
        places.setdefault(field, {})[steps] = change
    for field, inside in places.items():
        if field in found:
            raise ValueError(f"{schema.name}: {field} and a place inside it both change")
        found[field] = PlaceChanges(schema, field, inside)
    return found
