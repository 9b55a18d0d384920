"""The bounds of a request's members, and AWS's message for each violation.

All of them are reported at once, in the order of the service model:

    2 validation errors detected: Value 'x' at 'select' failed to satisfy constraint: Member must satisfy enum value
    set: [SPECIFIC_ATTRIBUTES, …]; Value '0' at 'limit' failed to satisfy constraint: Member must have value …

A structure in a list or a map has its own path (`keySchema.1.member.keyType`). Violations by a map's keys and values,
or by the strings in a list, are reported once for the collection. An invalid TableName is reported alone, and of
UpdateItem, only the first violation.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from sortkey.engine.requests import aws_deserialiser
from sortkey.engine.requests.shapes import (
    EMPTY_IS_ABSENT,
    JAVA_PACKAGE,
    NAME_LENGTHS,
    NAME_PATTERN,
    NAMES_TABLE,
    PARAMETER_REQUIRED,
    VALUE_HIDDEN,
    InvalidTableName,
    Member,
    MemberType,
    Shape,
    broken_name,
    detected,
    members_of,
    shown_pattern,
    table_name_of,
    violation,
)
from sortkey.errors import ValidationException


def enforce(shape: type[Shape], members: dict[str, Any]) -> None:
    """Raises ValidationException if the members, as `aws_deserialiser` returns them, violate a constraint."""
    for member in members_of(shape).values():
        if member.name not in members and _is_parameter(member):
            raise ValidationException(f"The parameter '{member.name}' is required but was not present in the request")
    for member in members_of(shape).values():
        given = members.get(member.name)
        if given == {} and EMPTY_IS_ABSENT in (member.type.meta.extra or {}):
            raise ValidationException(f"The {member.path} parameter is required for {shape.__name__}")
        if _names_table(member.type) and given:
            table_name_of(given)
    broken = list(_in_structure(shape, members, ""))
    if broken:
        raise ValidationException(detected(broken[:1] if shape.stops_at_first else broken))


def check_names(request: Shape, names: Iterable[str]) -> None:
    """Raise ValidationException, which says where in the request it is, if one of these table names is invalid."""
    try:
        for name in names:
            table_name_of(name)
    except InvalidTableName:
        members = aws_deserialiser.read(type(request), msgspec.to_builtins(request, enc_hook=list))
        raise ValidationException(detected(list(_in_structure(type(request), members, "")))) from None


def _names_table(declared: MemberType) -> bool:
    return NAMES_TABLE in (declared.meta.extra or {})


def _is_parameter(member: Member) -> bool:
    return PARAMETER_REQUIRED in (member.type.meta.extra or {})


def _in_structure(shape: type[Shape], members: dict[str, Any], prefix: str) -> Iterator[str]:
    for member in members_of(shape).values():
        path = prefix + member.path
        if member.name in members:
            yield from _in_value(member.type, members[member.name], path)
        elif member.required:
            yield violation(None, path, "Member must not be null")


def _in_value(declared: MemberType, value: Any, path: str) -> Iterator[str]:
    if value is None:
        yield violation(None, path, "Member must not be null")
        return
    for constraint in _broken(declared, value):
        if declared.meta.extra == VALUE_HIDDEN:
            yield f"Value at '{_as_in_model(path)}' failed to satisfy constraint: {constraint}"
        else:
            yield violation(_rendered(declared, value), path, constraint)
    yield from _inside(declared, value, path)


def _as_in_model(path: str) -> str:
    """`requestItems.tab.member.keys` as `RequestItems.tab.member.Keys`."""
    outer, dot, member = path.rpartition(".")
    return f"{outer[:1].upper()}{outer[1:]}{dot}{member[0].upper()}{member[1:]}"


def _inside(declared: MemberType, value: Any, path: str) -> Iterator[str]:
    if declared.is_structure:
        yield from _in_structure(declared.base, value, f"{path}.")
    elif declared.base is list:
        yield from _in_list(declared, value, path)
    elif declared.base is dict:
        yield from _in_map(declared, value, path)


def _in_list(declared: MemberType, elements: list[Any], path: str) -> Iterator[str]:
    (inner,) = declared.inner
    if any(_broken(inner, element) for element in elements if element is not None):
        yield violation(_rendered(declared, elements), path, f"Member must satisfy constraint: {_all_of(inner)}")
    for position, element in enumerate(elements, 1):
        yield from _element(inner, element, f"{path}.{position}.member")


def _in_map(declared: MemberType, entries: dict[str, Any], path: str) -> Iterator[str]:
    of_key, of_value = declared.inner
    if any(_broken(of_key, key) for key in entries):
        yield violation(_rendered(declared, entries), path, f"Map keys must satisfy constraint: {_all_of(of_key)}")
    if any(_broken(of_value, value) for value in entries.values() if value is not None):
        yield violation(_rendered(declared, entries), path, f"Map value must satisfy constraint: {_all_of(of_value)}")
    for key, value in entries.items():
        yield from _element(of_value, value, f"{path}.{key}.member")


def _element(declared: MemberType, value: Any, path: str) -> Iterator[str]:
    """Violations inside an element; those of its own bounds are reported with the collection."""
    if value is not None:
        yield from _inside(declared, value, path)
    elif declared.base is not Any:  # `values.attribute` reports nulls among attribute values
        yield violation(None, path, "Member must not be null")


def _broken(declared: MemberType, value: Any) -> list[str]:
    """The constraints of its own type that a value violates, in AWS's order."""
    meta, broken = declared.meta, []
    if _names_table(declared) and value:
        return broken_name(value)
    if declared.words and value not in declared.words:
        broken.append(f"Member must satisfy enum value set: [{', '.join(declared.words)}]")
    if meta.pattern is not None and not re.search(meta.pattern, value):
        broken.append(f"Member must satisfy regular expression pattern: {shown_pattern(meta)}")
    if meta.min_length is not None and len(value) < meta.min_length:
        broken.append(f"Member must have length greater than or equal to {meta.min_length}")
    if meta.max_length is not None and len(value) > meta.max_length:
        broken.append(f"Member must have length less than or equal to {meta.max_length}")
    if meta.ge is not None and value < meta.ge:
        broken.append(f"Member must have value greater than or equal to {meta.ge}")
    if meta.le is not None and value > meta.le:
        broken.append(f"Member must have value less than or equal to {meta.le}")
    return broken


