"""The converter of any type that a field can have.

single values (`items/converter.py`) · Enum, Literal as their values · structs, items and dataclasses M
containers (`items/containers.py`) · unions (`items/union_converter.py`) · Any, as the value is
types with a codec of the program's own, as what they are stored as (`items/stored_as.py`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from sortkey.model.errors import DeclarationError
from sortkey.model.fields.annotation import Annotation, parse_annotation
from sortkey.model.fields.constraints import Check, constraint_check
from sortkey.model.fields.containers import CONTAINERS, is_set
from sortkey.model.fields.converter import EPOCH, INEXACT, SCALARS, Converter, Value, content_converter, wrong_type
from sortkey.model.fields.records import is_record
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.fields.union_converter import UnionMember, union_converter
from sortkey.model.fields.untyped_values import untyped_converter

RecordConverter = Callable[[type], Converter]
"""Makes the converter of a nested struct or dataclass; the codec passes its own."""


def converter(annotation: Any, nested: RecordConverter) -> Converter:
    """The converter of an annotation; None is NULL if the type allows it."""
    parsed = parse_annotation(annotation)
    made = _constrained(base_converter(parsed, nested), parsed)
    if parsed.optional:
        return _nullable(made)
    return made


def base_converter(annotation: Annotation, nested: RecordConverter) -> Converter:
    """The converter of a type without None."""
    base, origin = annotation.base, get_origin(annotation.base)
    if base is float:
        if annotation.inexact:
            return INEXACT
        raise DeclarationError(
            "float cannot hold DynamoDB's decimal numbers exactly; use Decimal, or Annotated[float, sk.inexact]"
        )
    if annotation.epoch:
        if base is not datetime:
            raise DeclarationError(f"only a datetime can be stored as seconds since 1970, not {base}")
        return EPOCH
    if isinstance(base, StoredType):
        return _stored_converter(base, nested)
    if base in SCALARS:
        return SCALARS[base]
    if base is Any:
        return untyped_converter(annotation.inexact)
    if origin is Literal:
        return _choice_converter({value: value for value in get_args(base)}, nested)
    if isinstance(base, type) and issubclass(base, Enum):
        return _choice_converter({member: member.value for member in base}, nested)
    if is_record(base):
        return nested(base)
    if origin in CONTAINERS:
        return CONTAINERS[origin](get_args(base), lambda inner: converter(inner, nested))
    if origin in (Union, UnionType):
        members = [UnionMember(parse_annotation(each).base, converter(each, nested)) for each in _members(base)]
        return union_converter(members)
    raise DeclarationError(f"{base} is not a type that an item can hold; sk.stored_as stores it as one that is")


def _members(union: Any) -> Iterator[Any]:
    """The members of a union, with those of unions that have a name."""
    for member in get_args(union):
        parsed = parse_annotation(member)
        if parsed.optional and parsed.base is not Any:
            raise DeclarationError(f"{member} allows None; write None as a member of the union itself")
        if get_origin(parsed.base) in (Union, UnionType):
            yield from _members(parsed.base)
        else:
            yield member


def _constrained(made: Converter, annotation: Annotation) -> Converter:
    check = constraint_check(annotation.declared, annotation.constraints)
    return made if check is None else made._replace(encode=checked(check, made.encode))


def checked(check: Check, encode: Callable[[Any], Value]) -> Callable[[Any], Value]:
    """The encoder, for values that meet the constraints."""

    def encode_checked(value: Any) -> Value:
        # First the type: a constraint may raise for a value of another one.
        encoded = encode(value)
        check(value)
        return encoded

    return encode_checked


def _nullable(inner: Converter) -> Converter:
    encode, decode = inner[:2]
    return inner._replace(
        encode=lambda value: {"NULL": True} if value is None else encode(value),
        decode=lambda value: None if "NULL" in value else decode(value),
    )


def _stored_converter(base: StoredType, nested: RecordConverter) -> Converter:
    parsed = parse_annotation(base.codec.stored)
    if parsed.optional and base.codec.stored is not Any:
        raise DeclarationError(f"{base.codec!r}: None has no codec; make the field optional instead")
    if is_set(parsed):
        raise DeclarationError(f"{base.codec!r}: an empty set would be stored as NULL; store a list")
    encode_inner, decode_inner, tag, read_inner = converter(base.codec.stored, nested)

    def encode(value: Any) -> Value:
        return encode_inner(base.encode(value))

    def read(content: Any) -> Any:
        return base.decode(content if read_inner is None else read_inner(content))

    return Converter(encode, lambda value: base.decode(decode_inner(value)), tag, read)


def _choice_converter(values: dict[Any, Any], nested: RecordConverter) -> Converter:
    types = {type(value) for value in values.values()}
    if len(types) != 1:
        raise DeclarationError(f"{', '.join(map(repr, values))} are not of one type")
    inner = base_converter(Annotation(types.pop(), optional=False, inexact=False), nested)
    encoded = {choice: inner.encode(value) for choice, value in values.items()}
    choices = {value: choice for choice, value in values.items()}

    def encode(value: Any) -> Value:
        try:
            # A copy, since the caller may change it.
            return encoded[value].copy()
        except (KeyError, TypeError):
            raise wrong_type(f"one of {', '.join(map(repr, encoded))}", value) from None

    return content_converter(encode, inner.tag, _choice_reader(inner.read, choices))


def _choice_reader(read_value: Callable[[Any], Any] | None, choices: dict[Any, Any]) -> Callable[[Any], Any]:
    if read_value is None:
        return choices.__getitem__
    return lambda content: choices[read_value(content)]
