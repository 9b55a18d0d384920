"""The declared types of a request's members as data, for the modules that word AWS's errors."""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from sortkey.engine.requests.shapes import Shape

NO_BOUNDS = Meta()


class MemberType(NamedTuple):
    """One declared type: `base` is str, int, float, bool, list, dict, a `Shape`, or Any if it is checked elsewhere."""

    base: Any
    meta: Meta = NO_BOUNDS
    words: tuple[str, ...] = ()
    """The allowed values of a string, in the order of AWS's messages."""
    inner: tuple[MemberType, ...] = ()
    """The type of a list's elements, or those of a map's keys and values."""

    @property
    def is_structure(self) -> bool:
        return isinstance(self.base, type) and issubclass(self.base, Shape)


class Member(NamedTuple):
    name: str
    type: MemberType
    required: bool

    @property
    def path(self) -> str:
        """The name as AWS's messages spell it: `TableName` is `tableName`."""
        return self.name[0].lower() + self.name[1:]


@functools.cache
def members_of(shape: type[Shape]) -> dict[str, Member]:
    """The members of a structure by AWS's names, in the order of the service model."""
    hints = get_type_hints(shape, include_extras=True)
    return {
        field.encode_name: Member(field.encode_name, member_type_of(hints[field.name]), field.required)
        for field in msgspec.structs.fields(shape)
    }


def member_type_of(annotation: Any, meta: Meta = NO_BOUNDS) -> MemberType:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return member_type_of(next(argument for argument in arguments if argument is not types.NoneType))
    if origin is Annotated:
        return member_type_of(arguments[0], arguments[1])
    if origin is Literal:
        return MemberType(str, meta, words=arguments)
    if origin in (list, Sequence):
        return MemberType(list, meta, inner=(member_type_of(arguments[0]),))
    if origin is dict:
        return MemberType(dict, meta, inner=(member_type_of(arguments[0]), member_type_of(arguments[1])))
    return MemberType(annotation, meta)
