"""Item classes out of a Python text, by its syntax tree. Nothing of the text is executed.

What is read: `sk.Table(…)`, enums, and classes of `sk.Item` with their fields, `sk.Key` and `sk.Index`. Arguments and
defaults are literals; types are those that the model knows, by name. Methods are passed over: keys do not depend on
them. All else is a problem with its line.
"""

from __future__ import annotations

import ast
import types
import typing
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, Final, Literal, NamedTuple, Optional, Union
from uuid import UUID

import sortkey as sk
from sortkey.model.errors import ModelError

SOURCE_CHARACTERS: Final = 100_000
NODES: Final = 20_000
"""Of the syntax tree."""
CLASSES: Final = 50

_TYPES: Final[dict[str, Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "bytes": bytes,
    "list": list,
    "dict": dict,
    "set": set,
    "frozenset": frozenset,
    "tuple": tuple,
    "Decimal": Decimal,
    "datetime": datetime,
    "date": date,
    "time": time,
    "UUID": UUID,
    "Any": Any,
    "Annotated": typing.Annotated,
    "Literal": Literal,
    "Optional": Optional,
    "Union": Union,
}
_MARKS: Final[dict[str, Any]] = {
    name: getattr(sk, name) for name in ("in_key", "epoch", "inexact", "created", "updated", "version")
}
_ENUMS: Final[dict[str, Any]] = {"Enum": Enum, "IntEnum": IntEnum, "StrEnum": StrEnum}
_CALLS: Final[dict[str, Callable[..., Any]]] = {
    "Key": sk.Key,
    "Index": sk.Index,
    "Shards": sk.Shards,
    "Table": sk.Table,
    "Decimal": Decimal,
}
"""What a text may call, with literals; none of them does anything but keep them."""
_READ: Final = "only imports, sk.Table, enums and classes of sk.Item are read; nothing is executed"


class Problem(NamedTuple):
    line: int
    message: str


class NotRead(Exception):
    """A part of the text that is not read; the message says what would be."""

    def __init__(self, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.line: int = getattr(node, "lineno", 1)


class Source(NamedTuple):
    classes: list[type[sk.Item]]
    problems: list[Problem]


def read_source(text: str) -> Source:
    if len(text) > SOURCE_CHARACTERS:
        return Source([], [Problem(1, f"The text has more than {SOURCE_CHARACTERS:,} characters.")])
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
        return Source([], [Problem(line, f"It is not Python: {getattr(error, 'msg', error)}.")])
    if sum(1 for _ in ast.walk(tree)) > NODES:
        return Source([], [Problem(1, "The text is too long.")])
    reader = _Reader()
    problems = []
    for statement in tree.body:
        try:
            reader.read(statement)
        except NotRead as error:
            problems.append(Problem(error.line, str(error)))
        except (ModelError, TypeError, ValueError, KeyError, ArithmeticError, SyntaxError, RecursionError) as error:
            problems.append(Problem(statement.lineno, str(error)))
    return Source(reader.classes, problems)


class _Reader:
    def __init__(self) -> None:
        self.classes: list[type[sk.Item]] = []
        self._named: dict[str, Any] = {}
        """The tables, enums and classes of the text."""

    def read(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import() | ast.ImportFrom():
                """Names are known by their last part, wherever they are from."""
            case ast.Expr(value=ast.Constant(value=str())):
                """A documentation text."""
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                self._named[name] = self._call(call)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call):
                self._named[name] = self._call(call)
            case ast.ClassDef():
                self._class(statement)
            case _:
                raise NotRead(statement, f"This is passed over: {_READ}.")

    def _class(self, node: ast.ClassDef) -> None:
        bases = [_last(base) for base in node.bases]
        if len(bases) == 1 and bases[0] in _ENUMS:
            self._named[node.name] = self._enum(node, _ENUMS[bases[0]])
            return
        known = [self._named[base] for base in bases if isinstance(self._named.get(base), type)]
        if "Item" not in bases and not known:
            raise NotRead(node, f"{node.name} derives from no item class: {_READ}.")
        if len(self.classes) >= CLASSES:
            raise NotRead(node, f"There are more than {CLASSES} classes.")
        options = {str(each.arg): self._value(each.value) for each in node.keywords}
        table = options.get("table")
        if isinstance(table, str):
            # Not by name: a table of a name would be that of all texts.
            options["table"] = self._named.setdefault(f"table {table}", sk.Table(table))
        namespace = dict(self._members(node))
        made = types.new_class(
            node.name, (known[0] if known else sk.Item,), options, lambda body: body.update(namespace)
        )
        self._named[node.name] = made
        self.classes.append(made)

    def _enum(self, node: ast.ClassDef, kind: Any) -> Any:
        members = [
            (name, self._value(value))
            for each in node.body
            if isinstance(each, ast.Assign)
            for name, value in [(_last(each.targets[0]), each.value)]
        ]
        return kind(node.name, members)

    def _members(self, node: ast.ClassDef) -> Iterator[tuple[str, Any]]:
        annotations: dict[str, Any] = {}
        for each in node.body:
            match each:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    annotations[name] = self._type(annotation)
                    if value is not None:
                        yield name, self._value(value)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    yield name, self._call(call)
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield "__doc__", text
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Pass():
                    """Keys do not depend on it."""
                case _:
                    raise NotRead(each, "Only fields, sk.Key and sk.Index are read in a class.")
        yield "__annotations__", annotations
        yield "__module__", "design"

    def _call(self, node: ast.Call) -> Any:
        name = _last(node.func)
        if name not in _CALLS:
            raise NotRead(node, f"{name}(…) is not called: {_READ}.")
        positional = [self._value(each) for each in node.args]
        return _CALLS[name](*positional, **{str(each.arg): self._value(each.value) for each in node.keywords})

    def _value(self, node: ast.expr) -> Any:
        """A literal, a member of an enum of the text, a table of it, or one of the calls."""
        match node:
            case ast.Call():
                return self._call(node)
            case ast.Name(id=name) if name in self._named:
                return self._named[name]
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if isinstance(self._named.get(owner), type(Enum)):
                return self._named[owner][name]
            case ast.Tuple(elts=elements):
                return tuple(self._value(each) for each in elements)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, MemoryError, RecursionError):
            raise NotRead(node, f"{ast.unparse(node)[:60]} is not a literal.") from None

    def _type(self, node: ast.expr) -> Any:
        """The type that an annotation names."""
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=str(text)):
                return self._type(ast.parse(text, mode="eval").body)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return Union[self._type(left), self._type(right)]  # noqa: UP007 - made of values
            case ast.Subscript(value=owner, slice=inner):
                elements = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                if _last(owner) == "Literal":
                    return Literal[tuple(self._value(each) for each in elements)]
                made = tuple(self._type(each) for each in elements)
                return self._type(owner)[made if len(made) > 1 else made[0]]
            case ast.Name() | ast.Attribute():
                name = _last(node)
                for known in (self._named, _TYPES, _MARKS):
                    if name in known:
                        return known[name]
                raise NotRead(
                    node, f"{name} is not a type that is known here: {', '.join(_TYPES)}, or an enum of the text."
                )
            case ast.Call():
                raise NotRead(node, f"{ast.unparse(node)[:60]} is not read in a type.")
        raise NotRead(node, f"{ast.unparse(node)[:60]} is not a type.")


def _last(node: ast.expr) -> str:
    """The last part of a dotted name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
    raise NotRead(node, f"{ast.unparse(node)[:60]} is not a name.")
