"""Large batches, decoded item by item.

msgspec decodes a body in one call, during which no other thread runs. 16 MB can have a million values, which takes
half a second. So a thread that decodes large bodies first finds where each item is, and then decodes one at a time.

Tiny values take twenty times as much memory as their text. So a request of BatchWriteItem is decoded only when it is
taken, and the operation makes its item text again before it takes the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, overload

import msgspec
from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests import NOT_JSON, decode
from sortkey.engine.requests.items import BatchWriteItem, TransactWriteItem, TransactWriteItems, WriteRequest
from sortkey.engine.requests.shapes import ReturnConsumedCapacity, ReturnItemCollectionMetrics, Shape, TableName
from sortkey.engine.requests.statements import (
    BatchExecuteStatement,
    BatchStatementRequest,
    ExecuteTransaction,
    ParameterizedStatement,
)
from sortkey.errors import SerializationException, ValidationException
from sortkey.limits import MIB
from sortkey.values.errors import ITEM_TOO_LARGE

PIECE_BYTES: Final = 4 * MIB
"""Of the JSON of one item. The largest item has less, unless it is padded or escaped without need."""
BATCHES: Final = frozenset({"BatchExecuteStatement", "BatchWriteItem", "ExecuteTransaction", "TransactWriteItems"})
"""The operations that may have more than one item."""


class _BatchWriteItem(Shape, kw_only=True):
    request_items: Annotated[
        dict[TableName, Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=limits.BATCH_WRITE_REQUESTS)]],
        Meta(min_length=1, max_length=limits.BATCH_WRITE_REQUESTS),
    ]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None


class _PutRequest(Shape, kw_only=True):
    item: msgspec.Raw


class _DeleteRequest(Shape, kw_only=True):
    key: msgspec.Raw


class _WriteRequest(Shape, kw_only=True):
    put_request: _PutRequest | None = None
    delete_request: _DeleteRequest | None = None


class _TransactWriteItems(Shape, kw_only=True):
    transact_items: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=limits.TRANSACTION_ACTIONS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    client_request_token: Annotated[str, Meta(min_length=1, max_length=36)] | None = None


class _BatchExecuteStatement(Shape, kw_only=True):
    statements: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=limits.BATCH_STATEMENTS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None


class _ExecuteTransaction(Shape, kw_only=True):
    transact_statements: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=limits.TRANSACTION_ACTIONS)]
    client_request_token: Annotated[str, Meta(min_length=1, max_length=36)] | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None


_batch = msgspec.json.Decoder(_BatchWriteItem).decode
_write = msgspec.json.Decoder(WriteRequest).decode
_outline = msgspec.json.Decoder(_WriteRequest).decode
_transaction = msgspec.json.Decoder(_TransactWriteItems).decode
_action = msgspec.json.Decoder(TransactWriteItem).decode
_statement_batch = msgspec.json.Decoder(_BatchExecuteStatement).decode
_statement = msgspec.json.Decoder(BatchStatementRequest).decode
_statement_transaction = msgspec.json.Decoder(_ExecuteTransaction).decode
_transaction_statement = msgspec.json.Decoder(ParameterizedStatement).decode


class WritesInPieces(Sequence[WriteRequest]):
    """The requests for one table, each decoded when it is taken, and every time."""

    def __init__(self, pieces: Sequence[msgspec.Raw]) -> None:
        """The pieces have the outline of a request."""
        self._pieces = pieces

    def __len__(self) -> int:
        return len(self._pieces)

    @overload
    def __getitem__(self, index: int) -> WriteRequest: ...
    @overload
    def __getitem__(self, index: slice) -> WritesInPieces: ...
    def __getitem__(self, index: int | slice) -> WriteRequest | WritesInPieces:
        if isinstance(index, slice):
            return WritesInPieces(self._pieces[index])
        try:
            return _write(self._pieces[index])
        except msgspec.DecodeError as error:
            # The outline says nothing of numbers that are out of every range.
            raise SerializationException(NOT_JSON) from error

    def __iter__(self) -> Iterator[WriteRequest]:
        return map(self.__getitem__, range(len(self)))


def decode_in_pieces(operation: str, body: bytes) -> Shape:
    """As `decode`. An item of more than `PIECE_BYTES` is rejected before it is decoded."""
    try:
        if operation == "BatchWriteItem":
            return _decode_batch(body)
        if operation == "TransactWriteItems":
            return _decode_transaction(body)
        if operation == "BatchExecuteStatement":
            return _decode_statement_batch(body)
        if operation == "ExecuteTransaction":
            return _decode_statement_transaction(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # It may be wrong, or have a null that means nothing; `decode` knows.
        pass
    return decode(operation, body)


def _decode_batch(body: bytes) -> BatchWriteItem:
    batch = _batch(body)
    _check(piece for pieces in batch.request_items.values() for piece in pieces)
    for pieces in batch.request_items.values():
        for piece in pieces:
            _check_outline(piece)
    return BatchWriteItem(
        request_items={name: WritesInPieces(pieces) for name, pieces in batch.request_items.items()},
        return_consumed_capacity=batch.return_consumed_capacity,
        return_item_collection_metrics=batch.return_item_collection_metrics,
    )


def _check_outline(piece: msgspec.Raw) -> None:
    """Raises what decoding it would raise, but makes no values. Errors inside values are found later, item by item."""
    # msgspec does not look at the encoding of what it skips.
    str(memoryview(piece), "utf-8")
    outline = _outline(piece)
    if outline.put_request is not None:
        _check_object(outline.put_request.item)
    if outline.delete_request is not None:
        _check_object(outline.delete_request.key)


def _check_object(text: msgspec.Raw) -> None:
    if bytes(memoryview(text)[:1]) != b"{":
        raise msgspec.ValidationError("An item or a key is an object.")


def _decode_transaction(body: bytes) -> TransactWriteItems:
    transaction = _transaction(body)
    _check(transaction.transact_items)
    return TransactWriteItems(
        transact_items=[_action(piece) for piece in transaction.transact_items],
        return_consumed_capacity=transaction.return_consumed_capacity,
        return_item_collection_metrics=transaction.return_item_collection_metrics,
        client_request_token=transaction.client_request_token,
    )


def _decode_statement_batch(body: bytes) -> BatchExecuteStatement:
    batch = _statement_batch(body)
    _check(batch.statements)
    return BatchExecuteStatement(
        statements=[_statement(piece) for piece in batch.statements],
        return_consumed_capacity=batch.return_consumed_capacity,
    )


def _decode_statement_transaction(body: bytes) -> ExecuteTransaction:
    transaction = _statement_transaction(body)
    _check(transaction.transact_statements)
    return ExecuteTransaction(
        transact_statements=[_transaction_statement(piece) for piece in transaction.transact_statements],
        client_request_token=transaction.client_request_token,
        return_consumed_capacity=transaction.return_consumed_capacity,
    )


def _check(pieces: Iterable[msgspec.Raw]) -> None:
    if any(len(memoryview(piece)) > PIECE_BYTES for piece in pieces):
        raise ValidationException(ITEM_TOO_LARGE)
