"""What `sk.patterns.bounded_rows` requires of a parent and its rows, checked at import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import NODEFAULT

from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.items.schema import Schema


def check_count(parent: Schema[Any], count: str) -> None:
    """Raises DeclarationError unless a field can count rows."""
    fields = parent.codec.by_name
    if count not in fields:
        raise DeclarationError(f"{parent.name} has no field {count!r}{suggestion(count, fields)}")
    annotation = fields[count].annotation
    if annotation.base is not int or annotation.optional:
        raise DeclarationError(f"{parent.name}.{count} counts rows, so it must be an int")
    if count in parent.primary.fields:
        raise DeclarationError(f"{parent.name}.{count} is part of the primary key, so it cannot count rows")
    default = parent.codec.if_absent(count)
    if default is not NODEFAULT and default != 0:
        raise DeclarationError(f"{parent.name}.{count} is {default} by default; a parent without rows must count 0")


def check_rows(parent: Schema[Any], child: Schema[Any]) -> None:
    """Raises DeclarationError for rows whose count could not be right."""
    if parent.owner is child.owner:
        raise DeclarationError(f"{child.name}: the parent and its rows must be of different classes")
    if child.tag is not None:
        raise DeclarationError(
            f"{child.name} has a tag: an item of another class may have the key of a row, and is not counted"
        )
    expires = child.codec.ttl_field
    if expires is not None:
        raise DeclarationError(
            f"{child.name}.{expires} lets rows expire, and {parent.name} would still count them; leave the field out"
        )


def key_sources(parent: Schema[Any], child: Schema[Any], by: Mapping[str, str]) -> dict[str, str]:
    """For each field of the parent's key, the field of the row's key that has its value. Raises DeclarationError."""
    for name in by:
        if name not in parent.primary.fields:
            raise DeclarationError(
                f"by= names {name!r}, which is not in the key of {parent.name}{suggestion(name, parent.primary.fields)}"
            )
    sources = {name: by.get(name, name) for name in parent.primary.fields}
    for name, source in sources.items():
        if source not in child.primary.fields:
            raise DeclarationError(
                f"the key of {child.name} has no {source!r}, so it does not tell the {name} of its {parent.name}; "
                f'name the field that does: by={{"{name}": …}}'
            )
        here, there = parent.codec.by_name[name].annotation.declared, child.codec.by_name[source].annotation.declared
        if here != there:
            raise DeclarationError(
                f"{parent.name}.{name} is {here}, and {child.name}.{source}, which it is taken from, is {there}"
            )
    return sources
