"""The annotations of a structure as data, for the two modules that explain an error."""

from __future__ import annotations

import functools
import types
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from sortkey.engine.requests.shapes import Shape

NO_BOUNDS = Meta()


class Node(NamedTuple):
    """One type: `base` is str, int, float, bool, list, dict, a `Shape`, or Any for what others check."""

    base: Any
    meta: Meta = NO_BOUNDS
    words: tuple[str, ...] = ()
    """What a string may be, in the order of AWS's messages."""
    inner: tuple[Node, ...] = ()
    """The type of a list's elements, or those of a map's keys and values."""

    @property
    def is_structure(self) -> bool:
        return isinstance(self.base, type) and issubclass(self.base, Shape)


class Member(NamedTuple):
    name: str
    node: Node
    required: bool

    @property
    def path(self) -> str:
        """The name as AWS's messages spell it: `TableName` is `tableName`."""
        return self.name[0].lower() + self.name[1:]


@functools.cache
def members_of(shape: type[Shape]) -> dict[str, Member]:
    """The members of a structure by AWS's name, in the order of the service model."""
    hints = get_type_hints(shape, include_extras=True)
    return {
        field.encode_name: Member(field.encode_name, node_of(hints[field.name]), field.required)
        for field in msgspec.structs.fields(shape)
    }


def node_of(annotation: Any, meta: Meta = NO_BOUNDS) -> Node:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return node_of(next(argument for argument in arguments if argument is not types.NoneType))
    if origin is Annotated:
        return node_of(arguments[0], arguments[1])
    if origin is Literal:
        return Node(str, meta, words=arguments)
    if origin is list:
        return Node(list, meta, inner=(node_of(arguments[0]),))
    if origin is dict:
        return Node(dict, meta, inner=(node_of(arguments[0]), node_of(arguments[1])))
    return Node(annotation, meta)
