"""The errors of the model and its sessions.

ModelError
├── DeclarationError     at import: a class, key or index that cannot work as declared
├── NoAccessPath         a key or index that cannot answer a query; names the nearest one
├── UnknownField         a change or a condition that names no field of the class; names the nearest one
├── KeyPartError         a value that a key cannot hold: wrong type, empty, too long
├── KeyChange            an update that would move an item to another primary key
├── EncodeError          an attribute that does not have its declared type, or that no item can hold
├── DecodeError          a stored row that does not have its declared shape
├── PartialItem          a read or a write that needs a whole item, but an index has only a part of it
├── ConditionFailed      the stored item does not meet the condition; `item` holds it
│   └── ItemMissing      the item does not exist
├── TransactionFailed    nothing was written; `reasons` has one code per action
├── CursorError          a cursor that was changed, or belongs to another query
├── LoadError            a bulk load that ended before its last item; `position` says where to continue
├── Unsupported          the store lacks a feature that a declaration or a call needs
├── TablesDiffer         a table exists and differs from its declaration
└── DeadlineExceeded     the call was not done in time; also a TimeoutError

Other errors of the store are raised unchanged, as botocore's ClientError. Where the store rejects a value, the
EncodeError or KeyPartError is that ClientError, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError


class ModelError(Exception):
    """The base of all errors of the model."""


class DeclarationError(ModelError, TypeError):
    """A class, key or index that cannot work as declared."""


class NoAccessPath(ModelError, LookupError):
    """The key or index cannot answer this query. Sortkey never falls back to a scan."""


class UnknownField(ModelError, LookupError):
    """A change or a condition names a field that the class does not have."""


class KeyPartError(ModelError, ValueError):
    """A key cannot hold the value: wrong type, empty, too long, or out of range."""


class KeyChange(ModelError, ValueError):
    """An update cannot change an item's primary key: put an item with the new key and delete the old one."""


class EncodeError(ModelError, TypeError):
    """An attribute does not have its declared type, or no item can hold it: it is too large, or not text."""


class DecodeError(ModelError, ValueError):
    """A stored row does not have its declared shape."""

    def __init__(self, message: str, *, key: dict[str, Any] | None = None, written: bool = False) -> None:
        super().__init__(message)
        self.key = key
        """The primary key of the row, in boto3 shape, if it was one of several."""
        self.written = written
        """Whether the call has written: the row that the store returned for a write cannot be decoded."""


class PartialItem(ModelError):
    """The item is from an index that does not have whole items; `db.whole(items)` reads them."""


class ConditionFailed(ModelError):
    """The stored item does not meet the condition; nothing was written."""

    def __init__(self, message: str, item: Any | None = None) -> None:
        super().__init__(message)
        self.item = item
        """The stored item."""


class ItemMissing(ConditionFailed):
    """The item does not exist; nothing was written."""


class TransactionFailed(ModelError):
    """The transaction was cancelled; nothing was written."""

    def __init__(self, message: str, reasons: Sequence[str | None]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)
        """DynamoDB's cancellation code for each action; None for actions without an error."""


class CursorError(ModelError, ValueError):
    """A cursor that this session cannot continue from."""


class LoadError(ModelError):
    """A bulk load ended early: by a bad item, by an error of its source, or by the store. `__cause__` is the reason.

    >>> try:
    ...     db.load([Parcel(number=1), Parcel(number=2), "three"])
    ... except sk.LoadError as error:
    ...     print(error.position)
    2
    """

    def __init__(self, message: str, position: int, items: int) -> None:
        super().__init__(message)
        self.position = position
        """How many items of the source, from its first on, are written. `db.load(items, after=position)` continues."""
        self.items = items
        """How many of them this call has written."""


class Unsupported(ModelError):
    """The store lacks a feature that the program needs."""


class WrongRegion(ModelError):
    """A table with replicas is followed in another region than its home, or has none declared."""


class TablesDiffer(ModelError):
    """Existing tables differ from their declarations."""


class DeadlineExceeded(ModelError, TimeoutError):
    """The call was not done in time. A write may or may not have happened, unless the error says that it was withdrawn
    because another process writes to the data folder."""


_SHOWN: Final = 300

UNEXPECTED: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a value of a class that Sortkey does not know may raise where it is encoded."""
FAILURES: Final = (BotoCoreError, ClientError, DeadlineExceeded)
"""What a request may raise: the store cannot be reached, or rejects it, or is too slow."""


def shown(value: object) -> str:
    """A value in an error message. It may be large, and its `repr` is the program's, which may raise anything."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001
        return f"(its repr raises {type(error).__name__})"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def type_name(kind: object) -> str:
    """A type in an error message, as a class declares it."""
    return kind.__name__ if isinstance(kind, type) else str(kind)


def unknown_field(cls: str, name: str, fields: Iterable[str]) -> UnknownField:
    return UnknownField(f"{cls} has no field {name!r}{suggestion(name, fields)}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the closest known name, or all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f" (it has {', '.join(names)})"
