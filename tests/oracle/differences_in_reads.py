"""Differences in Query and Scan: rejected on one side only, or with another message."""

from __future__ import annotations

from typing import Any, Final

from tests.oracle.difference import ANSWERED, Difference, Rejected, Request

VALIDATION: Final = "ValidationException: "
INVALID: Final = f"{VALIDATION}One or more parameter values were invalid: "


def query(condition: str, **members: Any) -> tuple[Request]:
    values = {name: {"S": "x"} for name in (":p", ":s") if name in condition}
    request = {"TableName": "orders", "KeyConditionExpression": condition, "ExpressionAttributeValues": values}
    return (("Query", request | members),)


def scan(**members: Any) -> tuple[Request]:
    return (("Scan", {"TableName": "orders"} | members),)


DIFFERENCES: Final[tuple[Difference, ...]] = (
    Rejected(
        id="parts-of-keys",
        why="AWS's message for a condition on a part of an attribute, be it a key or not.",
        ours=f"{VALIDATION}Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested "
        "attributes",
        theirs=f"{VALIDATION}KeyConditionExpressions cannot have conditions on nested attributes | "
        f"{VALIDATION}Key attributes must be scalars; …",
        example=(
            (
                "Query",
                {
                    "TableName": "plain",
                    "KeyConditionExpression": "pk.a = :p",
                    "ExpressionAttributeValues": {":p": {"S": "x"}},
                },
            ),
        ),
    ),
    Rejected(
        id="key-condition-lacks-key",
        why="AWS names the key attribute that a query lacks.",
        ours=f"{VALIDATION}Query condition missed key schema element: …",
        theirs=f"{VALIDATION}Query condition missed key schema element",
        example=query("sk = :s"),
    ),
    Rejected(
        id="consistent-global-scan",
        why="AWS's message.",
        ours=f"{VALIDATION}Consistent reads are not supported on global secondary indexes",
        theirs=f"{VALIDATION}Consistent read cannot be true when scanning a GSI",
        example=scan(IndexName="by_kind", ConsistentRead=True),
    ),
    Rejected(
        id="scan-filter-projection",
        why="A filter on attributes that an index does not hold is rejected in a scan as it is in a query; DynamoDB "
        "Local looks the attributes up in the table.",
        ours=f"{INVALID}Secondary index … does not project one or more filter attributes: […]",
        theirs=ANSWERED,
        example=scan(IndexName="by_sk", FilterExpression="attribute_exists(n)"),
    ),
    Rejected(
        id="scan-segments",
        why="AWS's message for invalid segments.",
        ours=f"{VALIDATION}The TotalSegments parameter is required but was not present … | "
        f"{VALIDATION}The Segment parameter is required but was not present … | "
        f"{VALIDATION}The Segment parameter is zero-based and must be less than parameter TotalSegments: …",
        theirs=f"{VALIDATION}If segment is specified, total segment must also be specified | "
        f"{VALIDATION}If total segments is specified, a particular segment must also be specified for this request | "
        f"{VALIDATION}1 validation error detected: Value … at 'segment' failed to satisfy constraint: …",
        example=scan(Segment=0),
    ),
    Rejected(
        id="start-key-outside",
        why="AWS distinguishes a starting key of another partition from one outside the sort key range.",
        ours=f"{VALIDATION}The provided starting key is outside query boundaries based on provided conditions",
        theirs=f"{VALIDATION}The provided starting key does not match the range key predicate",
        example=query("pk = :p", ExclusiveStartKey={"pk": {"S": "other"}, "sk": {"S": "x"}}),
    ),
)
