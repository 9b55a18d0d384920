"""`sortkey explain`: what an access path of a module would send, and what that costs.

    sortkey explain shop.models:Price.by_product
    sortkey explain 'shop.models:Price.key(store="12345", channel="ALL").after("P1")'

A key or an index that is not called is asked by its partition, with the names of the fields in the place of values
where they are texts. Arguments are literals; nothing else of the text is evaluated.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from rich.console import Console

from sortkey.cli.arguments import Commands
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
    """The argument names no access path; the message says why."""


def add_to(commands: Commands) -> None:
    command = commands.add_parser("explain", help="show an access path's request and cost")
    command.add_argument("path", metavar="MODULE:PATH", help="such as 'shop:Price.key(store=\"12345\")'")
    command.add_argument("--rows", metavar="N", type=int, help="how many rows it reads")
    command.add_argument("--row-bytes", metavar="N", type=int, help="how large they are")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        path = path_of(arguments.path)
        explained = explain(path, rows=arguments.rows, row_bytes=arguments.row_bytes)
    except (NotAPath, ModelError) as error:
        sys.stderr.write(f"sortkey explain: {error}\n")
        return 2
    Console(highlight=False, markup=False, soft_wrap=True).print(str(explained))
    return 0


def path_of(text: str) -> Path[Any]:
    """The access path that a text names. Raises NotAPath, or ModelError where the key cannot answer."""
    module_name, colon, expression = text.partition(":")
    if not colon or not expression:
        raise NotAPath(f"{text!r} is not MODULE:PATH")
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise NotAPath(f"{expression!r} is not written as an access path is") from None
    # As `python -m` has it: modules of the current folder are found.
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise NotAPath(f"there is no module {module_name!r}: {error}") from None
    finally:
        sys.path.pop(0)
    found = _value(module, tree)
    if isinstance(found, BoundKey):
        found = found(**_examples(found))
    if not isinstance(found, Path):
        raise NotAPath(f"{expression!r} is no key, index or access path, but {type(found).__name__}")
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
                raise NotAPath(f"{ast.unparse(function)!r} is no key or index, nor a range of one")
            return called(*map(_literal, positional), **{str(each.arg): _literal(each.value) for each in keywords})
    raise NotAPath(f"{ast.unparse(tree)!r} is not written as an access path is")


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as error:
        raise NotAPath(str(error)) from None


def _literal(tree: ast.expr) -> Any:
    try:
        return ast.literal_eval(tree)
    except ValueError:
        raise NotAPath(f"{ast.unparse(tree)!r} is no literal") from None


def _examples(key: BoundKey[Any]) -> dict[str, Any]:
    """A value for each field of the partition."""
    fields = key.layout.partition_fields
    kinds = key.schema.codec.kinds(set(fields))
    return {name: _example(name, kinds[name].base) for name in fields}


def _example(name: str, kind: Any) -> Any:
    if kind is str:
        return name
    if kind in _EXAMPLES:
        return _EXAMPLES[kind]
    raise NotAPath(f"there is no example of {name}; give one, as in KEY({name}=…)")
