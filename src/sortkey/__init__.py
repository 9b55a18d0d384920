"""Sortkey: serving layers on DynamoDB, with a durable DynamoDB engine inside the process.

The model is imported when the first of its names is asked for: a client or `sortkey db` has no use for it. The client
is imported at once, because `client` is a function here and a package of the same name, and to import the package later
would put it in the function's place.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from sortkey.client import async_client, client

if TYPE_CHECKING:
    from sortkey.model.public import (
        AsyncSession,
        ConditionFailed,
        CursorError,
        DeadlineExceeded,
        DeclarationError,
        DecodeError,
        EncodeError,
        Entries,
        Index,
        Item,
        ItemMissing,
        Key,
        KeyChange,
        KeyPartError,
        ModelError,
        NoAccessPath,
        Page,
        Path,
        Session,
        Table,
        TablesDiffer,
        Transaction,
        TransactionFailed,
        Unsupported,
        above,
        absent,
        add,
        append,
        at_least,
        at_most,
        below,
        collection,
        connect,
        discard,
        each,
        extra,
        field,
        in_key,
        inexact,
        initially,
        one_of,
        open,
        other_than,
        present,
        replace,
        sized,
    )

__all__ = [
    "AsyncSession",
    "ConditionFailed",
    "CursorError",
    "DeadlineExceeded",
    "DeclarationError",
    "DecodeError",
    "EncodeError",
    "Entries",
    "Index",
    "Item",
    "ItemMissing",
    "Key",
    "KeyChange",
    "KeyPartError",
    "ModelError",
    "NoAccessPath",
    "Page",
    "Path",
    "Session",
    "Table",
    "TablesDiffer",
    "Transaction",
    "TransactionFailed",
    "Unsupported",
    "above",
    "absent",
    "add",
    "append",
    "async_client",
    "at_least",
    "at_most",
    "below",
    "client",
    "collection",
    "connect",
    "discard",
    "each",
    "extra",
    "field",
    "in_key",
    "inexact",
    "initially",
    "one_of",
    "open",
    "other_than",
    "present",
    "replace",
    "sized",
]

# Hidden from type checkers, which would take it that every name is one of ours.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        found = globals()[name] = getattr(import_module("sortkey.model.public"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
