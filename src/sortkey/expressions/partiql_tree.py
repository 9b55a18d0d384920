"""A PartiQL statement as data that depends only on its text.

Conditions, paths and update actions are those of `tree`. A statement's literals and parameters become its placeholders
`:0`, `:1`, …: a literal with `?` inside, such as `[1, ?]`, is a template, which each request fills.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.tree import Action, Condition, Path
from sortkey.values.attribute import AttributeValue, Item, normalise_value, type_of

Returning = Literal["ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]
"""As UpdateItem's ReturnValues; MODIFIED is UPDATED."""

PARAMETERS = "Number of parameters in request and statement don't match."
MIXED_SET = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
_SETS = {"S": "SS", "N": "NS"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `?`, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class ListTemplate:
    elements: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class MapTemplate:
    members: Mapping[str, Template]


@dataclass(frozen=True, slots=True)
class SetTemplate:
    elements: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    value: AttributeValue


Template = Parameter | Scalar | ListTemplate | MapTemplate | SetTemplate


def fill(template: Template, parameters: Sequence[AttributeValue]) -> AttributeValue:
    """The value of a template."""
    match template:
        case Scalar():
            return template.value
        case Parameter():
            if template.place >= len(parameters):
                raise ValidationException(PARAMETERS)
            return parameters[template.place]
        case ListTemplate():
            return {"L": [fill(element, parameters) for element in template.elements]}
        case MapTemplate():
            return {"M": {name: fill(member, parameters) for name, member in template.members.items()}}
        case SetTemplate():
            return _set([fill(element, parameters) for element in template.elements])


def _set(elements: list[AttributeValue]) -> AttributeValue:
    tags = {type_of(element) for element in elements}
    tag = tags.pop()
    if tags or tag not in _SETS:
        raise ValidationException(MIXED_SET)
    return {_SETS[tag]: [element[tag] for element in elements]}


@dataclass(frozen=True, slots=True)
class Order:
    """A key of ORDER BY."""

    name: str
    forward: bool


@dataclass(frozen=True, slots=True)
class Select:
    index: str | None
    paths: tuple[Path, ...] | None
    """None stands for all attributes."""
    where: Condition | None
    order: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True)
class Exists:
    """A condition check of a transaction."""

    select: Select


@dataclass(frozen=True, slots=True)
class Insert:
    item: MapTemplate


@dataclass(frozen=True, slots=True)
class Update:
    actions: tuple[Action, ...]
    where: Condition | None
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class Delete:
    where: Condition | None
    returning: Returning | None


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """Equal only to itself."""

    text: str
    table: str
    table_place: tuple[int, int]
    """Where the table's name is in the text, with its quotes."""
    body: Select | Exists | Insert | Update | Delete
    names: Mapping[str, str]
    """Of `#placeholders` in its paths."""
    values: Mapping[str, Template]
    kept: dict[Any, Any] = field(default_factory=dict)
    """What is computed from it, for `partiql_keys`."""

    @property
    def writes(self) -> bool:
        """Whether it belongs among writes; a condition check does."""
        return not isinstance(self.body, Select)

    @property
    def where(self) -> Condition | None:
        match self.body:
            case Exists(select):
                return select.where
            case Insert():
                return None
            case body:
                return body.where

    def filled(self, item: MapTemplate, parameters: Sequence[AttributeValue]) -> Item:
        """An INSERT's item for a request."""
        return {name: fill(member, parameters) for name, member in item.members.items()}

    def bind(self, parameters: Sequence[AttributeValue]) -> Bindings:
        """The statement's placeholders for a request."""
        values = {name: normalise_value(fill(template, parameters)) for name, template in self.values.items()}
        return Bindings(dict(self.names) or None, values or None)
