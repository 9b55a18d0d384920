"""Compares the public methods of a sync class and its async twin, so that they cannot drift apart."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple


class Described(NamedTuple):
    parameters: list[tuple[str, str, object, str]]
    returns: str
    doc: str | None


def public_members(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def describe(member: Any) -> Described | str | None:
    """A method's parameters, answer and docstring, in the sync class's words; of anything else, its docstring."""
    if not callable(member):
        return inspect.getdoc(member)
    signature = inspect.signature(member)
    parameters = [
        (each.name, each.kind.name, each.default, sync_words(each.annotation)) for each in signature.parameters.values()
    ]
    return Described(parameters, sync_words(signature.return_annotation), inspect.getdoc(member))


def sync_words(annotation: object) -> str:
    """`AsyncIterator[T]` is `Iterator[T]` to the sync twin, and so on; a module's name in front is dropped."""
    text = re.sub(r"\b[a-z_]+\.", "", str(annotation))
    text = re.sub(r"\bAsync(\w+)", r"\1", text)
    # What may be given as an iterator, or as an async one.
    text = re.sub(r"^(.+) \| \1$", r"\1", text)
    return re.sub(r"(?:Coroutine\[Any, Any, |Awaitable\[)(.*)\]", r"\1", text)
