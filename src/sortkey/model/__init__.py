"""Items, keys and access paths, declared once.

Pure: everything here is data about requests, none of it sends one.
"""

from __future__ import annotations

from msgspec import field

from sortkey.model.changes.change_plan import ChangePlan, dependents, plan
from sortkey.model.errors import (
    DeclarationError,
    DecodeError,
    EncodeError,
    KeyChange,
    KeyPartError,
    ModelError,
    NoAccessPath,
)
from sortkey.model.items.annotation import in_key, inexact
from sortkey.model.items.codec import Row
from sortkey.model.items.codec import extra_of as extra
from sortkey.model.items.item import Item, replace, schema_of
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key import BoundKey, Index, Key
from sortkey.model.paths.access_path import Path
from sortkey.model.paths.collection import collection
from sortkey.model.tables.table import Table

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
