"""Requests for one item: PutItem, GetItem, UpdateItem, DeleteItem."""

from __future__ import annotations

from typing import Literal

from sortkey.engine.requests.shapes import (
    AttributeMap,
    AttributeNames,
    AttributeValue,
    ComparisonOperator,
    ConditionalOperator,
    NameBindings,
    ReturnConsumedCapacity,
    ReturnItemCollectionMetrics,
    ReturnValues,
    ReturnValuesOnConditionCheckFailure,
    Shape,
    TableName,
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