def _all_of(declared: MemberType) -> str:
    """All constraints of a type, as AWS lists them for collections."""
    meta, parts = declared.meta, []
    if _names_table(declared):
        meta = msgspec.Meta(min_length=NAME_LENGTHS[0], max_length=NAME_LENGTHS[1], pattern=NAME_PATTERN)
    if meta.max_length is not None:
        parts.append(f"Member must have length less than or equal to {meta.max_length}")
    if meta.min_length is not None:
        parts.append(f"Member must have length greater than or equal to {meta.min_length}")
    if meta.pattern is not None:
        parts.append(f"Member must satisfy regular expression pattern: {shown_pattern(meta)}")
    return f"[{', '.join(parts)}]"


def _rendered(declared: MemberType, value: Any) -> str:
    """A value as AWS prints it: a structure with its given members, an attribute value as a class and a hash."""
    if value is None:
        return "null"
    if declared.is_structure:
        members = members_of(declared.base)
        shown = [f"{members[name].path}={_rendered(members[name].type, given)}" for name, given in value.items()]
        return f"{declared.base.__name__}({', '.join(shown)})"
    if declared.meta.title == "AttributeValue" or declared.base is Any:
        content = repr(list(value)) if isinstance(value, dict) else type(value).__name__
        return f"{JAVA_PACKAGE}.AttributeValue@{zlib.crc32(content.encode()):x}"
    if declared.base is list:
        return f"[{', '.join(_rendered(declared.inner[0], element) for element in value)}]"
    if declared.base is dict:
        return f"{{{', '.join(f'{key}={_rendered(declared.inner[1], entry)}' for key, entry in value.items())}}}"
    return str(value)
