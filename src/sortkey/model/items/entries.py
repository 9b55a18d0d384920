"""Entries: named structs of one class inside an item, each stored as its own attribute.

    class Shelf(sk.Item, table="shelves"):
        shelf: str
        books = sk.Entries(Book, "book:")
        key = sk.Key("{shelf}")

A map's entry can only be written if the map exists, so the first write needs a read or a retry. An attribute needs
nothing: one write creates the item or changes it, and writes of different entries do not conflict (`put_entry`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, overload

import msgspec

from sortkey.model.errors import DeclarationError, DecodeError, EncodeError, unknown_field
from sortkey.model.fields.codec import (
    Row,
    codec_of,
    extra,
    record_converter,
    set_extra,
    set_stored_forms,
    stored_forms,
)
from sortkey.model.fields.converter import Converter, Value

E = TypeVar("E", bound=msgspec.Struct)
ItemT = TypeVar("ItemT", bound=msgspec.Struct)


class Assignment(NamedTuple):
    """One entry as an attribute, and its field that orders versions."""

    attribute: str
    value: Value
    newer_by: str
    entry: Any
    read: Callable[[Value], Any]
    """The entry of another value of the attribute. Raises DecodeError."""


class Entries(Generic[E]):
    """Entries of an item class: `books = sk.Entries(Book, "book:")`. `item.books` is a dict of the entries by name."""

    def __init__(self, struct: type[E], prefix: str) -> None:
        if not prefix:
            raise DeclarationError(f"entries of {struct.__name__} need a prefix for their attributes")
        codec_of(struct)
        self.struct = struct
        self.prefix = prefix
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Entries[E]: ...

    @overload
    def __get__(self, instance: msgspec.Struct, owner: type) -> dict[str, E]: ...

    def __get__(self, instance: msgspec.Struct | None, owner: type) -> Entries[E] | dict[str, E]:
        return self if instance is None else self.of(extra(instance))

    def of(self, attributes: Row) -> dict[str, E]:
        """Decodes the entries among a row's attributes."""
        prefix, decode = self.prefix, self._converter.decode
        found: dict[str, E] = {}
        for name, value in attributes.items():
            if name.startswith(prefix):
                try:
                    found[name[len(prefix) :]] = decode(value)
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    raise DecodeError(f"{self.name}[{name[len(prefix) :]!r}]: {value!r}: {error}") from error
        return found

    def attribute(self, name: str) -> str:
        if not name:
            raise EncodeError(f"{self.name}: the name of an entry is empty")
        return self.prefix + name

    def assignment(self, name: str, entry: E, newer_by: str) -> Assignment:
        fields = codec_of(self.struct).by_name
        if newer_by not in fields:
            raise unknown_field(self.struct.__name__, newer_by, fields)
        attribute, value = self.attribute(name), self._converter.encode(entry)
        # The name may know its class; conditions on an entry know only its fields.
        order = fields[newer_by].name
        return Assignment(attribute, value, order, entry, lambda stored: self.of({attribute: stored})[name])

    def replaced(self, item: ItemT, entries: Mapping[str, E]) -> ItemT:
        """A copy of the item with exactly these entries."""
        encode = self._converter.encode
        kept = {name: value for name, value in extra(item).items() if not name.startswith(self.prefix)}
        made = msgspec.structs.replace(item)
        set_extra(made, kept | {self.attribute(name): encode(entry) for name, entry in entries.items()})
        set_stored_forms(made, stored_forms(item))
        return made

    @cached_property
    def _converter(self) -> Converter:
        return record_converter(self.struct)


def reject_overlaps(owner: type, attributes: frozenset[str]) -> None:
    """Rejects a prefix that another attribute or prefix starts with."""
    declared: list[Entries[Any]] = [each for base in owner.__mro__ for each in vars(base).values() if _is_entries(each)]
    for entries in declared:
        others = {*attributes, *(each.prefix for each in declared if each is not entries)}
        taken = sorted(name for name in others if name.startswith(entries.prefix))
        if taken:
            raise DeclarationError(f"{owner.__name__}.{entries.name}: {taken[0]!r} also starts with {entries.prefix!r}")


def _is_entries(value: object) -> bool:
    return isinstance(value, Entries)
