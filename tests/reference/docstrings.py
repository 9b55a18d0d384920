"""Finds the docstrings of constants and attributes: the string under the assignment, which Python does not keep."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

from sortkey import public


class Assigned(NamedTuple):
    """A name that is assigned in a module, a class or its `__init__`."""

    annotation: str
    """As it is written; empty without one."""
    doc: str


def constant_doc(name: str) -> str:
    """The docstring of a public name that is neither a class nor a function."""
    module = import_module(_imports()[name])
    return _assigned(ast.parse(inspect.getsource(module)).body)[name].doc


@cache
def _imports() -> dict[str, str]:
    """The module of each public name."""
    body = ast.parse(inspect.getsource(public)).body
    imported = [each for each in body if isinstance(each, ast.ImportFrom)]
    return {alias.asname or alias.name: each.module or "" for each in imported for alias in each.names}


def attributes_of(cls: type) -> dict[str, Assigned]:
    """The attributes that a class and its bases in this package declare or set."""
    found: dict[str, Assigned] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("sortkey."):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            assert isinstance(tree, ast.ClassDef)
            found |= _assigned(tree.body)
            for member in tree.body:
                if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                    found |= _assigned([each for each in member.body if not _is_variable(each)])
    return found


def _assigned(body: Sequence[ast.stmt]) -> dict[str, Assigned]:
    following = [*body[1:], ast.Pass()]
    return {
        name: Assigned(annotation, _text(after))
        for statement, after in zip(body, following, strict=True)
        for name, annotation in _targets(statement)
    }


def _targets(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(statement, ast.AnnAssign):
        yield _name(statement.target), ast.unparse(statement.annotation)
    elif isinstance(statement, ast.Assign):
        yield from ((_name(target), "") for target in statement.targets)


def _is_variable(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and any(isinstance(each, ast.Name) for each in statement.targets)


def _name(target: ast.expr) -> str:
    return target.attr if isinstance(target, ast.Attribute) else ast.unparse(target)


def _text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return inspect.cleandoc(str(statement.value.value))
    return ""
