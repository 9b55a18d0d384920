"""The model's public names, which the package imports from here when the first of them is asked for."""

from sortkey.model import (
    DeclarationError,
    DecodeError,
    EncodeError,
    Index,
    Item,
    Key,
    KeyChange,
    KeyPartError,
    ModelError,
    NoAccessPath,
    Path,
    Table,
    extra,
    field,
    in_key,
    inexact,
    replace,
)
from sortkey.model.changes.conditions import (
    above,
    absent,
    at_least,
    at_most,
    below,
    one_of,
    other_than,
    present,
    sized,
)
from sortkey.model.changes.operators import add, append, discard, initially
from sortkey.model.errors import (
    ConditionFailed,
    CursorError,
    DeadlineExceeded,
    ItemMissing,
    TablesDiffer,
    TransactionFailed,
    Unsupported,
)
from sortkey.model.items.entries import Entries
from sortkey.model.keys.each import each
from sortkey.model.paths.collection import collection
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.async_session import open_session as open
from sortkey.model.sessions.pages import Page
from sortkey.model.sessions.sync_session import Session, connect
from sortkey.model.sessions.transaction import Transaction

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
    "at_least",
    "at_most",
    "below",
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
