"""The converters of lists, tuples, dicts and sets.

    list[X], tuple[X, …], tuple[X, Y] L · dict[str, X] M · set, frozenset SS, NS or BS

None inside a list or map is NULL. So is an empty set, which DynamoDB does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, get_origin

from sortkey.model.errors import DeclarationError
from sortkey.model.fields.annotation import Annotation, parse_annotation
from sortkey.model.fields.converter import Converter, Value, content_converter, set_content, wrong_type

ConverterOf = Callable[[Any], Converter]
"""The converter of an annotation."""


def is_set(annotation: Annotation) -> bool:
    return get_origin(annotation.base) in (set, frozenset)


def _list(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    encode_one, decode_one = of(arguments[0])[:2]

    def encode(values: Any) -> Value:
        if not isinstance(values, list):
            raise wrong_type("list", values)
        return {"L": [encode_one(value) for value in values]}

    return content_converter(encode, "L", lambda content: [decode_one(each) for each in content])


def _tuple(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _tuple_of_any_length(arguments[0], of)
    members = [of(argument)[:2] for argument in arguments]
    wanted = f"tuple with {len(members)} elements"

    def encode(values: Any) -> Value:
        if not isinstance(values, tuple) or len(values) != len(members):
            raise wrong_type(wanted, values)
        return {"L": [encode_one(value) for (encode_one, _), value in zip(members, values, strict=True)]}

    def read(content: Any) -> tuple[Any, ...]:
        if len(content) != len(members):
            raise ValueError(f"expected {len(members)} elements, found {len(content)}")
        return tuple(decode_one(each) for (_, decode_one), each in zip(members, content, strict=True))

    return content_converter(encode, "L", read)


def _tuple_of_any_length(argument: Any, of: ConverterOf) -> Converter:
    encode_one, decode_one = of(argument)[:2]

    def encode(values: Any) -> Value:
        if not isinstance(values, tuple):
            raise wrong_type("tuple", values)
        return {"L": [encode_one(value) for value in values]}

    return content_converter(encode, "L", lambda content: tuple(decode_one(each) for each in content))


def _map(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    if parse_annotation(arguments[0]).base is not str:
        raise DeclarationError(f"the keys of a dict must be str, not {arguments[0]}")
    encode_one, decode_one = of(arguments[1])[:2]

    def encode(values: Any) -> Value:
        if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
            raise wrong_type("dict with keys of type str", values)
        return {"M": {name: encode_one(value) for name, value in values.items()}}

    return content_converter(encode, "M", lambda content: {name: decode_one(each) for name, each in content.items()})


def _set(arguments: tuple[Any, ...], of: ConverterOf, *, make: type) -> Converter:
    member = parse_annotation(arguments[0])
    encode_one, _, inner, read_one = of(arguments[0])
    if member.optional or inner not in ("S", "N", "B"):
        raise DeclarationError(f"a set has strings, numbers or binaries, not {arguments[0]}")
    tag = f"{inner}S"

    def encode(values: Any) -> Value:
        if not isinstance(values, set | frozenset):
            raise wrong_type("set", values)
        return {tag: set_content((encode_one(value)[inner] for value in values), inner)} if values else {"NULL": True}

    def collect(content: Any) -> Any:
        return make(content if read_one is None else map(read_one, content))

    return Converter(encode, lambda value: make() if "NULL" in value else collect(value[tag]), tag, collect)


def _mutable_set(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    return _set(arguments, of, make=set)


def _frozen_set(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    return _set(arguments, of, make=frozenset)


CONTAINERS: Final[dict[Any, Callable[[tuple[Any, ...], ConverterOf], Converter]]] = {
    list: _list,
    tuple: _tuple,
    dict: _map,
    set: _mutable_set,
    frozenset: _frozen_set,
}
