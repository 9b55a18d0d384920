"""Fields that sessions set by themselves: the times of writes, and values that are computed from other fields.

    created: Annotated[datetime | None, sk.created] = None
    updated: Annotated[datetime | None, sk.updated] = None
    email_lower: Annotated[str, sk.computed("email", by=str.lower)] = ""

A put sets `updated`, computed fields, and `created` if the item has none: an item that was read keeps its own. An
update sets `updated`, and the computed fields whose inputs it changes. An item that was not written yet, or whose row
is older than the field, shows the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from sortkey.model.errors import DeclarationError, EncodeError, suggestion, type_name
from sortkey.model.fields.annotation import Annotation, created, updated
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.fields.records import declared_default, replace_fields

if TYPE_CHECKING:
    from sortkey.model.fields.codec import Codec

T = TypeVar("T", bound=msgspec.Struct)


class ComputedField(NamedTuple):
    """A field that is marked `sk.computed`."""

    cls: str
    name: str
    inputs: tuple[str, ...]
    by: Callable[..., Any]

    def value(self, values: Mapping[str, Any]) -> Any:
        """The value that follows from the inputs. Raises EncodeError for what the function raises."""
        try:
            return self.by(*(values[name] for name in self.inputs))
        except Exception as error:
            # The function is the program's, and may raise anything.
            given = ", ".join(f"{name}={values[name]!r}" for name in self.inputs)
            raise EncodeError(
                f"{self.cls}.{self.name}: cannot be computed from {given}: {type(error).__name__}: {error}"
            ) from error

    def of(self, item: msgspec.Struct) -> Any:
        return self.value({name: getattr(item, name) for name in self.inputs})


class Stamps(NamedTuple):
    """The fields of a class that sessions set, by what they mean."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    computed: tuple[ComputedField, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.created, *self.updated, *(field.name for field in self.computed))


def stamps_of(codec: Codec, annotations: Mapping[str, Annotation]) -> Stamps | None:
    """The stamps of a class; None if it has none. Raises DeclarationError for a field that cannot be one."""
    times = [tuple(name for name, each in annotations.items() if each.stamp is mark) for mark in (created, updated)]
    for name in (*times[0], *times[1]):
        annotation = annotations[name]
        if annotation.declared is not RealTypes.datetime or not annotation.optional:
            reason = f"must be a datetime | None, not {type_name(annotation.declared)}"
        elif declared_default(codec.struct, name) is not None:
            reason = "must have the default None"
        else:
            continue
        raise DeclarationError(f"{codec.struct.__name__}.{name}: a field with {annotation.stamp!r} {reason}")
    found = Stamps(times[0], times[1], _computed(codec.struct, annotations))
    return found if any(found) else None


def _computed(struct: type, annotations: Mapping[str, Annotation]) -> tuple[ComputedField, ...]:
    found = []
    for name, annotation in annotations.items():
        computes = annotation.computed
        if computes is None:
            continue
        what = f"{struct.__name__}.{name}"
        if annotation.stamp is not None or annotation.version or annotation.in_key:
            raise DeclarationError(f"{what}: a computed field has no other mark such as sk.created or sk.in_key")
        if declared_default(struct, name) is msgspec.NODEFAULT:
            raise DeclarationError(f"{what}: give a computed field a default, which an item shows until it is written")
        for each in computes.inputs:
            _check_input(struct, annotations, what, each)
        found.append(ComputedField(struct.__name__, name, computes.inputs, computes.by))
    return tuple(found)


def _check_input(struct: Any, annotations: Mapping[str, Annotation], what: str, name: str) -> None:
    names = struct.__struct_fields__
    if name not in names:
        raise DeclarationError(f"{what}: there is no field {name!r} to compute it from{suggestion(name, names)}")
    annotation = annotations.get(name)
    if annotation is None:
        # Its type is not defined yet; only the marks matter here, and other marks need no types.
        return
    if annotation.stamp is not None or annotation.version or annotation.computed is not None:
        raise DeclarationError(f"{what}: cannot be computed from {name}, which sessions set themselves")


def computed_item(computed: tuple[ComputedField, ...], item: T) -> T:
    """The item with current computed fields."""
    made: T = replace_fields(item, **{field.name: field.of(item) for field in computed})
    return made


def stamped_item(codec: Codec, stamps: Stamps, item: T, now: datetime) -> T:
    """The item as a put at this time stores it."""
    missing = (name for name in stamps.created if getattr(item, name) is None)
    values = {name: _stored(codec, name, now) for name in (*missing, *stamps.updated)}
    for field in stamps.computed:
        values[field.name] = field.of(item)
    made: T = replace_fields(item, **values)
    return made


def keep_stamps(stamps: Stamps, item: msgspec.Struct, written: msgspec.Struct) -> None:
    """Sets the item's stamps to those that were written; an item of a frozen class keeps its own."""
    if not type(item).__struct_config__.frozen:
        for name in stamps.names:
            setattr(item, name, getattr(written, name))


def _stored(codec: Codec, name: str, now: datetime) -> Any:
    """The time as it is read again, without the fraction that its form cannot hold."""
    field = codec.by_name[name]
    return field.decode(field.encode(now))
