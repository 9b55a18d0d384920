"""Items, keys and access paths, declared once.

Pure: everything here is data about requests, none of it sends one.
"""

from __future__ import annotations

from msgspec import field

from sortkey.model.annotation import in_key, inexact
from sortkey.model.changes import ChangePlan, dependents, plan
from sortkey.model.codec import Row
from sortkey.model.codec import extra_of as extra
from sortkey.model.collection import collection
from sortkey.model.faults import (
    DeclarationError,
    DecodeError,
    EncodeError,
    KeyChange,
    KeyPartError,
    ModelError,
    NoAccessPath,
)
from sortkey.model.item import Item, replace, schema_of
from sortkey.model.key import BoundKey, Index, Key
from sortkey.model.path import Path
from sortkey.model.schema import Schema
from sortkey.model.table import Table

__all__ = [
    "BoundKey",
    "ChangePlan",
    "DeclarationError",
    "DecodeError",
    "EncodeError",
    "Index",
    "Item",
    "Key",
    "KeyChange",
    "KeyPartError",
    "ModelError",
    "NoAccessPath",
    "Path",
    "Row",
    "Schema",
    "Table",
    "collection",
    "dependents",
    "extra",
    "field",
    "in_key",
    "inexact",
    "plan",
    "replace",
    "schema_of",
]
