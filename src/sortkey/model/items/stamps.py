"""Times that sessions write by themselves: when an item was created, and when it was last written.

    created: Annotated[datetime | None, sk.created] = None
    updated: Annotated[datetime | None, sk.updated] = None

A put sets `updated`, and `created` if the item has none: an item that was read keeps its own. An update sets `updated`
alone. None is what an item shows that was not written yet, or whose row is older than the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from sortkey.model.errors import DeclarationError
from sortkey.model.fields.annotation import Annotation, created, updated
from sortkey.model.fields.records import declared_default, replace_fields

if TYPE_CHECKING:
    from sortkey.model.fields.codec import Codec

T = TypeVar("T", bound=msgspec.Struct)


class Stamps(NamedTuple):
    """The fields of a class that sessions set, by what they mean."""

    created: tuple[str, ...]
    updated: tuple[str, ...]


def stamps_of(codec: Codec, annotations: Mapping[str, Annotation]) -> Stamps | None:
    """The stamps of a class; None if it has none. Raises DeclarationError for a field that cannot be one."""
    found = Stamps(*(tuple(name for name, each in annotations.items() if each.stamp is mark) for mark in _MARKS))
    for name in (*found.created, *found.updated):
        annotation = annotations[name]
        if annotation.declared is not datetime or not annotation.optional:
            reason = f"must be a datetime | None, not {annotation.declared}"
        elif declared_default(codec.struct, name) is not None:
            reason = "must have the default None"
        else:
            continue
        raise DeclarationError(f"{codec.struct.__name__}.{name}: a field with {annotation.stamp!r} {reason}")
    return found if found.created or found.updated else None


def stamped_item(codec: Codec, stamps: Stamps, item: T, now: datetime) -> T:
    """The item as a put at this time stores it."""
    missing = (name for name in stamps.created if getattr(item, name) is None)
    made: T = replace_fields(item, **{name: _stored(codec, name, now) for name in (*missing, *stamps.updated)})
    return made


def keep_stamps(stamps: Stamps, item: msgspec.Struct, written: msgspec.Struct) -> None:
    """Sets the item's stamps to those that were written; an item of a frozen class keeps its own."""
    if not type(item).__struct_config__.frozen:
        for name in (*stamps.created, *stamps.updated):
            setattr(item, name, getattr(written, name))


def _stored(codec: Codec, name: str, now: datetime) -> Any:
    """The time as it is read again, without the fraction that its form cannot hold."""
    field = codec.by_name[name]
    return field.decode(field.encode(now))


_MARKS = (created, updated)
