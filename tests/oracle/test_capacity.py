"""ReturnConsumedCapacity: what reads and writes of every size take, from the table and from its indexes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.pair import Pair

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
DETAILS = ["NONE", "TOTAL", "INDEXES"]
SIZES = [0, 900, 1000, 1010, 1020, 1024, 2048, 4000, 4070, 4080, 4090, 4096, 8192, 100_000]


def sized(size: int, **attributes: Any) -> dict[str, Any]:
    """An item with `size` bytes besides its key."""
    return KEY | {"x": {"S": "x" * size}} | attributes


@pytest.mark.parametrize("size", SIZES)
def test_by_size(orders: Pair, size: int) -> None:
    for detail in DETAILS:
        options = {"TableName": "orders", "ReturnConsumedCapacity": detail}
        orders.answer("PutItem", Item=sized(size), **options)
        orders.answer("PutItem", Item=sized(10), **options)
        orders.answer("PutItem", Item=sized(size), **options)
        for consistent in (True, False):
            orders.answer("GetItem", Key=KEY, ConsistentRead=consistent, **options)
            orders.answer("Scan", ConsistentRead=consistent, **options)
        orders.answer("UpdateItem", Key=KEY, UpdateExpression="SET y = sk", **options)
        orders.answer("UpdateItem", Key=KEY, UpdateExpression="REMOVE x", **options)
        orders.answer("DeleteItem", Key=KEY, **options)


# Changes of an index row are charged to the index: two writes if its key changes.
@pytest.mark.parametrize("size", [10, 1500])
def test_writes_through_indexes(orders: Pair, size: int) -> None:
    both = {"n": {"N": "1"}, "kind": {"S": "k"}}
    steps: list[dict[str, Any]] = [
        sized(size),
        sized(size, **both),
        sized(size, **both),
        sized(size, **both, note={"S": "x" * size}),
        sized(size, n={"N": "2"}, kind={"S": "k"}),
        sized(size, n={"N": "2"}, kind={"S": "other"}, city={"S": "c"}),
        sized(size, n={"N": "2"}, kind={"S": "other"}, city={"S": "c"}, extra={"S": "not projected"}),
        sized(size, city={"S": "c"}, note={"S": "projected"}),
        sized(size),
    ]
    for item in steps:
        orders.answer("PutItem", TableName="orders", Item=item, ReturnConsumedCapacity="INDEXES")
        orders.answer("PutItem", TableName="orders", Item=item, ReturnConsumedCapacity="TOTAL")
    orders.answer("PutItem", TableName="orders", Item=steps[5], ReturnConsumedCapacity="INDEXES")
    orders.answer("DeleteItem", TableName="orders", Key=KEY, ReturnConsumedCapacity="INDEXES")
    orders.answer("DeleteItem", TableName="orders", Key=KEY, ReturnConsumedCapacity="INDEXES")


@pytest.mark.parametrize("target", ["by_n", "by_b", "by_kind", "by_city", "by_sk"])
@pytest.mark.parametrize("count", [1, 5])
def test_reads_of_indexes(orders: Pair, target: str, count: int) -> None:
    for number in range(count):
        item = {
            "pk": {"S": "p"},
            "sk": {"S": f"s{number}"},
            "n": {"N": str(number)},
            "b": {"B": "YQ=="},
            "kind": {"S": "p"},
            "city": {"S": "p"},
            "note": {"S": "x" * 1300},
        }
        orders.answer("PutItem", TableName="orders", Item=item)
    for detail in DETAILS:
        orders.answer("Scan", TableName="orders", IndexName=target, ReturnConsumedCapacity=detail, Select="COUNT")


def test_failed_conditions(orders: Pair) -> None:
    """An error has no ConsumedCapacity, on either side."""
    orders.answer("PutItem", TableName="orders", Item=sized(3000))
    orders.error(
        "PutItem",
        TableName="orders",
        Item=KEY,
        ConditionExpression="attribute_not_exists(pk)",
        ReturnConsumedCapacity="TOTAL",
    )


def test_item_collection_metrics(orders: Pair) -> None:
    orders.answer("PutItem", TableName="orders", Item=sized(10), ReturnItemCollectionMetrics="SIZE")
    orders.answer("DeleteItem", TableName="orders", Key=KEY, ReturnItemCollectionMetrics="SIZE")
