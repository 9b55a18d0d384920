"""Item collections: all items of one partition, of every class, in one query."""

from __future__ import annotations

from typing import Any, TypeVar

from sortkey.model.errors import NoAccessPath
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import Path
from sortkey.model.paths.arguments import require_key

T = TypeVar("T", bound=Item)


def collection(key: BoundKey[T], /, **partition: Any) -> Path[Item]:
    """The path to all items of one partition of a table or an index: `sk.collection(User.key, user="alice")`."""
    require_key(key)
    needed = key.layout.partition_fields
    if set(partition) != set(needed):
        given = ", ".join(partition) or "nothing"
        raise NoAccessPath(f"a collection of {key.name} needs exactly {', '.join(needed)}, not {given}")
    return key(**partition).of_all_classes()
