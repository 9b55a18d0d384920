"""`sortkey explain`: the request that an access path of a module sends, and its cost.

    sortkey explain shop.models:Price.by_product
    sortkey explain 'shop.models:Price.key(store="12345", channel="ALL").after("P1")'

A key or an index without arguments is queried by its partition; a text field has its own name as example value.
Arguments must be literals; nothing else in the text is evaluated.
"""

from __future__ import annotations

import argparse
import ast
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from sortkey.cli.arguments import Parser
from sortkey.cli.messages import print_error
from sortkey.cli.user_module import NoModule, import_user_module
from sortkey.model.errors import ModelError
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import Path
from sortkey.model.paths.explain import explain

_RANGES: Final = frozenset({"between", "before", "after", "starting"})
_EXAMPLES: Final[dict[Any, Any]] = {
    int: 1,
    Decimal: Decimal(1),
    bool: True,
    bytes: b"\x01",
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
    date: date(2026, 1, 1),
    UUID: UUID(int=1),
}


class NotAPath(Exception):
    """The argument is not an access path; the message says why."""


def add_arguments(command: Parser) -> None:
    command.add_argument("path", metavar="MODULE:PATH", help="for example 'shop:Price.key(store=\"12345\")'")
    command.add_argument("--rows", metavar="N", type=int, help="number of rows that it reads")
    command.add_argument("--row-bytes", metavar="N", type=int, help="size of a row")


def run(arguments: argparse.Namespace) -> int:
    try:
        path = path_of(arguments.path)
        explained = explain(path, rows=arguments.rows, row_bytes=arguments.row_bytes)
    except (NotAPath, NoModule, ModelError) as error:
        return print_error("explain", str(error))
    sys.stdout.write(f"{explained}\n")
    return 0


def path_of(text: str) -> Path[Any]:
    """The access path that a text describes. Raises NotAPath, NoModule, or ModelError where the key cannot
    serve it."""
    module_name, colon, expression = text.partition(":")
    if not colon or not expression:
        raise NotAPath(f"{text!r} is not MODULE:PATH")
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise NotAPath(f"{expression!r} is not an access path") from None
    found = _value(import_user_module(module_name), tree)
    if isinstance(found, BoundKey):
        found = found(**_examples(found))
    if not isinstance(found, Path):
        raise NotAPath(f"{expression!r} is not a key, an index or an access path; it is a {type(found).__name__}")
    return found


def _value(module: Any, tree: ast.expr) -> Any:
    """Names, attributes, and calls of keys and of their ranges."""
    match tree:
        case ast.Name(id=name):
            return _attribute(module, name)
        case ast.Attribute(value=owner, attr=name):
            return _attribute(_value(module, owner), name)
        case ast.Call(func=function, args=positional, keywords=keywords):
            called = _value(module, function)
            path = getattr(called, "__self__", None)
            ranges = isinstance(path, Path) and getattr(called, "__name__", "") in _RANGES
            if not isinstance(called, BoundKey) and not ranges:
                raise NotAPath(f"{ast.unparse(function)!r} is not a key, an index or a range")
            return called(*map(_literal, positional), **{str(each.arg): _literal(each.value) for each in keywords})
    raise NotAPath(f"{ast.unparse(tree)!r} is not an access path")


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as error:
        raise NotAPath(str(error)) from None


def _literal(tree: ast.expr) -> Any:
    try:
        return ast.literal_eval(tree)
    except ValueError:
        raise NotAPath(f"{ast.unparse(tree)!r} is not a literal") from None


def _examples(key: BoundKey[Any]) -> dict[str, Any]:
    """A value for each field of the partition."""
    fields = key.layout.partition_fields
    annotations = key.schema.codec.annotations(set(fields))
    return {name: _example(name, annotations[name].base) for name in fields}


def _example(name: str, field_type: Any) -> Any:
    if field_type is str:
        return name
    if field_type in _EXAMPLES:
        return _EXAMPLES[field_type]
    raise NotAPath(f"{name} has no example value; give one: KEY({name}=…)")
