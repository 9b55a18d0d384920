"""What the model and its sessions raise.

ModelError
├── DeclarationError     at import: a class, key or index that cannot work as declared
├── NoAccessPath         a question that this key cannot answer; names the index that comes nearest
├── KeyPartError         a value that cannot stand in a key
├── KeyChange            an update that would move an item to another primary key
├── EncodeError          an attribute that does not have its declared type
├── DecodeError          a stored row that does not have its declared shape
├── ConditionFailed      the stored item does not meet the condition; `item` holds it
│   └── ItemMissing      there is no such item
├── TransactionFailed    nothing was written; `reasons` says why, action by action
├── CursorError          a cursor that was changed, or belongs to another question
├── Unsupported          the store lacks what a declaration or a call needs
├── TablesDiffer         a table exists and differs from its declaration
└── DeadlineExceeded     not done in time; also a TimeoutError

Other errors of the store are raised as they come, as botocore's ClientError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any


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


class ConditionFailed(ModelError):
    """Nothing was written."""

    def __init__(self, message: str, item: Any | None = None) -> None:
        super().__init__(message)
        self.item = item
        """The item as it is stored."""


class ItemMissing(ConditionFailed):
    """There is no such item, so nothing was written."""


class TransactionFailed(ModelError):
    """Nothing of the transaction was done."""

    def __init__(self, message: str, reasons: Sequence[str | None]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)
        """Why, action by action, in DynamoDB's codes; None for those that were well."""


class CursorError(ModelError, ValueError):
    """A cursor that this session cannot go on from."""


class Unsupported(ModelError):
    """The store lacks something that is needed."""


class TablesDiffer(ModelError):
    """Tables exist that are not as declared."""


class DeadlineExceeded(ModelError, TimeoutError):
    """The call was not done in time. A write under way may or may not have happened."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f" (it has {', '.join(names)})"
