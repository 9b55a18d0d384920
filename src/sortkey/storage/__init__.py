"""Ordered bytes on LMDB with group commit. Knows nothing about DynamoDB."""

from sortkey.errors import FolderBusy
from sortkey.storage.backup import back_up, restore
from sortkey.storage.buckets import BadName, Buckets, NoSuchBucket, StoredObject, check_names
from sortkey.storage.environment import (
    CHECKED_BYTES,
    DAMAGED_PAGE,
    FORMAT_KEY,
    Cursor,
    DamagedFolder,
    IncompatibleFormat,
    StorageError,
    Transaction,
    address_space_left,
    damaged_folder,
    open_existing,
)
from sortkey.storage.inspection import FolderState, Reader, Unreadable, inspect
from sortkey.storage.sealed import SEAL_BYTES, are_sound, belongs_to, is_sound, payload_of, seal
from sortkey.storage.store import Store, after_prefix, ascending, begin_snapshot, descending
from sortkey.storage.write_queue import Batch, Done, QueueClosed, StorageFull, Ticket

__all__ = [
    "CHECKED_BYTES",
    "DAMAGED_PAGE",
    "FORMAT_KEY",
    "SEAL_BYTES",
    "BadName",
    "Batch",
    "Buckets",
    "Cursor",
    "DamagedFolder",
    "Done",
    "FolderBusy",
    "FolderState",
    "IncompatibleFormat",
    "NoSuchBucket",
    "QueueClosed",
    "Reader",
    "StorageError",
    "StorageFull",
    "Store",
    "StoredObject",
    "Ticket",
    "Transaction",
    "Unreadable",
    "address_space_left",
    "after_prefix",
    "are_sound",
    "ascending",
    "back_up",
    "begin_snapshot",
    "belongs_to",
    "check_names",
    "damaged_folder",
    "descending",
    "inspect",
    "is_sound",
    "open_existing",
    "payload_of",
    "restore",
    "seal",
]
