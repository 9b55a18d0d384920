"""Exceptions are made where they are raised.

An exception keeps the frames in which it was raised. One that is made once, for a module or around a function, and
raised again and again keeps those of every time, with all their variables: a server grows for as long as it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def raised_again(tree: ast.Module) -> list[int]:
    """The lines with `raise name` where the name is that of no class, and of nothing that the function itself made."""
    return [
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for node in own(function)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name)
        if not is_class(node.exc.id) and node.exc.id not in made(function)
    ]


def own(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function):
            waiting += ast.iter_child_nodes(node)


def made(function: Function) -> set[str]:
    """The names to which the function assigns, and its parameters."""
    nodes = list(own(function))
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    matched = {node.name for node in nodes if isinstance(node, ast.MatchAs) and node.name is not None}
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name is not None}
    return assigned | matched | caught | {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def is_class(name: str) -> bool:
    """`raise Name` makes an instance."""
    return name.lstrip("_")[:1].isupper() and not name.isupper()


def test_exceptions_are_made_where_they_are_raised() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    assert [f"{path}:{line}" for path in paths for line in raised_again(ast.parse(path.read_text("utf-8")))] == []


@pytest.mark.parametrize("where", ["module", "closure"])
def test_one_that_is_made_elsewhere_is_found(where: str) -> None:
    inner = "def f():\n  raise NOT_FOUND\n"
    closure = "def around():\n  missing = NotFound()\n  def f():\n    raise missing\n  return f\n"
    text = f"NOT_FOUND = NotFound()\n{inner}" if where == "module" else closure
    assert len(raised_again(ast.parse(text))) == 1


def test_others_are_not() -> None:
    caught = "def f():\n  try:\n    g()\n  except E as error:\n    raise error\n  own = E()\n  raise own\n"
    given = "def f(given):\n  raise given\ndef g():\n  raise _Stop\n"
    assert raised_again(ast.parse(caught + given)) == []
