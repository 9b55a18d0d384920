"""`sortkey explain`: the request that an access path of a module sends, and its cost; or the one that a PartiQL
statement stands for.

    sortkey explain shop.models:Price.by_product
    sortkey explain 'shop.models:Price.key(store="12345", channel="ALL").after("P1")'

    sortkey explain 'shop.models:Visit.key(id="6ba7b810-9dad-11d1-80b4-00c04fd430c8", kind="SHORT").after("2026-01-04")'

    sortkey explain --statement "SELECT * FROM prices WHERE store = '12345'" --store ./data

A key or an index without arguments is queried by its partition; a text field has its own name as example value.
Arguments are literals; a text becomes what its field is, such as a UUID, a date or a member of an enum. `UUID(…)`,
`date(…)`, `datetime(…)`, `Decimal(…)` and `Colour.RED` work too. Nothing else in the text is evaluated.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

import orjson
from botocore.exceptions import ClientError

from sortkey.cli.arguments import NoModule, Parser, add_store_argument, import_user_module, print_error
from sortkey.client import client, stores
from sortkey.client.statements import explain_statement
from sortkey.errors import DynamoDBError
from sortkey.model.costs.explain import Explanation, explain
from sortkey.model.costs.vector_costs import VectorExplanation, explain_search
from sortkey.model.errors import ModelError
from sortkey.model.fields.field_texts import NotAValue, value_of
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.key import BoundKey
from sortkey.model.items.schema import Schema
from sortkey.model.items.vector_index import BoundVectorIndex, VectorPath

_RANGES: Final = frozenset({"between", "before", "after", "starting"})
_EXAMPLES: Final[dict[Any, Any]] = {
    int: 1,
    Decimal: Decimal(1),
    bool: True,
    bytes: b"\x01",
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
    date: date(2026, 1, 1),
    time: time(12),
    UUID: UUID(int=1),
}


class NotAPath(Exception):
    """The argument is not an access path; the message says why."""


def add_arguments(command: Parser) -> None:
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("path", nargs="?", metavar="MODULE:PATH", help="such as 'shop:Price.key(store=\"12345\")'")
    which.add_argument("--statement", metavar="TEXT", help="a PartiQL statement on a table of --store")
    add_store_argument(command)
    command.add_argument("--rows", metavar="N", type=int, help="number of rows that it reads")
    command.add_argument("--row-bytes", metavar="N", type=int, help="size of a row")


def run(arguments: argparse.Namespace) -> int:
    if arguments.statement is not None:
        return _run_statement(arguments.statement, arguments.store)
    try:
        path = path_of(arguments.path)
        explained = _explained(path, arguments.rows, arguments.row_bytes)
    except (NotAPath, NotAValue, NoModule, ModelError) as error:
        return print_error("explain", str(error))
    sys.stdout.write(f"{explained}\n")
    return 0


def _run_statement(statement: str, store: str) -> int:
    try:
        stores.parse(store).require_existing()
        with client(store) as opened:
            meant = explain_statement(opened, statement)
    except (DynamoDBError, ClientError, ValueError) as error:
        return print_error("explain", str(error))
    request = orjson.dumps(meant.request, option=orjson.OPT_INDENT_2).decode()
    more = f"requests  {meant.requests}, one to each partition\n" if meant.requests > 1 else ""
    sys.stdout.write(f"{statement}\n{meant.operation} {request}\n{more}")
    return 0


def _explained(
    path: AccessPath[Any] | VectorPath[Any], rows: int | None, row_bytes: int | None
) -> Explanation | VectorExplanation:
    if isinstance(path, VectorPath):
        return explain_search(path, rows, row_bytes)
    return explain(path, rows=rows, row_bytes=row_bytes)


def path_of(text: str) -> AccessPath[Any] | VectorPath[Any]:
    """The access path that a text describes. Raises NotAPath, NotAValue, NoModule, or ModelError where the key cannot
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
    if isinstance(found, BoundVectorIndex):
        partition = found.layout.partition
        found = found(**_examples_of(found.schema, () if partition is None else partition.fields))
    if not isinstance(found, AccessPath | VectorPath):
        kind = "class" if isinstance(found, type) else type(found).__name__
        raise NotAPath(f"{expression!r} is not a key, an index or an access path, such as Order.key; it is a {kind}")
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
            if isinstance(called, BoundKey | BoundVectorIndex) and not positional:
                types = called.schema.codec.annotations(set(called.layout.fields))
                given = {str(each.arg): _argument(module, each.value) for each in keywords}
                return called(**{name: value_of(name, value, types) for name, value in given.items()})
            if isinstance(path, AccessPath) and getattr(called, "__name__", "") in _RANGES:
                return _ranged(called, path, [_argument(module, each) for each in positional])
            raise NotAPath(f"{ast.unparse(function)!r} is not a key, an index or a range")
    raise NotAPath(f"{ast.unparse(tree)!r} is not an access path")


def _ranged(called: Any, path: AccessPath[Any], limits: list[Any]) -> Any:
    """A range over the next field of the sort key; without such a field, the call raises NoAccessPath."""
    left = [name for name in path.layout.sort_fields if name not in path.given]
    if left:
        types = path.schema.codec.annotations({left[0]})
        limits = [value_of(left[0], limit, types) for limit in limits]
    return called(*limits)


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as error:
        raise NotAPath(str(error)) from None


def _argument(module: Any, tree: ast.expr) -> Any:
    """A literal, a member of an enum, or a call of a type such as UUID with literals."""
    match tree:
        case ast.Attribute():
            member = _value(module, tree)
            if isinstance(member, Enum):
                return member
        case ast.Call(func=ast.Name(id=name), args=positional, keywords=keywords) if name in _TYPES:
            arguments = [_argument(module, each) for each in positional]
            named = {str(each.arg): _argument(module, each.value) for each in keywords}
            try:
                return _TYPES[name](*arguments, **named)
            except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
                raise NotAPath(f"{ast.unparse(tree)}: {error}") from None
        case ast.Name(id="UTC"):
            return UTC
        case _:
            try:
                return ast.literal_eval(tree)
            except ValueError:
                pass
    raise NotAPath(f"{ast.unparse(tree)!r} is not a literal, nor one of {', '.join(_TYPES)} or an enum's member")


_TYPES: Final[dict[str, Any]] = {
    "UUID": UUID,
    "date": date,
    "time": time,
    "datetime": datetime,
    "Decimal": Decimal,
    "timedelta": timedelta,
}


def _examples(key: BoundKey[Any]) -> dict[str, Any]:
    """A value for each field of the partition."""
    return _examples_of(key.schema, key.layout.partition_fields)


def _examples_of(schema: Schema[Any], fields: Sequence[str]) -> dict[str, Any]:
    annotations = schema.codec.annotations(set(fields))
    return {name: _example(name, annotations[name].base) for name in fields}


def _example(name: str, field_type: Any) -> Any:
    if field_type is str:
        return name
    if field_type in _EXAMPLES:
        return _EXAMPLES[field_type]
    choices = get_args(field_type) if get_origin(field_type) is Literal else _members(field_type)
    if choices:
        return choices[0]
    raise NotAPath(f"{name} has no example value; give one: KEY({name}=…)")


def _members(field_type: Any) -> tuple[Any, ...]:
    return tuple(field_type) if isinstance(field_type, type) and issubclass(field_type, Enum) else ()
