"""Batches of which a part is left unprocessed.

AWS processes at least one item of a batch, or rejects the whole of it (which is the throttle's part). So a batch of one
item is always processed, and a program that sends the rest again comes to an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sortkey.engine.core import Answer
from sortkey.engine.faults.faults import Faults
from sortkey.engine.operations.batch_get_item import unprocessed_keys
from sortkey.engine.requests.batches import BatchGetItem, BatchWriteItem, WriteRequest
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.rows.stored_item import Json

Amend = Callable[[Answer], Answer]
"""Adds what was left unprocessed to the answer of the rest."""


class Unprocessed:
    def __init__(self, faults: Faults) -> None:
        self._probability = faults.unprocessed
        self._random = faults.random("unprocessed")

    def take_from(self, request: Shape) -> Amend | None:
        """Take some items out of a batch; None if none are taken, or the request is no batch."""
        if isinstance(request, BatchGetItem):
            return self._take_keys(request)
        return self._take_writes(request) if isinstance(request, BatchWriteItem) else None

    def _take_writes(self, request: BatchWriteItem) -> Amend | None:
        kept, left = self._divide({table: [*writes] for table, writes in request.request_items.items()})
        request.request_items = {**kept}
        if not left:
            return None
        unprocessed = {table: [_shape(each) for each in writes] for table, writes in left.items()}
        return lambda answer: {**answer, "UnprocessedItems": unprocessed}

    def _take_keys(self, request: BatchGetItem) -> Amend | None:
        parts = request.request_items
        kept, left = self._divide({table: part.keys for table, part in parts.items()})
        if not left:
            return None
        request.request_items = {
            table: msgspec.structs.replace(parts[table], keys=keys) for table, keys in kept.items()
        }
        unprocessed = {
            table: unprocessed_keys(msgspec.structs.replace(parts[table], keys=keys)) for table, keys in left.items()
        }

        def amend(answer: Answer) -> Answer:
            for table, part in unprocessed.items():
                # What did not fit into the answer is unprocessed already.
                large = answer["UnprocessedKeys"].setdefault(table, part)
                if large is not part:
                    large["Keys"] += part["Keys"]
                answer["Responses"].setdefault(table, [])
            return answer

        return amend

    def _divide(self, given: dict[str, list[Any]]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Which items are processed and which are left, by table."""
        kept: dict[str, list[Any]] = {}
        left: dict[str, list[Any]] = {}
        for table, items in given.items():
            for item in items:
                part = left if self._random.random() < self._probability else kept
                part.setdefault(table, []).append(item)
        if not kept:
            table = next(iter(left))
            kept[table] = [left[table].pop(0)]
            if not left[table]:
                del left[table]
        return kept, left


def _shape(write: WriteRequest) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    if write.put_request is not None:
        shape["PutRequest"] = {"Item": Json.of(write.put_request.item)}
    if write.delete_request is not None:
        shape["DeleteRequest"] = {"Key": Json.of(write.delete_request.key)}
    return shape
