"""The converter of a union, `str | int` or `Circle | Square`.

A stored value must say which member it is: by its attribute type, or, of several structs, by their tags, which are
msgspec's (`class Circle(msgspec.Struct, tag=True)`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sortkey.model.errors import DeclarationError, DecodeError, EncodeError
from sortkey.model.fields.converter import Converter, Value, wrong_type
from sortkey.model.fields.records import Tag, is_record, tag_of

_SETS: Final = frozenset({"SS", "NS", "BS"})


class UnionMember(NamedTuple):
    base: Any
    converter: Converter

    @property
    def name(self) -> str:
        return getattr(self.base, "__name__", str(self.base))

    @property
    def tag(self) -> Tag | None:
        return tag_of(self.base) if is_record(self.base) else None


def union_converter(members: Sequence[UnionMember]) -> Converter:
    by_type: dict[str, list[UnionMember]] = {}
    for member in members:
        if member.converter.tag in _SETS:
            raise DeclarationError(f"{member.name} cannot be in a union: an empty set is stored as NULL")
        if not member.converter.tag:
            raise DeclarationError(f"{member.name} cannot be in a union: it can hold what the others are stored as")
        by_type.setdefault(member.converter.tag, []).append(member)
    converters = {tag: _same_type(tag, found) for tag, found in by_type.items()}
    if len(converters) == 1:
        (converter,) = converters.values()
        return converter
    return _by_attribute_type(" or ".join(member.name for member in members), converters)


def _by_attribute_type(names: str, converters: dict[str, Converter]) -> Converter:
    def encode(value: Any) -> Value:
        reasons = []
        for converter in converters.values():
            try:
                return converter.encode(value)
            except EncodeError as error:
                reasons.append(str(error))
        raise EncodeError(f"expected {names}, got {type(value).__name__} {value!r} ({'; '.join(reasons)})")

    def decode(value: Value) -> Any:
        for tag in value:
            if tag in converters:
                return converters[tag].decode(value)
        raise DecodeError(f"expected {' or '.join(converters)}")

    return Converter(encode, decode, "", decode)


def _same_type(tag: str, members: list[UnionMember]) -> Converter:
    """The converter of the members with one attribute type."""
    if len(members) == 1:
        return members[0].converter
    names = " and ".join(member.name for member in members)
    tags = [member.tag for member in members]
    if None in tags:
        raise DeclarationError(
            f"{names} are all stored as {tag}, so a row would not say which it is; "
            f"declare one of them, or structs with tags: class A(msgspec.Struct, tag=True)"
        )
    if len({each.attribute for each in tags if each is not None}) > 1 or len(set(tags)) < len(tags):
        raise DeclarationError(f"{names} must have different tags in one tag_field")
    return _by_tag(names, {each: member for each, member in zip(tags, members, strict=True) if each is not None})


def _by_tag(names: str, members: dict[Tag, UnionMember]) -> Converter:
    attribute = next(iter(members)).attribute
    of_class = {member.base: member.converter.encode for member in members.values()}
    of_tag = {_identity(tag.value): member.converter.read for tag, member in members.items()}

    def encode(value: Any) -> Value:
        made = of_class.get(type(value))
        if made is None:
            raise wrong_type(names.replace(" and ", " or "), value)
        return made(value)

    def read(row: dict[str, Value]) -> Any:
        found = row.get(attribute)
        reader = None if found is None else of_tag.get(_identity(found))
        if reader is None:
            raise DecodeError(f"{attribute} is {found!r}, not that of {names.replace(' and ', ' or ')}")
        return reader(row)

    return Converter(encode, lambda value: read(value["M"]), "M", read)


def _identity(value: Value) -> tuple[str, Any]:
    ((tag, content),) = value.items()
    return tag, content
