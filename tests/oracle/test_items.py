"""PutItem, GetItem, DeleteItem: what is stored, what comes back, and what is rejected."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.samples import VARIANTS

KEY = {"pk": {"S": "x"}}
FULL = KEY | {"a": {"S": "1"}, "m": {"M": {"k": {"L": [{"N": "1"}, {"S": "two"}]}, "j": {"N": "5"}}}, "n": {"N": "3"}}


@pytest.mark.parametrize("variant", VARIANTS)
def test_values_come_back_as_they_were_put(plain: Pair, variant: str) -> None:
    item = KEY | {"a": VARIANTS[variant]}
    plain.answer("PutItem", TableName="plain", Item=item)
    plain.answer("GetItem", TableName="plain", Key=KEY)
    plain.answer("PutItem", TableName="plain", Item=KEY, ReturnValues="ALL_OLD")
    plain.answer("PutItem", TableName="plain", Item=KEY | {"deep": {"M": {"l": {"L": [VARIANTS[variant]]}}}})
    plain.answer("GetItem", TableName="plain", Key=KEY, ConsistentRead=True)
    plain.answer("DeleteItem", TableName="plain", Key=KEY, ReturnValues="ALL_OLD")
    plain.answer("GetItem", TableName="plain", Key=KEY)


@pytest.mark.parametrize("wanted", ["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "SOME"])
def test_return_values(plain: Pair, wanted: str) -> None:
    for _ in range(2):
        plain.same("PutItem", TableName="plain", Item=FULL, ReturnValues=wanted)
    for _ in range(2):
        plain.same("DeleteItem", TableName="plain", Key=KEY, ReturnValues=wanted)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"S": None},
        {"S": "x", "N": "1"},
        {"S": 5},
        {"N": 5},
        {"N": ""},
        {"N": "x"},
        {"N": "1e126"},
        {"N": "NaN"},
        {"N": "0x10"},
        {"N": " 1"},
        {"B": "not base64"},
        {"B": "YQ"},
        {"BOOL": "true"},
        {"NULL": False},
        {"SS": []},
        {"SS": ["a", "a"]},
        {"SS": "a"},
        {"NS": []},
        {"NS": ["1", "1.0"]},
        {"NS": ["1", "x"]},
        {"BS": []},
        {"BS": ["YQ==", "YQ=="]},
        {"L": [{}]},
        {"L": [{"S": "x", "N": "1"}]},
        {"L": {"S": "x"}},
        {"M": {"a": {}}},
        {"M": {"": {"S": "x"}}},
        {"M": {"a": {"SS": []}}},
        {"M": []},
        {"X": "x"},
        None,
        "text",
        5,
        [],
    ],
    ids=repr,
)
def test_values_that_are_none(plain: Pair, value: Any) -> None:
    plain.error("PutItem", TableName="plain", Item=KEY | {"a": value})
    plain.error(
        "UpdateItem",
        TableName="plain",
        Key=KEY,
        UpdateExpression="SET a = :v",
        ExpressionAttributeValues={":v": value},
    )
    plain.error("GetItem", TableName="plain", Key={"pk": value})


@pytest.mark.parametrize(
    "projection",
    [
        "pk",
        "a, n",
        "m",
        "m.k",
        "m.k[0]",
        "m.k[1], m.k[0]",
        "m.k[0], m.j",
        "m.k[7]",
        "gone",
        "a.b",
        "n[0]",
        "#p, a",
        "a, a",
        "m, m.k",
        "m.k, m.k[0]",
        "m.k.x, m.k[0]",
        "a,",
        "",
        "a b",
        "name",
        "a[",
        "#gone",
        ":v",
        "size(a)",
    ],
)
def test_projections(plain: Pair, projection: str) -> None:
    plain.answer("PutItem", TableName="plain", Item=FULL)
    request: dict[str, Any] = {"TableName": "plain", "ProjectionExpression": projection}
    if "#p" in projection:
        request["ExpressionAttributeNames"] = {"#p": "pk"}
    plain.same("GetItem", Key=KEY, **request)
    plain.same("GetItem", Key={"pk": {"S": "gone"}}, **request)
    plain.same("Scan", **request)
    plain.same(
        "BatchGetItem",
        RequestItems={"plain": {"Keys": [KEY], **{name: request[name] for name in request if name != "TableName"}}},
    )


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"TableName": "plain"},
        {"Key": KEY},
        {"TableName": "pl", "Key": KEY},
        {"TableName": "plain!", "Key": KEY},
        {"TableName": "x" * 256, "Key": KEY},
        {"TableName": "", "Key": KEY},
        {"TableName": 5, "Key": KEY},
        {"TableName": "missing", "Key": KEY},
        {"TableName": "plain", "Key": {}},
        {"TableName": "plain", "Key": []},
        {"TableName": "plain", "Key": KEY, "ReturnConsumedCapacity": "SOME"},
        {"TableName": "plain", "Key": KEY, "ConsistentRead": "yes"},
        {"TableName": "plain", "Key": KEY, "Unknown": 1},
        {"TableName": "plain", "Key": KEY, "ExpressionAttributeNames": {"#a": "a"}},
        {"TableName": "plain", "Key": KEY, "ExpressionAttributeNames": {}},
        {"TableName": "plain", "Key": KEY, "ProjectionExpression": "a", "ExpressionAttributeNames": {"#a": "a"}},
        {"TableName": "plain", "Key": KEY, "ProjectionExpression": "#a", "ExpressionAttributeNames": {"a": "a"}},
        {"TableName": "plain", "Key": KEY, "ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": ""}},
        {"TableName": "plain", "Key": KEY, "ProjectionExpression": "a", "AttributesToGet": ["a"]},
        {"TableName": "plain", "Key": KEY, "AttributesToGet": []},
        {"TableName": "plain", "Key": KEY, "AttributesToGet": ["a", "a"]},
    ],
    ids=lambda members: " ".join(f"{name}={value}"[:40] for name, value in members.items()) or "nothing",
)
def test_requests_that_lack_or_exceed(plain: Pair, members: dict[str, Any]) -> None:
    plain.same("GetItem", **members)


@pytest.mark.parametrize(
    "members",
    [
        {"ConditionExpression": "a = :v"},
        {"ExpressionAttributeValues": {":v": {"S": "x"}}},
        {"ExpressionAttributeNames": {"#a": "a"}},
        {"ConditionExpression": "attribute_exists(pk)", "ExpressionAttributeValues": {":v": {"S": "x"}}},
        {"ConditionExpression": "attribute_exists(pk)", "ExpressionAttributeNames": {"#a": "a"}},
        {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {}},
        {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {"v": {"S": "x"}}},
        {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": {}}},
        {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": {"S": "x"}, ":w": {"S": "x"}}},
        {"ConditionExpression": "attribute_exists(pk)", "Expected": {"a": {"Exists": False}}},
        {"ConditionExpression": "attribute_exists(pk)", "ConditionalOperator": "AND"},
        {"ConditionalOperator": "AND"},
        {"ReturnValues": "X", "ReturnConsumedCapacity": "Y", "ReturnItemCollectionMetrics": "Z"},
        {"ReturnValuesOnConditionCheckFailure": "ALL_NEW"},
        {"ReturnItemCollectionMetrics": "SIZE"},
    ],
    ids=lambda members: " ".join(members),
)
def test_parameters_that_do_not_go_together(plain: Pair, members: dict[str, Any]) -> None:
    plain.same("PutItem", TableName="plain", Item=KEY, **members)
    plain.same("DeleteItem", TableName="plain", Key=KEY, **members)
    plain.same("UpdateItem", TableName="plain", Key=KEY, **members)
