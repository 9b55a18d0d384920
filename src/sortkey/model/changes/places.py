"""Places inside a field: `address.city`, `lines[0].quantity`, `counts.monday`.

A place is a field and the steps into it: fields of nested structs, keys of dicts and numbers of list elements. What
`sk.F(Shop.counts)["a.b"]` names has steps with any text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, get_args, get_origin, is_typeddict

import msgspec

from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.errors import UnknownField, unknown_field
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.codec import Codec, Field, codec_of
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.fields.records import is_record, record_class
from sortkey.model.fields.type_converter import dict_keys
from sortkey.model.fields.typed_dicts import typed_dict
from sortkey.model.items.schema import Schema

Step = str | int
Steps = tuple[Step, ...]

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_PLACE: Final = re.compile(rf"([^.\[\]]+)((?:{_STEP.pattern})*)")


class PlaceName(str):
    """A place whose steps may have any text."""

    __slots__ = ("owner", "parsed")

    parsed: tuple[str, Steps]
    owner: type | None
    """The class that declares the field; None if it is not known."""


def place_of(owner: type | None, field: str, steps: Steps) -> PlaceName:
    name = PlaceName(place_text(field, steps))
    name.owner = owner
    name.parsed = field, steps
    return name


def reject_foreign(name: str, schema: Schema[Any]) -> None:
    """Raises UnknownField for a field of another class, which may have the same name."""
    owner = name.owner if isinstance(name, PlaceName) else None
    if owner is not None and not issubclass(schema.owner, owner):
        raise UnknownField(f"{owner.__name__}.{name} is not a field of {schema.name}")


def parse_place(name: str, schema: Schema[Any] | None) -> tuple[str, Steps]:
    """The field and the steps into it. Raises UnknownField for a text that is not a place, and for a place in another
    class than the schema's."""
    if schema is not None:
        reject_foreign(name, schema)
    if isinstance(name, PlaceName):
        return name.parsed
    if not isinstance(name, str):
        raise TypeError(f"a mapping names fields by texts, such as {{'stock': 3}}, not by {name!r}")
    match = _PLACE.fullmatch(name)
    if match is None:
        raise UnknownField(f"{name!r} is neither a field nor a place in one, such as 'address.city' or 'lines[0].text'")
    return match[1], tuple(key or int(index) for key, index in _STEP.findall(match[2]))


def place_text(field: str, steps: Steps) -> str:
    return field + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


class Fields:
    """What conditions and operators need to know of a struct, in the place of a schema."""

    def __init__(self, name: str, codec: Any) -> None:
        self.name = name
        self.codec = codec


class ElementCodec:
    """The codec of a dict's value or a list's element: None and the empty set are stored as NULL."""

    def __init__(self, annotation: Any, *, is_required: bool = False) -> None:
        self.is_required = is_required
        """Whether it is a key that a TypedDict requires."""
        self._codec = codec_of(msgspec.defstruct("Element", [("element", annotation)]))

    @property
    def by_name(self) -> Mapping[str, Field]:
        return self._codec.by_name

    def encode_field(self, name: str, value: Any, *, check: bool = False) -> Value | None:
        made = self._codec.encode_field(name, value, check=check)
        return dict(NULL) if made is None else made

    def if_absent(self, _name: str) -> Any:
        return msgspec.NODEFAULT


class Place(NamedTuple):
    """A place, found in the declarations."""

    stored: Steps
    """The steps as they are stored: attribute names instead of field names."""
    fields: Any
    """The `Fields` that its last step belongs to; conditions and operators take it for a schema."""
    name: str
    """Its field in `fields`."""
    keys: tuple[Any, ...] = ()
    """The steps as the item has them: the members of an Enum that are the keys of a dict."""

    @property
    def parent_type(self) -> str:
        """The attribute type that the value around it must have."""
        return "L" if isinstance(self.stored[-1], int) else "M"


