"""Changes of an item: values for fields and places, and operators that depend on the current value.

    db.update(path, [sk.F(Shop.visits).add(1), sk.F(Shop.tags).add({"new"}), {"owner": "ada"}])

The store applies an operator as a clause of the update expression; a row that lacks the attribute starts from the
field's default, which is what its item shows. Where the store cannot do that, the session reads the item and applies
the operator itself: if an index key is made of the field, if the default is a set with elements, and if the attribute
is NULL.

A place inside a field is changed alone, on condition that what contains it is there. If it is not, because the row
lacks the field and the item shows its default, the session changes the value that the item shows and writes the field
whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy, deepcopy
from typing import Any, ClassVar, Final, NamedTuple

from msgspec import NODEFAULT

from sortkey.model.changes.conditions import attribute_of, operand, shown_value
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
from sortkey.model.errors import EncodeError, Unsupported, unknown_field
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.fields.records import is_record, replace_fields
from sortkey.model.items.schema import Schema

SET: Final = "SET"
ADD: Final = "ADD"
DELETE: Final = "DELETE"
REMOVE: Final = "REMOVE"


class Clause(NamedTuple):
    """A clause of an update expression, and the section that it belongs in."""

    section: str
    text: str


class Operator(ABC):
    word: ClassVar[str]
    """The method of `sk.F` that makes it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{self.word}({self.value!r})"

    @abstractmethod
    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        """The change in DynamoDB's syntax."""

    def tests(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[str]:
        """The tests that the store can apply it to the row."""
        if not schema.codec.by_name[field].nullable:
            return []
        return [f"{placeholders.name(attribute_of(schema, field))} <> {placeholders.value(dict(NULL))}"]

    def applies_to(self, value: Value | None) -> bool:
        """Whether the store can apply it to an attribute with this value; None if the row lacks it."""
        return value != NULL

    @abstractmethod
    def apply(self, current: Any) -> Any:
        """The new value; `current` is None if the field is absent."""

    def needs_value(self, _schema: Schema[Any], _field: str) -> bool:
        """Whether the store cannot apply it to a row without the attribute."""
        return False


class Add(Operator):
    word = "add"

    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        start = _default(schema, field)
        if start is None or start.get("N") == "0":
            return [_clause(ADD, schema, field, self.value, placeholders)]
        name = placeholders.name(attribute_of(schema, field))
        amount = placeholders.value(operand(schema, field, self.value))
        return [Clause(SET, f"{name} = if_not_exists({name}, {placeholders.value(start)}) + {amount}")]

    def apply(self, current: Any) -> Any:
        if current is None:
            return self.value
        return current | self.value if isinstance(self.value, AbstractSet) else current + self.value

    def needs_value(self, schema: Schema[Any], field: str) -> bool:
        if schema.codec.by_name[field].also:
            raise Unsupported(f"{schema.name}.{field}: {self!r}: the field is stored in several forms; set it instead")
        return isinstance(self.value, AbstractSet) and _default(schema, field) is not None


class Delete(Operator):
    word = "delete"

    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        return [_clause(DELETE, schema, field, self.value, placeholders)]

    def apply(self, current: Any) -> Any:
        return current - self.value if current else current

    def needs_value(self, schema: Schema[Any], field: str) -> bool:
        return _default(schema, field) is not None


class Append(Operator):
    word = "append"

    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        name = placeholders.name(attribute_of(schema, field))
        start = placeholders.value(_default(schema, field) or {"L": []})
        more = placeholders.value(operand(schema, field, self.value))
        return [Clause(SET, f"{name} = list_append(if_not_exists({name}, {start}), {more})")]

    def apply(self, current: Any) -> Any:
        return type(self.value)([*(current or ()), *self.value])


class IfNotExists(Operator):
    word = "if_not_exists"

    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        name = placeholders.name(attribute_of(schema, field))
        value = operand(schema, field, self.value)
        # A default is a value, too.
        return [Clause(SET, f"{name} = if_not_exists({name}, {placeholders.value(_default(schema, field) or value)})")]

    def apply(self, current: Any) -> Any:
        return self.value if current is None or current in (set(), frozenset()) else current


class Remove(Operator):
    """Removes an element of a list, or a key of a dict."""

    word = "remove"

    def __init__(self) -> None:
        super().__init__(None)

    def __repr__(self) -> str:
        return "remove()"

    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        return [Clause(REMOVE, placeholders.name(schema.codec.by_name[field].attribute))]

    def tests(self, _schema: Schema[Any], _field: str, _placeholders: Placeholders) -> list[str]:
        return []

    def applies_to(self, _value: Value | None) -> bool:
        return True

    def apply(self, _current: Any) -> Any:
        """Of a whole field, there is no value to remove."""
        return None


def _default(schema: Schema[Any], field: str) -> Value | None:
    """What the item shows if the row lacks the attribute, encoded; None for None, an empty set and no default."""
    default = schema.codec.if_absent(field)
    return None if default is NODEFAULT else shown_value(schema, field, default)


def _clause(section: str, schema: Schema[Any], field: str, value: Any, placeholders: Placeholders) -> Clause:
    value = placeholders.value(operand(schema, field, value))
    return Clause(section, f"{placeholders.name(attribute_of(schema, field))} {value}")


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
            made.append(Clause(REMOVE, path) if value is None else Clause(SET, f"{path} = {inside.value(value)}"))
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
                current = _changed(current, self.places[steps].keys, change)
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


def _changed(value: Any, steps: tuple[Any, ...], change: Any) -> Any:
    """A copy with a change. Raises LookupError if there is nothing that contains the place."""
    if isinstance(change, Remove) and len(steps) == 1:
        return _without(value, steps[0])
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


def _without(value: Any, step: Any) -> Any:
    """A copy without an element of a list, or a key of a dict."""
    if isinstance(value, dict):
        return {name: each for name, each in value.items() if name != step}
    if not isinstance(value, list | tuple) or step >= len(value):
        raise LookupError(step)
    return type(value)([*value[:step], *value[step + 1 :]])


class FieldChange(Mapping[str, Any]):
    """The change of one field: a mapping with one entry, for `update` alone or in a list."""

    def __init__(self, name: str, change: Any) -> None:
        self._name = name
        self._change = change

    def __getitem__(self, name: str) -> Any:
        if name != self._name:
            raise KeyError(name)
        return self._change

    def __iter__(self) -> Iterator[str]:
        yield self._name

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"{{{self._name}: {self._change!r}}}"


Changes = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Changes of an item: a mapping from fields, or places in them, to values; or a list of such mappings, and of what the
methods of `sk.F` return."""


def by_name(schema: Schema[Any], changes: Changes) -> dict[str, Any]:
    """The changes of one or several mappings. Raises UnknownField for fields of another class."""
    found: dict[str, Any] = {}
    given: Any = changes if isinstance(changes, list | tuple) else [changes]
    for mapping in given:
        # A test for an abstract class takes as long as all others here.
        if type(mapping) is not dict and not isinstance(mapping, Mapping):
            raise TypeError(
                f"changes are {{'stock': 3}}, sk.F(Product.stock).set(3), or a list of such; not {mapping!r}"
            )
        for name, change in mapping.items():
            reject_foreign(name, schema)
            if type(change) is FieldChange:
                raise TypeError(
                    f"{name}: a change is an element of the list, not a value: [sk.F(…).{change[next(iter(change))]!r}]"
                )
            if name in found:
                raise ValueError(f"{schema.name}: {name} changes twice")
            if name in schema.set_by_sessions:
                raise _set_by_session(schema, name)
            found[name] = change
    return found


def _set_by_session(schema: Schema[Any], name: str) -> EncodeError:
    if name == schema.revision:
        return EncodeError(f"{schema.name}.{name}: every write raises it by itself (sk.version); leave it out")
    inputs = next(field.inputs for field in schema.computed if field.name == name)
    return EncodeError(f"{schema.name}.{name}: follows from {', '.join(inputs)} (sk.computed); change those instead")


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
        if field in schema.set_by_sessions:
            raise _set_by_session(schema, field)
        found[field] = PlaceChanges(schema, field, inside)
    return found
