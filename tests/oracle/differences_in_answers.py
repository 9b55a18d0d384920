"""Differences where both sides answer, and DynamoDB Local's answer is not AWS's."""

from __future__ import annotations

from typing import Final

from tests.oracle import corrections
from tests.oracle.difference import Answered, Difference

KEY: Final = {"pk": {"S": "x"}}
ORDER: Final = KEY | {"sk": {"S": "y"}}

DIFFERENCES: Final[tuple[Difference, ...]] = (
    Answered(
        id="superfluous-zeros",
        why="Numbers are returned without superfluous zeros everywhere.",
        local="Returns zeros inside documents, in sets that an update returns, and in results of arithmetic.",
        corrected=corrections.canonical_numbers,
        example=(
            ("PutItem", {"TableName": "plain", "Item": KEY | {"a": {"L": [{"N": "7.0"}]}}}),
            ("GetItem", {"TableName": "plain", "Key": KEY}),
        ),
    ),
    Answered(
        id="updated-parts",
        why="If an update changes a part of a document, UPDATED_OLD and UPDATED_NEW return only that part.",
        local="Returns the whole document.",
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
        local="Always returns it when a missing item is deleted.",
        corrected=corrections.unasked_capacity,
        example=(("DeleteItem", {"TableName": "plain", "Key": {"pk": {"S": "gone"}}}),),
    ),
    Answered(
        id="nothing-projected",
        why="A response of TransactGetItems is empty if the projection leaves nothing of the item.",
        local="Has an empty Item.",
        corrected=corrections.nothing_projected,
        example=(
            ("PutItem", {"TableName": "plain", "Item": KEY}),
            (
                "TransactGetItems",
                {"TransactItems": [{"Get": {"TableName": "plain", "Key": KEY, "ProjectionExpression": "a"}}]},
            ),
        ),
    ),
    Answered(
        id="empty-reads",
        why="A query or scan that finds nothing takes half a unit, or one when it is consistent.",
        local="Takes nothing for it.",
        corrected=corrections.empty_reads,
        example=(("Scan", {"TableName": "plain", "ReturnConsumedCapacity": "TOTAL"}),),
    ),
    Answered(
        id="local-index-fetches",
        why="Reading a local index takes units from the table when attributes are asked for that the index does not "
        "hold, and only then.",
        local="Takes them for any ProjectionExpression of a query, and never for one of a scan.",
        corrected=corrections.fetches_of_local_indexes,
        example=(
            ("PutItem", {"TableName": "orders", "Item": ORDER | {"b": {"B": "YQ=="}, "note": {"S": "x"}}}),
            (
                "Scan",
                {
                    "TableName": "orders",
                    "IndexName": "by_b",
                    "ProjectionExpression": "note",
                    "ReturnConsumedCapacity": "INDEXES",
                },
            ),
        ),
    ),
    Answered(
        id="half-index-keys",
        why="An item that lacks one of an index's key attributes is not in the index, and takes no unit of it.",
        local="Takes a unit if the old item has one of the two attributes and the new item has the other.",
        corrected=corrections.half_index_keys,
        example=(
            ("PutItem", {"TableName": "orders", "Item": ORDER | {"kind": {"S": "k"}}}),
            (
                "PutItem",
                {"TableName": "orders", "Item": ORDER | {"n": {"N": "1"}}, "ReturnConsumedCapacity": "INDEXES"},
            ),
        ),
    ),
    Answered(
        id="index-rows",
        why="Reading and writing an index takes units by the size of its rows, which hold what is projected.",
        local="Measures whole items when it reads, and adds to the size of a local index's rows when it writes.",
        corrected=corrections.units_of_index_rows,
        example=(
            *(
                (
                    "PutItem",
                    {"TableName": "orders", "Item": {"pk": KEY["pk"], "sk": {"S": name}, "x": {"S": "x" * 3000}}},
                )
                for name in "ab"
            ),
            ("Scan", {"TableName": "orders", "IndexName": "by_sk", "ReturnConsumedCapacity": "INDEXES"}),
        ),
    ),
    Answered(
        id="missing-items-of-batches",
        why="A key without an item takes the smallest unit of BatchGetItem, as it does of GetItem.",
        local="Takes nothing for it.",
        corrected=corrections.missing_items_of_batches,
        example=(("BatchGetItem", {"RequestItems": {"plain": {"Keys": [KEY]}}, "ReturnConsumedCapacity": "TOTAL"}),),
    ),
    Answered(
        id="transaction-units",
        why="A transaction takes twice the units of its writes and reads, and reports read and write units everywhere.",
        local="Takes other numbers for several writes or for indexes, and does not split the details.",
        corrected=corrections.units_of_transactions,
        example=(
            (
                "TransactWriteItems",
                {
                    "TransactItems": [
                        {"Put": {"TableName": "plain", "Item": KEY}},
                        {"Delete": {"TableName": "plain", "Key": {"pk": {"S": "gone"}}}},
                    ],
                    "ReturnConsumedCapacity": "INDEXES",
                },
            ),
        ),
    ),
    Answered(
        id="cancellation-full-stop",
        why="The message of a failed condition among CancellationReasons is that of a failed condition elsewhere.",
        local="Adds a full stop.",
        corrected=corrections.reasons_without_full_stop,
        example=(
            (
                "TransactWriteItems",
                {
                    "TransactItems": [
                        {
                            "ConditionCheck": {
                                "TableName": "plain",
                                "Key": {"pk": {"S": "gone"}},
                                "ConditionExpression": "attribute_exists(pk)",
                            }
                        }
                    ]
                },
            ),
        ),
    ),
    Answered(
        id="collection-metrics",
        why="ItemCollectionMetrics are returned for tables with local indexes.",
        local="Never returns them.",
        corrected=corrections.no_collection_metrics,
        example=(("PutItem", {"TableName": "orders", "Item": ORDER, "ReturnItemCollectionMetrics": "SIZE"}),),
    ),
    Answered(
        id="batch-deletes-of-nothing",
        why="Deleting a missing item takes one unit, in a batch as in DeleteItem.",
        local="Takes two for it in a batch.",
        corrected=corrections.batch_deletes_of_nothing,
        example=(
            (
                "BatchWriteItem",
                {"RequestItems": {"plain": [{"DeleteRequest": {"Key": KEY}}]}, "ReturnConsumedCapacity": "TOTAL"},
            ),
        ),
    ),
    Answered(
        id="filtered-pages",
        why="A page ends after a megabyte of rows read, before the filter.",
        local="Counts only the rows that pass the filter.",
        corrected=corrections.filtered_pages,
        example=(
            *(
                ("PutItem", {"TableName": "orders", "Item": KEY | {"sk": {"S": name}, "x": {"S": "x" * 400_000}}})
                for name in "abcd"
            ),
            (
                "Query",
                {
                    "TableName": "orders",
                    "KeyConditionExpression": "pk = :p",
                    "FilterExpression": "attribute_exists(gone)",
                    "ExpressionAttributeValues": {":p": KEY["pk"]},
                },
            ),
        ),
    ),
)
