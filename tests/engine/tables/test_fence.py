from __future__ import annotations

from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import table

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"
KEY = {"p": {"S": "a"}, "s": {"N": "1"}}
ITEM = {**KEY, "v": {"N": "1"}}
MOVED = "Nothing was written: table orders has moved to http://db:8000"
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"TableName": "orders", "Item": ITEM}),
    ("UpdateItem", {"TableName": "orders", "Key": KEY}),
    ("DeleteItem", {"TableName": "orders", "Key": KEY}),
    ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": ITEM}}]}}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "orders", "Item": ITEM}}]}),
    ("ExecuteStatement", {"Statement": "DELETE FROM orders WHERE p = 'a' AND s = 1"}),
]


def fence(call: Call, value: str) -> None:
    call("TagResource", ResourceArn=ARN, Tags=[{"Key": "sortkey:fence", "Value": value}])


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call("CreateTable", **table())
    call("CreateTable", **table("others"))
    call("PutItem", TableName="orders", Item=ITEM)


@pytest.mark.parametrize(("operation", "members"), WRITES)
def test_a_fenced_table_takes_no_write(
    call: Call, expect_error: ExpectError, operation: str, members: dict[str, Any]
) -> None:
    fence(call, "moved to http://db:8000")
    with expect_error("TableMovedException", MOVED):
        call(operation, **members)
    assert call("GetItem", TableName="orders", Key=KEY)["Item"] == ITEM


def test_other_tables_are_free(call: Call) -> None:
    fence(call, "moved to http://db:8000")
    call("PutItem", TableName="others", Item=ITEM)


# A copy that is killed while it completes leaves no fence.
def test_a_fence_for_a_moment_falls_by_itself(call: Call, clock: ManualClock, expect_error: ExpectError) -> None:
    fence(call, f"until {clock.now() + 30:.3f}")
    clock.advance(29)
    with expect_error(
        "TableFencedException", "Nothing was written: table orders is fenced for a moment; try again"
    ) as e:
        call("PutItem", TableName="orders", Item=ITEM)
    assert (e.value.status, e.value.retryable) == (503, True)
    clock.advance(2)
    call("PutItem", TableName="orders", Item=ITEM)


def test_a_fence_is_lifted_with_its_tag(call: Call) -> None:
    fence(call, "moved to http://db:8000")
    call("UntagResource", ResourceArn=ARN, TagKeys=["sortkey:fence"])
    call("PutItem", TableName="orders", Item=ITEM)


# Otherwise the copy would have rows that the fenced table has not.
def test_items_do_not_expire_behind_a_fence(db: Database, call: Call, clock: ManualClock) -> None:
    enabled = {"Enabled": True, "AttributeName": "expires"}
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification=enabled)
    call("PutItem", TableName="orders", Item={**ITEM, "expires": {"N": str(int(clock.now()) + 10)}})
    fence(call, f"until {clock.now() + 60:.3f}")
    clock.advance(30)
    db.janitor.sweep()
    assert call("Scan", TableName="orders")["Count"] == 1
    clock.advance(60)
    db.janitor.sweep()
    assert call("Scan", TableName="orders")["Count"] == 0
