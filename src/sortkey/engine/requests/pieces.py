"""Large batches, decoded item by item.

msgspec decodes a body in one call, during which no other thread runs. 16 MB can have a million values, which takes
half a second. So a thread that decodes large bodies first finds where each item is, and then decodes one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests import decode
from sortkey.engine.requests.batches import BatchWriteItem, WriteRequest
from sortkey.engine.requests.shapes import ReturnConsumedCapacity, ReturnItemCollectionMetrics, Shape, TableName
from sortkey.engine.requests.transactions import TransactWriteItem, TransactWriteItems
from sortkey.errors import ValidationException
from sortkey.limits import MIB
from sortkey.values.errors import ITEM_TOO_LARGE

PIECE_BYTES: Final = 4 * MIB
"""Of the JSON of one item. The largest item has less, unless it is padded or escaped without need."""
BATCHES: Final = frozenset({"BatchWriteItem", "TransactWriteItems"})
"""The operations that may have more than one item."""


class _BatchWriteItem(Shape, kw_only=True):
    request_items: Annotated[
        dict[TableName, Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=limits.BATCH_WRITE_REQUESTS)]],
        Meta(min_length=1, max_length=limits.BATCH_WRITE_REQUESTS),
    ]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None


class _TransactWriteItems(Shape, kw_only=True):
    transact_items: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=limits.TRANSACTION_ACTIONS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    client_request_token: Annotated[str, Meta(min_length=1, max_length=36)] | None = None


_batch = msgspec.json.Decoder(_BatchWriteItem).decode
_write = msgspec.json.Decoder(WriteRequest).decode
_transaction = msgspec.json.Decoder(_TransactWriteItems).decode
_action = msgspec.json.Decoder(TransactWriteItem).decode


def decode_in_pieces(operation: str, body: bytes) -> Shape:
    """As `decode`. An item of more than `PIECE_BYTES` is rejected before it is decoded."""
    try:
        if operation == "BatchWriteItem":
            return _decode_batch(body)
        if operation == "TransactWriteItems":
            return _decode_transaction(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # It may be wrong, or have a null that means nothing; `decode` knows.
        pass
    return decode(operation, body)


def _decode_batch(body: bytes) -> BatchWriteItem:
    batch = _batch(body)
    _check(piece for pieces in batch.request_items.values() for piece in pieces)
    return BatchWriteItem(
        request_items={name: [_write(piece) for piece in pieces] for name, pieces in batch.request_items.items()},
        return_consumed_capacity=batch.return_consumed_capacity,
        return_item_collection_metrics=batch.return_item_collection_metrics,
    )


def _decode_transaction(body: bytes) -> TransactWriteItems:
    transaction = _transaction(body)
    _check(transaction.transact_items)
    return TransactWriteItems(
        transact_items=[_action(piece) for piece in transaction.transact_items],
        return_consumed_capacity=transaction.return_consumed_capacity,
        return_item_collection_metrics=transaction.return_item_collection_metrics,
        client_request_token=transaction.client_request_token,
    )


def _check(pieces: Iterable[msgspec.Raw]) -> None:
    if any(len(memoryview(piece)) > PIECE_BYTES for piece in pieces):
        raise ValidationException(ITEM_TOO_LARGE)
