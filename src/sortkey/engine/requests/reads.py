"""Requests for many items of one table or index: Query, Scan."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests.shapes import (
    AttributeMap,
    AttributeNames,
    AttributeValue,
    ComparisonOperator,
    ConditionalOperator,
    IndexName,
    NameBindings,
    PositiveInteger,
    ReturnConsumedCapacity,
    Shape,
    TableName,
)

Select = Literal["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"]


class Condition(Shape, kw_only=True):
    attribute_value_list: list[AttributeValue] | None = None
    comparison_operator: ComparisonOperator


class Query(Shape, kw_only=True):
    table_name: TableName
    index_name: IndexName | None = None
    select: Select | None = None
    attributes_to_get: AttributeNames | None = None
    limit: PositiveInteger | None = None
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
