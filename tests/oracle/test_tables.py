"""Tables: made, described, listed, changed, tagged and dropped."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.both import in_turn
from tests.oracle.pair import Pair
from tests.oracle.tables import ORDERS, PLAIN, index, keys, table

# DynamoDB Local goes on working on a changed table for a while.
pytestmark = pytest.mark.own_namespace

UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 3}
PROVISIONED: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}

GOOD: dict[str, dict[str, Any]] = {
    "plain": PLAIN,
    "orders": ORDERS,
    "provisioned": table("provisioned", "pk", **PROVISIONED),
    "streamed": table("streamed", "pk", StreamSpecification=STREAM),
    "protected": table("protected", "pk", DeletionProtectionEnabled=True),
    "numbers": table("numbers", "pk", "sk", types="pk:N sk:B"),
}


@pytest.mark.parametrize("case", GOOD)
def test_life_of_a_table(pair: Pair, case: str) -> None:
    name = {"TableName": GOOD[case]["TableName"]}
    pair.answer("CreateTable", **GOOD[case])
    pair.answer("DescribeTable", **name)
    pair.error("CreateTable", **GOOD[case])
    pair.answer("ListTables")
    pair.same("DeleteTable", **name)
    pair.same("DescribeTable", **name)


def defined(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


BAD: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no keys": {"TableName": "tab", "AttributeDefinitions": defined("pk")},
    "empty keys": table("tab") | {"AttributeDefinitions": defined("pk")},
    "three keys": table("tab", "pk", "sk") | {"KeySchema": [*keys("pk", "sk"), *keys("x")]},
    "two partition keys": table("tab", "pk", "sk") | {"KeySchema": [*keys("pk"), *keys("sk")]},
    "sort key first": table("tab", "pk", "sk") | {"KeySchema": keys("pk", "sk")[::-1]},
    "same key twice": table("tab", "pk") | {"KeySchema": keys("pk", "pk")},
    "undefined key": table("tab", "pk") | {"AttributeDefinitions": defined("x")},
    "defined for nothing": table("tab", "pk") | {"AttributeDefinitions": defined("pk", "x")},
    "defined twice": table("tab", "pk") | {"AttributeDefinitions": defined("pk", "pk")},
    "type of no key": table("tab", "pk", types="pk:BOOL"),
    "short name": table("ta", "pk"),
    "wrong name": table("ta/b", "pk"),
    "no units": {name: value for name, value in table("tab", "pk").items() if name != "BillingMode"},
    "units on demand": table("tab", "pk", ProvisionedThroughput=UNITS),
    "provisioned without units": table("tab", "pk", BillingMode="PROVISIONED"),
    "zero units": table("tab", "pk", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS | {"ReadCapacityUnits": 0}),
    "unknown billing": table("tab", "pk", BillingMode="FREE"),
    "stream without view": table("tab", "pk", StreamSpecification={"StreamEnabled": True}),
    "no stream with view": table("tab", "pk", StreamSpecification=STREAM | {"StreamEnabled": False}),
    "two indexes of a name": table("tab", "pk", global_=[index("same", "a"), index("same", "b")]),
    "index of a wrong projection": table("tab", "pk", global_=[index("index", "a", include="SOME")]),
    "index that includes nothing": table("tab", "pk", global_=[index("index", "a", include="INCLUDE")]),
    "index that includes too much": table("tab", "pk", global_=[index("index", "a", include=["b"] * 2)]),
    "index without keys": table("tab", "pk", global_=[index("index")]),
    "local index without sort key": table("tab", "pk", "sk", local=[index("index", "pk")]),
    "local index of another partition": table("tab", "pk", "sk", local=[index("index", "other", "x")]),
    "local index of a table without sort key": table("tab", "pk", local=[index("index", "pk", "x")]),
    "no local indexes": table("tab", "pk", LocalSecondaryIndexes=[]),
    "no global indexes": table("tab", "pk", GlobalSecondaryIndexes=[]),
    "six local indexes": table("tab", "pk", "sk", local=[index(f"index{n}", "pk", f"k{n}") for n in range(6)]),
    "twenty-one global indexes": table("tab", "pk", global_=[index(f"index{n}", f"k{n}") for n in range(21)]),
    "index with units on demand": table("tab", "pk", global_=[index("index", "a") | {"ProvisionedThroughput": UNITS}]),
    "provisioned index without units": table("tab", "pk", global_=[index("index", "a")], **PROVISIONED),
    "long key name": table("tab", "p" * 256),
    "empty key name": table("tab", ""),
}


@pytest.mark.parametrize("case", BAD)
def test_tables_that_cannot_be(pair: Pair, case: str) -> None:
    pair.error("CreateTable", **BAD[case])


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("DescribeTable", {}),
        ("DescribeTable", {"TableName": "missing"}),
        ("DeleteTable", {"TableName": "missing"}),
        ("UpdateTable", {"TableName": "missing", "BillingMode": "PAY_PER_REQUEST"}),
        ("DescribeTimeToLive", {"TableName": "missing"}),
        ("ListTables", {"Limit": 0}),
        ("ListTables", {"Limit": 101}),
        ("ListTables", {"ExclusiveStartTableName": "x"}),
        ("NoSuchOperation", {}),
    ],
    ids=str,
)
def test_requests_that_are_rejected(pair: Pair, operation: str, members: dict[str, Any]) -> None:
    pair.same(operation, **members)


def test_listing_page_by_page(pair: Pair) -> None:
    for name in ("bbb", "aaa", "ccc", "Zzz"):
        pair.create(table(name, "pk"))
    for limit in range(1, 6):
        start: dict[str, Any] = {}
        while True:
            page = pair.answer("ListTables", Limit=limit, **start)
            if "LastEvaluatedTableName" not in page:
                break
            start = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
    pair.answer("ListTables", ExclusiveStartTableName="azz")


CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "to provisioned": PROVISIONED,
    "to provisioned without units": {"BillingMode": "PROVISIONED"},
    "units on demand": {"ProvisionedThroughput": UNITS},
    "on demand again": {"BillingMode": "PAY_PER_REQUEST"},
    "stream on": {"StreamSpecification": STREAM},
    "stream off": {"StreamSpecification": {"StreamEnabled": False}},
    "protection": {"DeletionProtectionEnabled": True},
    "drop a missing index": {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "missing"}}]},
    "drop an index": {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by_kind"}}]},
    "an index that is there": {
        "AttributeDefinitions": defined("kind"),
        "GlobalSecondaryIndexUpdates": [{"Create": index("by_kind", "kind")}],
    },
    "an index of undefined keys": {"GlobalSecondaryIndexUpdates": [{"Create": index("new_index", "undefined")}]},
    "an empty update": {"GlobalSecondaryIndexUpdates": [{}]},
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes(orders: Pair, case: str) -> None:
    orders.same("UpdateTable", TableName="orders", **CHANGES[case])


# A new index is filled with the existing items that have its key.
@in_turn
def test_a_new_index_is_filled(plain: Pair) -> None:
    for number in range(5):
        item = {"pk": {"S": f"p{number}"}, "n" if number % 2 else "other": {"N": str(number)}}
        plain.answer("PutItem", TableName="plain", Item=item)
    plain.both(
        "UpdateTable",
        {
            "TableName": "plain",
            "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
            "GlobalSecondaryIndexUpdates": [{"Create": index("by_n", "n")}],
        },
    )
    plain.both_until("DescribeTable", {"TableName": "plain"}, _index_is_active)
    plain.answer("Scan", TableName="plain", IndexName="by_n")


def _index_is_active(answer: dict[str, Any]) -> bool:
    return all(each["IndexStatus"] == "ACTIVE" for each in answer["Table"].get("GlobalSecondaryIndexes", ()))


def test_time_to_live(plain: Pair) -> None:
    plain.answer("DescribeTimeToLive", TableName="plain")
    for specification in (
        {"Enabled": True, "AttributeName": "expires"},
        {"Enabled": True, "AttributeName": ""},
        {"Enabled": False},
    ):
        plain.same("UpdateTimeToLive", TableName="plain", TimeToLiveSpecification=specification)
    plain.answer("DescribeTimeToLive", TableName="plain")


def test_tags(plain: Pair) -> None:
    arn = plain.ours.call("DescribeTable", {"TableName": "plain"})["Table"]["TableArn"]
    plain.same("TagResource", ResourceArn=arn, Tags=[{"Key": "a", "Value": "1"}])
    plain.same("ListTagsOfResource", ResourceArn=arn)
    plain.same("UntagResource", ResourceArn=arn, TagKeys=["a"])


@pytest.mark.parametrize("operation", ["DescribeLimits", "DescribeEndpoints"])
def test_what_needs_no_table(pair: Pair, operation: str) -> None:
    pair.same(operation)
