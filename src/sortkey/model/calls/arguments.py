"""Rejects arguments that are not access paths, keys or items, or not async functions, and names what was meant.

The calls that take microseconds test the type themselves, and call `reject_path` or `reject_key`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from inspect import iscoroutinefunction
from types import FunctionType, MethodType
from typing import Any, NoReturn

from sortkey.model.errors import DeclarationError, shown
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item
from sortkey.model.items.key import SCHEMA, WHOLE, BoundKey


def reject_path(given: object) -> NoReturn:
    """Raises TypeError for something that is not an access path."""
    raise TypeError(f"expected an access path, not {_described(given)}")


def require_path(given: object) -> None:
    if not isinstance(given, AccessPath):
        reject_path(given)


def reject_key(given: object) -> NoReturn:
    """Raises TypeError for something that is not a key."""
    shown = f"{given.name}, a path: leave out its fields" if isinstance(given, AccessPath) else _described(given)
    raise TypeError(f"expected a key, such as Order.key, not {shown}")


def require_key(given: object) -> None:
    if not isinstance(given, BoundKey):
        reject_key(given)


def require_item(given: object) -> None:
    if isinstance(given, Item):
        return
    if isinstance(given, AccessPath):
        raise TypeError(f"expected an item, not the access path {given!r}")
    raise TypeError(f"expected an item, an instance of a class with a table, not {_shown(given)}")


def require_several(given: object, wanted: str) -> None:
    """Raises TypeError for one item or one path where a list of them is wanted."""
    if not isinstance(given, Iterable):
        raise TypeError(f"expected a list of {wanted}, not {_shown(given)} alone")


def require_async(what: str, function: Any) -> None:
    """Raises DeclarationError for a function whose result cannot be awaited. What a lambda or a decorated function
    returns is not known before it is called."""
    if not callable(function):
        raise DeclarationError(f"{what} is an async function, not {shown(function)}")
    found: Any = function
    while isinstance(found, partial | MethodType):
        found = found.func if isinstance(found, partial) else found.__func__
    if not isinstance(found, FunctionType):
        found = type(found).__call__
    if isinstance(found, FunctionType) and _is_surely_sync(found):
        raise DeclarationError(
            f"{what} must be awaited: write `async def {found.__name__}`; a `def` that returns a coroutine says so by "
            f"`-> Awaitable[None]`"
        )


def _is_surely_sync(function: FunctionType) -> bool:
    if iscoroutinefunction(function) or function.__name__ == "<lambda>" or hasattr(function, "__wrapped__"):
        return False
    returned = function.__annotations__.get("return", "")
    return not any(name in str(returned) for name in ("Awaitable", "Coroutine", "Future", "Task", "Any", "~"))


def _described(given: object) -> str:
    if isinstance(given, Item):
        name = type(given).__name__
        key = _key_name(type(given))
        return f"an item: use its path, {name.lower()}.{key}" if key else f"{_shown(given)}, whose class has no table"
    if isinstance(given, BoundKey):
        return f"the key {given.name}: call it with fields, {_call(given)}"
    key = _key_name(given) if isinstance(given, type) else None
    if key is not None:
        bound: BoundKey[Any] = getattr(given, key)
        return f"the class {bound.schema.name}: call one of its keys with fields, such as {_call(bound)}"
    return _shown(given)


def _key_name(cls: Any) -> str | None:
    """The name of a class's primary key; None if it has no table."""
    schema = vars(vars(cls).get(WHOLE, cls)).get(SCHEMA)
    return None if schema is None else schema.primary.name


def _call(key: BoundKey[Any]) -> str:
    return f"{key.name}({', '.join(f'{field}=…' for field in key.layout.partition_fields)})"


def _shown(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else f"{type(given).__name__} {given!r}"
