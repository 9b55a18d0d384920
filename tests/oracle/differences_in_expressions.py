"""Differences in expressions: rejected on one side only, or with another message."""

from __future__ import annotations

from typing import Any, Final

from tests.oracle.difference import ANSWERED, Difference, Rejected, Request

INVALID: Final = "ValidationException: Invalid …: "


def scan(condition: str, **values: dict[str, Any]) -> Request:
    request: dict[str, Any] = {"TableName": "plain", "FilterExpression": condition}
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": value for name, value in values.items()}
    return "Scan", request


DIFFERENCES: Final[tuple[Difference, ...]] = (
    Rejected(
        id="reserved-size",
        why="SIZE is a reserved word. DynamoDB Local accepts it as a name if no parenthesis follows.",
        ours=f"{INVALID}Attribute name is a reserved keyword; reserved keyword: size",
        theirs=f"{ANSWERED} | ConditionalCheckFailedException: …",
        example=(scan("size = :v", v={"S": "x"}),),
    ),
    Rejected(
        id="attribute-type-listing",
        why="The order of the types that `attribute_type` lists changes with each start of Java.",
        ours=f"{INVALID}…; operator or function: attribute_type, operand type: {{…}}",
        theirs=f"{INVALID}…; operator or function: attribute_type, operand type: {{…}}",
        example=(scan("attribute_type(a, b)"),),
    ),
    Rejected(
        id="binary-bounds",
        why="A message with binary bounds has their content in our case, and a Java object in DynamoDB Local's.",
        ours=f"{INVALID}The BETWEEN operator requires …",
        theirs=f"{INVALID}The BETWEEN operator requires …HeapByteBuffer…",
        example=(scan("a BETWEEN :l AND :h", l={"B": "YWI="}, h={"S": ""}),),
    ),
    Rejected(
        id="projection-size",
        why="The message about a long expression ends in its size; DynamoDB Local leaves it out for projections.",
        ours=f"{INVALID}Expression size has exceeded the maximum allowed size; expression size: …",
        theirs=f"{INVALID}Expression size has exceeded the maximum allowed size;",
        example=(("Scan", {"TableName": "plain", "ProjectionExpression": "pk".ljust(4097)}),),
    ),
)
