"""Requests for independent items of several tables: BatchGetItem, BatchWriteItem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests.shapes import (
    AttributeMap,
    AttributeNames,
    NameBindings,
    ReturnConsumedCapacity,
    ReturnItemCollectionMetrics,
    Shape,
    TableName,
)


class KeysAndAttributes(Shape, kw_only=True):
    keys: Annotated[list[AttributeMap], Meta(min_length=1, max_length=limits.BATCH_GET_KEYS)]
    attributes_to_get: AttributeNames | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: NameBindings | None = None


class BatchGetItem(Shape, kw_only=True):
    request_items: Annotated[dict[TableName, KeysAndAttributes], Meta(min_length=1, max_length=limits.BATCH_GET_KEYS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None


class PutRequest(Shape, kw_only=True):
    item: AttributeMap


class DeleteRequest(Shape, kw_only=True):
    key: AttributeMap


class WriteRequest(Shape, kw_only=True):
    put_request: PutRequest | None = None
    delete_request: DeleteRequest | None = None


# A list, or a sequence that decodes each request when it is taken (see `pieces`).
WriteRequests = Annotated[Sequence[WriteRequest], Meta(min_length=1, max_length=limits.BATCH_WRITE_REQUESTS)]


class BatchWriteItem(Shape, kw_only=True):
    request_items: Annotated[dict[TableName, WriteRequests], Meta(min_length=1, max_length=limits.BATCH_WRITE_REQUESTS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