def find_place(schema: Schema[Any], field: str, steps: Steps) -> Place:
    """Raises UnknownField if the declarations have no such place."""
    annotation = schema.codec.by_name[field].annotation
    stored: list[Step] = []
    keys: list[Any] = []
    fields, name = Fields(schema.name, schema.codec), field
    for depth, step in enumerate(steps):
        around = f"{schema.name}.{place_text(field, steps[:depth])}"
        fields, name, attribute = _enter(annotation, step, around)
        keys.append(_key(annotation, step, around))
        stored.append(attribute)
        annotation = fields.codec.by_name[name].annotation
    return Place(tuple(stored), fields, name, tuple(keys))


def _key(annotation: Annotation, step: Step, around: str) -> Any:
    """The step as the item has it."""
    names = dict_keys(get_args(annotation.base)[0]) if get_origin(annotation.base) is dict else None
    if names is None:
        return step
    for key, text in names.items():
        if text == step:
            return key
    raise UnknownField(f"{around} has the keys {', '.join(names.values())}, and not {step!r}")


def _enter(annotation: Annotation, step: Step, around: str) -> tuple[Fields, str, Step]:
    base, origin = annotation.base, get_origin(annotation.base)
    if base is Any:
        return Fields(around, ElementCodec(Any)), "element", step
    if is_record(base) and isinstance(step, str):
        codec: Codec = codec_of(base)
        if step not in codec.by_name:
            raise unknown_field(base.__name__, step, codec.by_name)
        return Fields(base.__name__, codec), step, codec.by_name[step].attribute
    if is_typeddict(record_class(base)) and isinstance(step, str):
        members = typed_dict(base)
        if step not in members.types:
            raise unknown_field(record_class(base).__name__, step, members.types)
        element = ElementCodec(members.types[step], is_required=step in members.required)
        return Fields(around, element), "element", step
    if origin is dict and isinstance(step, str):
        return Fields(around, ElementCodec(get_args(base)[1])), "element", step
    if origin is list and isinstance(step, int):
        return Fields(around, ElementCodec(get_args(base)[0])), "element", step
    if origin is tuple and isinstance(step, int):
        return Fields(around, ElementCodec(_member(get_args(base), step, around))), "element", step
    shown = f"[{step}]" if isinstance(step, int) else f".{step}"
    raise UnknownField(f"{around} is {getattr(base, '__name__', base)}, so it has no {shown}")


def _member(members: tuple[Any, ...], index: int, around: str) -> Any:
    """The type of a tuple's element."""
    if members[1:] == (Ellipsis,):
        return members[0]
    if index < len(members):
        return members[index]
    raise UnknownField(f"{around} has {len(members)} elements, so it has no [{index}]")


class PlacePlaceholders(Placeholders):
    """Placeholders whose names are places inside one attribute: `#n0.#n1[0]`."""

    def __init__(self, outer: Placeholders, attribute: str, stored: Steps) -> None:
        self._outer = outer
        self._path = (attribute, *stored)

    def name(self, _attribute: str) -> str:
        return self.text(len(self._path))

    def value(self, value: Value) -> str:
        return self._outer.value(value)

    def text(self, length: int) -> str:
        """The path of the place, or of one around it."""
        names = [f"[{step}]" if isinstance(step, int) else f".{self._outer.name(step)}" for step in self._path[:length]]
        return "".join(names).removeprefix(".")

    @property
    def around(self) -> str:
        """The path of the value that contains the place."""
        return self.text(len(self._path) - 1)


def stored_at(value: Value | None, stored: Steps) -> Value | None:
    """The attribute value at a place of another; None if there is none."""
    for step in stored:
        if value is None:
            return None
        if isinstance(step, int):
            elements = value.get("L", [])
            value = elements[step] if step < len(elements) else None
        else:
            value = value.get("M", {}).get(step)
    return value


def key_in(value: dict[Any, Any], step: Any) -> Any:
    """The key of a dict that a step names: it may be the member of an Enum, whose value is the step."""
    if step in value:
        return step
    return next((key for key in value if isinstance(key, Enum) and key.value == step), step)


def value_at(value: Any, steps: Steps) -> Any:
    """The value at a place of a field's value; None if there is none."""
    for step in steps:
        if value is None:
            return None
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        elif isinstance(value, dict):
            value = value.get(key_in(value, step))
        else:
            value = getattr(value, step) if is_record(type(value)) else None
    return value
