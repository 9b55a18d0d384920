"""Keys: how they must look in a `Key` and in an `Item`, of every type, in tables and in indexes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.samples import BY_TYPE
from tests.oracle.tables import table

KEYS: dict[str, dict[str, Any]] = {
    "both": {"pk": {"S": "p"}, "sk": {"S": "s"}},
    "no sort key": {"pk": {"S": "p"}},
    "no partition key": {"sk": {"S": "s"}},
    "neither": {"a": {"S": "s"}},
    "one too many": {"pk": {"S": "p"}, "sk": {"S": "s"}, "a": {"S": "s"}},
    "wrong second": {"pk": {"S": "p"}, "a": {"S": "s"}},
    "empty partition key": {"pk": {"S": ""}, "sk": {"S": "s"}},
    "empty sort key": {"pk": {"S": "p"}, "sk": {"S": ""}},
    "partition key of another type": {"pk": {"N": "1"}, "sk": {"S": "s"}},
    "sort key of another type": {"pk": {"S": "p"}, "sk": {"N": "1"}},
    "both of another type": {"pk": {"N": "1"}, "sk": {"N": "1"}},
    "largest": {"pk": {"S": "p" * 2048}, "sk": {"S": "s" * 1024}},
    "partition key too long": {"pk": {"S": "p" * 2049}, "sk": {"S": "s"}},
    "sort key too long": {"pk": {"S": "p"}, "sk": {"S": "s" * 1025}},
    "long in bytes": {"pk": {"S": "ä" * 1025}, "sk": {"S": "s"}},
    "empty": {},
}


@pytest.mark.parametrize("case", KEYS)
def test_keys_that_fit_or_not(orders: Pair, case: str) -> None:
    key = KEYS[case]
    orders.same("PutItem", TableName="orders", Item=key)
    orders.same("GetItem", TableName="orders", Key=key)
    orders.same("UpdateItem", TableName="orders", Key=key, UpdateExpression="REMOVE z")
    orders.same("DeleteItem", TableName="orders", Key=key)
    orders.same("BatchGetItem", RequestItems={"orders": {"Keys": [key]}})
    orders.same("BatchWriteItem", RequestItems={"orders": [{"PutRequest": {"Item": key}}]})
    orders.same("BatchWriteItem", RequestItems={"orders": [{"DeleteRequest": {"Key": key}}]})
    orders.same("Scan", TableName="orders", ExclusiveStartKey=key, Limit=1)


@pytest.mark.parametrize("variant", BY_TYPE)
def test_key_attributes_of_every_type(orders: Pair, variant: str) -> None:
    key = {"pk": BY_TYPE[variant], "sk": {"S": "s"}}
    orders.same("PutItem", TableName="orders", Item=key)
    orders.same("GetItem", TableName="orders", Key=key)


# An item may lack an index's key, but if it has it, it must have the declared type and not be empty.
@pytest.mark.parametrize("attribute", ["n", "b", "kind", "city"])
@pytest.mark.parametrize("variant", [*BY_TYPE, "S-empty", "B-empty", "S-long", "B-long"])
def test_index_keys_of_every_type(orders: Pair, attribute: str, variant: str) -> None:
    values = BY_TYPE | {
        "S-empty": {"S": ""},
        "B-empty": {"B": ""},
        "S-long": {"S": "x" * 2049},
        "B-long": {"B": "YWJj" * 400},
    }
    key = {"pk": {"S": "p"}, "sk": {"S": "s"}}
    others = {"n": {"N": "1"}, "kind": {"S": "k"}}
    orders.same("PutItem", TableName="orders", Item=key | {attribute: values[variant]})
    orders.same("PutItem", TableName="orders", Item=key | others | {attribute: values[variant]})
    orders.same(
        "BatchWriteItem", RequestItems={"orders": [{"PutRequest": {"Item": key | {attribute: values[variant]}}}]}
    )
    orders.same("Scan", TableName="orders")
    update = {"UpdateExpression": "SET #a = :v", "ExpressionAttributeNames": {"#a": attribute}}
    orders.same("UpdateItem", TableName="orders", Key=key, **update, ExpressionAttributeValues={":v": values[variant]})


NUMBERS = (
    "0 -1 1 -1.5 1.5 10 9 -10 -9 1e10 -1e10 1e-10 -1e-10 0.1 99 100 123456789.123456789 9e125 -9e125 1e-130".split()
)
BINARIES = ["AA==", "AAA=", "AAE=", "AQ==", "/w==", "//8=", "/wA=", "YWJj", "YWI="]
STRINGS = ["a", "A", "b", "ab", "a\u0000", "a\u0000b", "ä", "z", "\uffff", "\U0001f600", "~", " ", "a b"]
ORDERED = {"S": STRINGS, "N": NUMBERS, "B": BINARIES}


@pytest.mark.parametrize("variant", ORDERED)
def test_sort_keys_are_ordered(pair: Pair, variant: str) -> None:
    pair.create(table("sorted", "pk", "sk", types=f"sk:{variant}"))
    pair.each(
        ("PutItem", {"TableName": "sorted", "Item": {"pk": {"S": "p"}, "sk": {variant: value}}})
        for value in ORDERED[variant]
    )
    request = {
        "TableName": "sorted",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
    }
    assert len(pair.answer("Query", **request)["Items"]) == len(ORDERED[variant])
    pair.answer("Query", **request, ScanIndexForward=False)


@pytest.mark.parametrize("variant", ORDERED)
def test_partition_keys_of_every_type(pair: Pair, variant: str) -> None:
    pair.create(table("sorted", "pk", types=f"pk:{variant}"))
    pair.each(("PutItem", {"TableName": "sorted", "Item": {"pk": {variant: value}}}) for value in ORDERED[variant])
    pair.each(("GetItem", {"TableName": "sorted", "Key": {"pk": {variant: value}}}) for value in ORDERED[variant])
    pair.answer("Scan", TableName="sorted")


# 1 and 1.0 are one number, so one key.
@pytest.mark.parametrize("same", ["1.0", "1e0", "+1", "01", "10e-1", "0.1e1"])
def test_equal_numbers_are_one_key(pair: Pair, same: str) -> None:
    pair.create(table("numbered", "pk", types="pk:N"))
    pair.answer("PutItem", TableName="numbered", Item={"pk": {"N": "1"}, "a": {"S": "first"}})
    pair.answer("PutItem", TableName="numbered", Item={"pk": {"N": same}, "a": {"S": "second"}}, ReturnValues="ALL_OLD")
    pair.answer("Scan", TableName="numbered")
