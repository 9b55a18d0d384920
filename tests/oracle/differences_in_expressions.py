"""Differences in expressions: rejected on one side only, or with another message."""

from __future__ import annotations

from typing import Any, Final

from sortkey.expressions.parser import parse_update
from tests.oracle.difference import ANSWERED, Difference, Rejected, Request

INVALID: Final = "ValidationException: Invalid …: "

MEETS_THE_ITEM: Final = (
    "ValidationException: The document path provided in the update expression is invalid for update"
    " | ValidationException: The provided expression refers to an attribute that does not exist in the item"
    " | ValidationException: An operand in the update expression has an incorrect data type"
)
"""The errors of an update that fits its table but not its item."""


def scan(condition: str, **values: dict[str, Any]) -> Request:
    request: dict[str, Any] = {"TableName": "plain", "FilterExpression": condition}
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": value for name, value in values.items()}
    return "Scan", request


def has_several_actions(request: Request) -> bool:
    text = request[1].get("UpdateExpression")
    return text is not None and len(parse_update(text)) > 1


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
    Rejected(
        id="several-update-errors",
        why="AWS does not say which error it reports if several actions of an update do not fit the item. We report an "
        "invalid path first, then the last action's error. In DynamoDB Local it depends on the attributes' hash codes.",
        ours=MEETS_THE_ITEM,
        theirs=MEETS_THE_ITEM,
        example=(
            ("PutItem", {"TableName": "plain", "Item": {"pk": {"S": "x"}, "m": {"M": {}}}}),
            (
                "UpdateItem",
                {"TableName": "plain", "Key": {"pk": {"S": "x"}}, "UpdateExpression": "SET li[0] = v, m.y = w"},
            ),
        ),
        of=has_several_actions,
    ),
)
