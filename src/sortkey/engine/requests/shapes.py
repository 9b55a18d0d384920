"""What the members of requests are made of: the scalar shapes of AWS's service model, each declared once.

A shape is a type with its bounds as `msgspec.Meta`, or a `Literal` for a set of words. msgspec checks them in C on the
fast path; `schema` reads the very same annotations when AWS's words are wanted for why a request was rejected.

The words of a `Literal` stand in the order of AWS's error messages where that is known, else of the service model. Maps
of attribute values stay plain dictionaries: `values.attribute` looks into them. A title is the Java name of a type,
where Python's does not tell.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sortkey import limits

JAVA_PACKAGE = "com.amazonaws.dynamodb.v20120810"

ACRONYMS = {
    "sse_specification": "SSESpecification",
    "sse_type": "SSEType",
    "kms_master_key_id": "KMSMasterKeyId",
}


def member_name(field: str) -> str:
    """AWS's name of a field: `table_name` is `TableName`."""
    return ACRONYMS.get(field) or "".join(word.capitalize() for word in field.split("_"))


# Requests hold no cycles, so the garbage collector need not track them; that saves up to a third of their cost.
class Shape(msgspec.Struct, kw_only=True, gc=False, rename=member_name):
    """A structure of the service model, its fields in the model's order: the order in which errors are reported."""


def anchored(pattern: str) -> str:
    """AWS's pattern, to match all of a text: msgspec searches, and `$` would let a last line break pass."""
    return rf"\A{pattern}\Z"


def unanchored(pattern: str) -> str:
    """The pattern as AWS wrote it."""
    return pattern.removeprefix(r"\A").removesuffix(r"\Z")


NAME_PATTERN = "[a-zA-Z0-9_.-]+"
PARAMETER_REQUIRED = "parameter required"
"""Marks a member whose absence is reported before, and apart from, all other constraints."""

# A table is named or given by its ARN, so the model bounds the length only; `table_name_of` knows the rules of names.
TableName = Annotated[str, Meta(min_length=1, max_length=1024)]
TableParameter = Annotated[str, Meta(min_length=1, max_length=1024, extra={PARAMETER_REQUIRED: True})]
PlainTableName = Annotated[str, Meta(min_length=3, max_length=255, pattern=anchored(NAME_PATTERN))]
IndexName = Annotated[str, Meta(min_length=3, max_length=255, pattern=anchored(NAME_PATTERN))]
ResourceArn = Annotated[str, Meta(min_length=1, max_length=1283)]
BackupArn = Annotated[str, Meta(min_length=37, max_length=1024)]

AttributeMap = dict[str, Any]
AttributeValue = Annotated[dict[str, Any], Meta(title="AttributeValue")]
AttributeName = Annotated[str, Meta(max_length=limits.ATTRIBUTE_NAME_BYTES - 1)]
AttributeNames = Annotated[list[AttributeName], Meta(min_length=1)]
KeyAttributeName = Annotated[str, Meta(min_length=1, max_length=limits.KEY_ATTRIBUTE_NAME_BYTES)]
NameBindings = dict[str, AttributeName]

PositiveInteger = Annotated[int, Meta(ge=1)]
PositiveLong = Annotated[int, Meta(ge=1, title="Long")]
Long = Annotated[int, Meta(title="Long")]
Timestamp = float
"""Seconds since the epoch."""

ReturnConsumedCapacity = Literal["INDEXES", "TOTAL", "NONE"]
ReturnItemCollectionMetrics = Literal["SIZE", "NONE"]
ReturnValues = Literal["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"]
ReturnValuesOnConditionCheckFailure = Literal["ALL_OLD", "NONE"]
ConditionalOperator = Literal["OR", "AND"]
ComparisonOperator = Literal[
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
]
