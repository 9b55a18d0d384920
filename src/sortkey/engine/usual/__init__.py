"""Reads as most send them, from the JSON of the request to the JSON of the answer without anything in between.

Each function here answers what needs no words: whole items, by keys that are short text, from tables that exist. Of
anything else it says None, and the operation of the same name looks again and knows what to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sortkey.engine.core import Core
from sortkey.engine.usual.answered import Answered
from sortkey.engine.usual.batch_get_item import batch_get_item
from sortkey.engine.usual.get_item import get_item
from sortkey.engine.usual.query import query

__all__ = ["USUAL", "Answered"]

USUAL: Final[Mapping[str, Callable[[Core, bytes], Answered | None]]] = {
    "GetItem": get_item,
    "BatchGetItem": batch_get_item,
    "Query": query,
}
