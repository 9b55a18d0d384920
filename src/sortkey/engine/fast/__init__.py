"""Requests as most send them, from their JSON to the JSON of the answer without anything in between.

Each function here answers what needs no words: whole items, by keys that are short text, from tables that exist. Of
anything else it says None, and the operation of the same name looks again and knows what to say.
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

__all__ = ["FAST_READS", "FAST_WRITES", "FastAnswer", "FastWork"]

FAST_READS: Final[Mapping[str, Callable[[Core, bytes], FastAnswer | None]]] = {
    "GetItem": get_item,
    "BatchGetItem": batch_get_item,
    "Query": query,
}

FAST_WRITES: Final[Mapping[str, Callable[[Core, bytes], FastWork | None]]] = {
    "PutItem": put_item,
    "UpdateItem": update_item,
}
