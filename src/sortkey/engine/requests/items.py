"""Requests for items: one by one (PutItem, GetItem, UpdateItem, DeleteItem), many of one table or index (Query, Scan,
SearchVectors),
independent ones of several tables (BatchGetItem, BatchWriteItem), and all or nothing (TransactGetItems,
TransactWriteItems).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests.shapes import (
    EMPTY_IS_ABSENT,
    INTEGER_RANGE,
    NAME_PATTERN,
    VALUE_HIDDEN,
    AttributeMap,
    AttributeNames,
    AttributeValue,
    ComparisonOperator,
    ConditionalOperator,
    IndexName,
    NameBindings,
    PositiveInteger,
    ReturnConsumedCapacity,
    ReturnItemCollectionMetrics,
    ReturnValues,
    ReturnValuesOnConditionCheckFailure,
    Shape,
    TableName,
    anchored,
)


class ExpectedAttributeValue(Shape, kw_only=True):
    value: AttributeValue | None = None
    exists: bool | None = None
    comparison_operator: ComparisonOperator | None = None
    attribute_value_list: list[AttributeValue] | None = None


class AttributeValueUpdate(Shape, kw_only=True):
    value: AttributeValue | None = None
    action: Literal["DELETE", "PUT", "ADD"] | None = None


class PutItem(Shape, kw_only=True):
    table_name: TableName
    item: AttributeMap
    expected: dict[str, ExpectedAttributeValue] | None = None
    return_values: ReturnValues | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    conditional_operator: ConditionalOperator | None = None
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class GetItem(Shape, kw_only=True):
    table_name: TableName
    key: AttributeMap
    attributes_to_get: AttributeNames | None = None
    consistent_read: bool | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    projection_expression: str | None = None
    expression_attribute_names: NameBindings | None = None


class UpdateItem(Shape, kw_only=True):
    stops_at_first: ClassVar[bool] = True
    table_name: TableName
    key: AttributeMap
    attribute_updates: dict[str, AttributeValueUpdate] | None = None
    expected: dict[str, ExpectedAttributeValue] | None = None
    conditional_operator: ConditionalOperator | None = None
    return_values: ReturnValues | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    update_expression: str | None = None
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class DeleteItem(Shape, kw_only=True):
    table_name: TableName
    key: AttributeMap
    expected: dict[str, ExpectedAttributeValue] | None = None
    conditional_operator: ConditionalOperator | None = None
    return_values: ReturnValues | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


Select = Literal["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"]


class Condition(Shape, kw_only=True):
    attribute_value_list: list[AttributeValue] | None = None
    comparison_operator: ComparisonOperator


class Query(Shape, kw_only=True):
    table_name: TableName
    index_name: IndexName | None = None
    select: Select | None = None
    attributes_to_get: AttributeNames | None = None
    limit: Annotated[int, Meta(ge=1, le=INTEGER_RANGE[1], extra=VALUE_HIDDEN)] | None = None
    consistent_read: bool | None = None
    key_conditions: dict[str, Condition] | None = None
    query_filter: dict[str, Condition] | None = None
    conditional_operator: ConditionalOperator | None = None
    scan_index_forward: bool | None = None
    exclusive_start_key: AttributeMap | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    projection_expression: str | None = None
    filter_expression: str | None = None
    key_condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None


class Scan(Shape, kw_only=True):
    table_name: TableName
    index_name: IndexName | None = None
    attributes_to_get: AttributeNames | None = None
    limit: PositiveInteger | None = None
    select: Select | None = None
    scan_filter: dict[str, Condition] | None = None
    conditional_operator: ConditionalOperator | None = None
    exclusive_start_key: AttributeMap | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    total_segments: Annotated[int, Meta(ge=1, le=limits.SCAN_SEGMENTS)] | None = None
    segment: Annotated[int, Meta(ge=0, le=limits.SCAN_SEGMENTS - 1)] | None = None
    projection_expression: str | None = None
    filter_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    consistent_read: bool | None = None


class SearchVectors(Shape, kw_only=True):
    table_name: TableName
    index_name: Annotated[str, Meta(min_length=3, max_length=255, pattern=anchored(NAME_PATTERN), extra=VALUE_HIDDEN)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    projection_expression: str | None = None
    search_vector: Annotated[
        list[AttributeValue], Meta(min_length=1, max_length=limits.VECTOR_DIMENSIONS, extra=VALUE_HIDDEN)
    ]
    search_condition_expression: str | None = None
    top_k: Annotated[int, Meta(ge=1, le=INTEGER_RANGE[1], extra=VALUE_HIDDEN)]


class KeysAndAttributes(Shape, kw_only=True):
    keys: Annotated[list[AttributeMap], Meta(min_length=1, max_length=limits.BATCH_GET_KEYS, extra=VALUE_HIDDEN)]
    attributes_to_get: AttributeNames | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: NameBindings | None = None


class BatchGetItem(Shape, kw_only=True):
    request_items: Annotated[
        dict[TableName, KeysAndAttributes], Meta(min_length=1, max_length=limits.BATCH_GET_KEYS, extra=VALUE_HIDDEN)
    ]
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
    request_items: Annotated[
        dict[TableName, WriteRequests],
        Meta(min_length=1, max_length=limits.BATCH_WRITE_REQUESTS, extra={EMPTY_IS_ABSENT: True}),
    ]
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None


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
