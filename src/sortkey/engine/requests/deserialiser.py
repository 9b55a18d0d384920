"""Reading a request that msgspec rejected, as AWS's deserialiser does: by type alone, one error at most.

What comes out holds declared members only, no nulls among them, and whole numbers where those are due: a fraction is
cut off, as Java does it. Attribute values stay as they are.
"""

from __future__ import annotations

from typing import Any

from sortkey.engine.requests.annotations import Node, members_of
from sortkey.engine.requests.shapes import JAVA_PACKAGE, Shape
from sortkey.errors import SerializationException

UNEXPECTED_TYPE = "Unexpected field type"
UNEXPECTED_MAP = "Start of structure or map found where not expected"
JAVA_NAMES = {str: "String", int: "Integer", float: "Date", bool: "Boolean"}


def read(shape: type[Shape], members: object) -> dict[str, Any]:
    """The declared members of a request; raises SerializationException at the first value of a wrong type."""
    understood: dict[str, Any] = _read(Node(shape), members)
    return understood


def _read(node: Node, value: object) -> Any:
    if node.base is Any:
        return value
    if node.base is list:
        return _read_list(node, value)
    if node.base is dict or node.is_structure:
        return _read_members(node, value)
    return _read_scalar(node, value)


def _read_list(node: Node, value: object) -> list[Any]:
    if isinstance(value, dict):
        raise SerializationException(UNEXPECTED_MAP)
    if not isinstance(value, list | tuple):
        raise SerializationException(UNEXPECTED_TYPE)
    (element,) = node.inner
    return [None if item is None else _read(element, item) for item in value]


def _read_members(node: Node, value: object) -> dict[str, Any]:
    if isinstance(value, list | tuple):
        raise SerializationException(f"Unrecognized collection type {_java_type(node)}")
    if not isinstance(value, dict):
        raise SerializationException(UNEXPECTED_TYPE)
    if node.is_structure:
        members = members_of(node.base)
        return {
            name: _read(members[name].node, member)
            for name, member in value.items()
            if name in members and member is not None
        }
    if not all(isinstance(name, str) for name in value):  # JSON cannot say so, a dictionary can
        raise SerializationException(UNEXPECTED_TYPE)
    _, entry = node.inner
    return {name: None if member is None else _read(entry, member) for name, member in value.items()}


def _read_scalar(node: Node, value: object) -> object:
    if isinstance(value, dict):
        raise SerializationException(UNEXPECTED_MAP)
    if isinstance(value, list | tuple):
        raise SerializationException(f"Unrecognized collection type {_java_type(node)}")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if node.base is int and is_number:
        return _whole(value)
    if node.base is float and is_number:
        return value
    if node.base in (str, bool) and isinstance(value, node.base):
        return value
    raise SerializationException(f"{_token(value)} cannot be converted to {_java_name(node)}")


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (OverflowError, ValueError) as error:  # infinity, not a number: only a dictionary can hold them
        raise SerializationException(UNEXPECTED_TYPE) from error


def _token(value: object) -> str:
    """What AWS's JSON parser calls a value."""
    if isinstance(value, bool):
        return "TRUE_VALUE" if value else "FALSE_VALUE"
    if isinstance(value, str):
        return "STRING_VALUE"
    if isinstance(value, int):
        return "NUMBER_VALUE"
    if isinstance(value, float):
        return "DECIMAL_VALUE"
    raise SerializationException(UNEXPECTED_TYPE)


def _java_name(node: Node) -> str:
    return node.meta.title or JAVA_NAMES[node.base]


def _java_type(node: Node) -> str:
    if node.is_structure:
        return f"class {JAVA_PACKAGE}.{node.base.__name__}"
    if node.base is dict and node.meta.title is None:
        return f"java.util.Map<java.lang.String, {_java_argument(node.inner[1])}>"
    if node.base is dict:
        return f"class {JAVA_PACKAGE}.{node.meta.title}"
    return f"class java.lang.{_java_name(node)}"


def _java_argument(node: Node) -> str:
    if node.base is Any:
        return f"{JAVA_PACKAGE}.AttributeValue"
    if node.base is list:
        return f"java.util.List<{_java_argument(node.inner[0])}>"
    return _java_type(node).removeprefix("class ")
