"""The fast path: common requests, from their JSON directly to the JSON of the answer.

Each operation here handles the common case: whole items, keys of short text, a table that exists. It returns None
otherwise, and the general operation of the same name runs and words any error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sortkey.engine.core import Core
from sortkey.engine.fast.batch_get_item import batch_get_item
from sortkey.engine.fast.fast_path import FastAnswer, FastWork
from sortkey.engine.fast.get_item import get_item
from sortkey.engine.fast.put_item import put_item
from sortkey.engine.fast.query import query
from sortkey.engine.fast.update_item import update_item
from sortkey.engine.slices import Slices

__all__ = ["FAST_READS", "FAST_WRITES", "FastAnswer", "FastWork"]

FAST_READS: Final[Mapping[str, Callable[[Core, bytes], FastAnswer | Slices[FastAnswer] | None]]] = {
    "GetItem": get_item,
    "BatchGetItem": batch_get_item,
    "Query": query,
}

FAST_WRITES: Final[Mapping[str, Callable[[Core, bytes], FastWork | None]]] = {
    "PutItem": put_item,
    "UpdateItem": update_item,
}
