"""Where both sides answer, and DynamoDB Local not as AWS does."""

from __future__ import annotations

from typing import Final

from tests.oracle import corrections
from tests.oracle.difference import Answered, Difference

KEY: Final = {"pk": {"S": "x"}}

DIFFERENCES: Final[tuple[Difference, ...]] = (
    Answered(
        id="superfluous-zeros",
        why="Numbers are given back without superfluous zeros, wherever they stand.",
        local="Gives back zeros inside documents, in sets that an update has returned, and in results of arithmetic.",
        corrected=corrections.canonical_numbers,
        example=(
            ("PutItem", {"TableName": "plain", "Item": KEY | {"a": {"L": [{"N": "7.0"}]}}}),
            ("GetItem", {"TableName": "plain", "Key": KEY}),
        ),
    ),
    Answered(
        id="updated-parts",
        why="Of a document that an update has changed in part, UPDATED_OLD and UPDATED_NEW return that part.",
        local="Returns all of the document.",
        corrected=corrections.updated_parts,
        example=(
            ("PutItem", {"TableName": "plain", "Item": KEY | {"m": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}}}}),
            (
                "UpdateItem",
                {
                    "TableName": "plain",
                    "Key": KEY,
                    "UpdateExpression": "REMOVE m.x",
                    "ReturnValues": "UPDATED_OLD",
                },
            ),
        ),
    ),
    Answered(
        id="unasked-capacity",
        why="ConsumedCapacity is returned only when it is asked for.",
        local="Always returns it when an item that is not there is deleted.",
        corrected=corrections.unasked_capacity,
        example=(("DeleteItem", {"TableName": "plain", "Key": {"pk": {"S": "gone"}}}),),
    ),
)
