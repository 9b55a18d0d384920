"""Reads a request that msgspec rejected as AWS's deserialiser does: it checks types only, and stops at the first error.

The result has only declared members, no nulls among them. Fractions are cut off where an integer is declared, as in
Java; a number that the Java type cannot hold is an error. Attribute values stay as they are.
"""

from __future__ import annotations

from typing import Any

from sortkey.engine.requests.shapes import INTEGER_RANGE, JAVA_PACKAGE, LONG_RANGE, MemberType, Shape, members_of
from sortkey.errors import SerializationException
from sortkey.values.errors import UNEXPECTED_MAP, UNEXPECTED_TYPE, java_token

JAVA_NAMES = {str: "String", int: "Integer", float: "Date", bool: "Boolean"}


def read(shape: type[Shape], members: object) -> dict[str, Any]:
    """The declared members of a request; raises SerializationException at the first value of the wrong type."""
    read: dict[str, Any] = _read(MemberType(shape), members)
    return read


def _read(declared: MemberType, value: object) -> Any:
    if declared.base is Any:
        return value
    if declared.base is list:
        return _read_list(declared, value)
    if declared.base is dict or declared.is_structure:
        return _read_members(declared, value)
    return _read_scalar(declared, value)


def _read_list(declared: MemberType, value: object) -> list[Any]:
    if isinstance(value, dict):
        raise SerializationException(UNEXPECTED_MAP)
    if not isinstance(value, list | tuple):
        raise SerializationException(UNEXPECTED_TYPE)
    (element,) = declared.inner
    return [None if item is None else _read(element, item) for item in value]


def _read_members(declared: MemberType, value: object) -> dict[str, Any]:
    if isinstance(value, list | tuple):
        raise SerializationException(f"Unrecognized collection type {_java_type(declared)}")
    if not isinstance(value, dict):
        raise SerializationException(UNEXPECTED_TYPE)
    if declared.is_structure:
        members = members_of(declared.base)
        return {
            name: _read(members[name].type, member)
            for name, member in value.items()
            if name in members and member is not None
        }
    if not all(isinstance(name, str) for name in value):  # possible in a dictionary, not in JSON
        raise SerializationException(UNEXPECTED_TYPE)
    _, entry = declared.inner
    return {name: None if member is None else _read(entry, member) for name, member in value.items()}


def _read_scalar(declared: MemberType, value: object) -> object:
    if isinstance(value, dict):
        raise SerializationException(UNEXPECTED_MAP)
    if isinstance(value, list | tuple):
        raise SerializationException(f"Unrecognized collection type {_java_type(declared)}")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if declared.base is int and is_number:
        return _whole(declared, value)
    if declared.base is float and is_number:
        return value
    if declared.base in (str, bool) and isinstance(value, declared.base):
        return value
    if not isinstance(value, str | int | float):
        raise SerializationException(UNEXPECTED_TYPE)
    raise _inconvertible(declared, value)


def _whole(declared: MemberType, value: Any) -> int:
    try:
        whole = int(value)
    except (OverflowError, ValueError) as error:  # infinity or NaN: possible in a dictionary, not in JSON
        raise SerializationException(UNEXPECTED_TYPE) from error
    least, most = LONG_RANGE if declared.meta.title == "Long" else INTEGER_RANGE
    if not least <= whole <= most:
        raise _inconvertible(declared, value)
    return whole


def _inconvertible(declared: MemberType, value: str | int | float) -> SerializationException:
    return SerializationException(f"{java_token(value)} cannot be converted to {_java_name(declared)}")


def _java_name(declared: MemberType) -> str:
    return declared.meta.title or JAVA_NAMES[declared.base]


def _java_type(declared: MemberType) -> str:
    if declared.is_structure:
        return f"class {JAVA_PACKAGE}.{declared.base.__name__}"
    if declared.base is dict and declared.meta.title is None:
        return f"java.util.Map<java.lang.String, {_java_argument(declared.inner[1])}>"
    if declared.base is dict:
        return f"class {JAVA_PACKAGE}.{declared.meta.title}"
    return f"class java.lang.{_java_name(declared)}"


def _java_argument(declared: MemberType) -> str:
    if declared.base is Any:
        return f"{JAVA_PACKAGE}.AttributeValue"
    if declared.base is list:
        return f"java.util.List<{_java_argument(declared.inner[0])}>"
    return _java_type(declared).removeprefix("class ")
