"""What the model refuses, and when.

ModelError
├── DeclarationError     at import: a class, key or index that cannot work as declared
├── NoAccessPath         a question that this key cannot answer; names the one that comes nearest
├── KeyPartError         a value that cannot stand in a key
├── KeyChange            an update that would move an item to another primary key
├── EncodeError          an attribute that does not have its declared type
└── DecodeError          a stored row that does not have its declared shape
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class ModelError(Exception):
    """Something that the declarations do not allow."""


class DeclarationError(ModelError, TypeError):
    """A class, key or index that cannot work as declared."""


class NoAccessPath(ModelError, LookupError):
    """No exact key, prefix or range answers the question as asked; nothing falls back to a scan."""


class KeyPartError(ModelError, ValueError):
    """A value that cannot stand in a key."""


class KeyChange(ModelError, ValueError):
    """An item's primary key is its identity: it is put anew under another, never updated."""


class EncodeError(ModelError, TypeError):
    """An attribute does not have its declared type."""


class DecodeError(ModelError, ValueError):
    """A stored row does not have its declared shape."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f" (it has {', '.join(names)})"
