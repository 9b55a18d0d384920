"""Ordered bytes on LMDB with group commit. Knows nothing about DynamoDB."""

from sortkey.storage.environment import Cursor, IncompatibleFormat, StorageError, Transaction, open_existing
from sortkey.storage.inspection import FolderState, Reader, Unreadable, inspect
from sortkey.storage.ranges import after_prefix, ascending, descending
from sortkey.storage.store import Store
from sortkey.storage.write_queue import Batch, Done, QueueClosed, StorageFull

__all__ = [
    "Batch",
    "Cursor",
    "Done",
    "FolderState",
    "IncompatibleFormat",
    "QueueClosed",
    "Reader",
    "StorageError",
    "StorageFull",
    "Store",
    "Transaction",
    "Unreadable",
    "after_prefix",
    "ascending",
    "descending",
    "inspect",
    "open_existing",
]
