"""Requests that succeed or fail as a whole: TransactGetItems, TransactWriteItems."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests.shapes import (
    AttributeMap,
    NameBindings,
    ReturnConsumedCapacity,
    ReturnItemCollectionMetrics,
    ReturnValuesOnConditionCheckFailure,
    Shape,
    TableName,
)


class Get(Shape, kw_only=True):
    key: AttributeMap
    table_name: TableName
    projection_expression: str | None = None
    expression_attribute_names: NameBindings | None = None


class TransactGetItem(Shape, kw_only=True):
    get: Get


class TransactGetItems(Shape, kw_only=True):
    transact_items: Annotated[list[TransactGetItem], Meta(min_length=1, max_length=limits.TRANSACTION_ACTIONS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None


class ConditionCheck(Shape, kw_only=True):
    key: AttributeMap
    table_name: TableName
    condition_expression: str
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class Put(Shape, kw_only=True):
    item: AttributeMap
    table_name: TableName
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class Delete(Shape, kw_only=True):
    key: AttributeMap
    table_name: TableName
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class Update(Shape, kw_only=True):
    key: AttributeMap
    update_expression: str
    table_name: TableName
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class TransactWriteItem(Shape, kw_only=True):
    condition_check: ConditionCheck | None = None
    put: Put | None = None
    delete: Delete | None = None
    update: Update | None = None


class TransactWriteItems(Shape, kw_only=True):
    transact_items: Annotated[list[TransactWriteItem], Meta(min_length=1, max_length=limits.TRANSACTION_ACTIONS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    client_request_token: Annotated[str, Meta(min_length=1, max_length=36)] | None = None
