"""BatchGetItem: up to a hundred items of any tables, each read by itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, n, s


@pytest.fixture(autouse=True)
def tables(call: Call) -> None:
    create(call, "first", "id:S")
    create(call, "second", "id:S", "at:N")


def keys(*names: str) -> list[dict[str, Any]]:
    return [{"id": s(name)} for name in names]


def test_items_of_several_tables(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1"), "v": s("x")})
    call("PutItem", TableName="second", Item={"id": s("1"), "at": n(1), "v": s("y"), "w": s("z")})
    answer = call(
        "BatchGetItem",
        RequestItems={
            "first": {"Keys": keys("1", "gone")},
            "second": {"Keys": [{"id": s("1"), "at": n("1.0")}], "ProjectionExpression": "v"},
        },
    )
    assert answer == {
        "Responses": {"first": [{"id": s("1"), "v": s("x")}], "second": [{"v": s("y")}]},
        "UnprocessedKeys": {},
    }


# A table without any item found is still among the responses.
def test_nothing_found_is_an_empty_list(call: Call) -> None:
    assert call("BatchGetItem", RequestItems={"first": {"Keys": keys("1")}})["Responses"] == {"first": []}


def test_attributes_to_get_is_the_old_projection(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1"), "v": s("x")})
    asked = {"Keys": keys("1"), "AttributesToGet": ["v"]}
    assert call("BatchGetItem", RequestItems={"first": asked})["Responses"] == {"first": [{"v": s("x")}]}


def test_two_generations_of_parameters_do_not_mix(call: Call, expect_error: ExpectError) -> None:
    asked = {"Keys": keys("1"), "AttributesToGet": ["v"], "ProjectionExpression": "v"}
    with expect_error("ValidationException") as caught:
        call("BatchGetItem", RequestItems={"first": asked})
    assert caught.value.message.startswith("Can not use both expression and non-expression parameters")


def test_no_item_twice(call: Call, expect_error: ExpectError) -> None:
    asked = {"Keys": [{"id": s("1"), "at": n("1")}, {"id": s("1"), "at": n("1.0")}]}
    with expect_error("ValidationException", "Provided list of item keys contains duplicates"):
        call("BatchGetItem", RequestItems={"second": asked})


def test_hundred_keys_over_all_tables(call: Call, expect_error: ExpectError) -> None:
    many = keys(*map(str, range(99)))
    call("BatchGetItem", RequestItems={"first": {"Keys": many}, "second": {"Keys": [{"id": s("1"), "at": n(1)}]}})
    with expect_error("ValidationException", "Too many items requested for the BatchGetItem call"):
        call(
            "BatchGetItem",
            RequestItems={
                "first": {"Keys": many},
                "second": {"Keys": [{"id": s("1"), "at": n(1)}, {"id": s("1"), "at": n(2)}]},
            },
        )


def test_key_must_be_the_tables(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "The provided key element does not match the schema"):
        call("BatchGetItem", RequestItems={"first": {"Keys": keys("1")}, "second": {"Keys": keys("1")}})


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("BatchGetItem", RequestItems={"first": {"Keys": keys("1")}, "nowhere": {"Keys": keys("1")}})


def test_projection_has_no_path_into_a_key(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException") as caught:
        call("BatchGetItem", RequestItems={"first": {"Keys": keys("1"), "ProjectionExpression": "id.x"}})
    assert caught.value.message.endswith("are not allowed: Key: id")


# The answer names the table as the request does, so that a client finds it.
def test_table_by_its_arn(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1")})
    arn = call("DescribeTable", TableName="first")["Table"]["TableArn"]
    assert call("BatchGetItem", RequestItems={arn: {"Keys": keys("1")}})["Responses"] == {arn: [{"id": s("1")}]}


# Keys that do not fit into 16 MB come back as a request, ready to be sent again.
def test_unprocessed_keys_at_16_mb(call: Call) -> None:
    for number in range(60):
        call("PutItem", TableName="first", Item={"id": s(str(number)), "v": s("x" * 300_000), "w": n(number)})
    asked = {"first": {"Keys": keys(*map(str, range(60))), "ConsistentRead": True, "ProjectionExpression": "w"}}
    first = call("BatchGetItem", RequestItems=asked)
    assert len(first["Responses"]["first"]) == 55
    assert first["UnprocessedKeys"] == {
        "first": {"Keys": keys(*map(str, range(55, 60))), "ConsistentRead": True, "ProjectionExpression": "w"}
    }
    second = call("BatchGetItem", RequestItems=first["UnprocessedKeys"])
    found = first["Responses"]["first"] + second["Responses"]["first"]
    assert sorted(int(item["w"]["N"]) for item in found) == list(range(60))
    assert second["UnprocessedKeys"] == {}


# Each item is rounded up by itself, and a missing item costs too.
def test_capacity_table_by_table(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("1"), "v": s("x" * 5000)})
    answer = call(
        "BatchGetItem",
        RequestItems={
            "first": {"Keys": keys("1", "gone"), "ConsistentRead": True},
            "second": {"Keys": [{"id": s("1"), "at": n(1)}]},
        },
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["ConsumedCapacity"] == [
        {"TableName": "first", "CapacityUnits": 3.0},
        {"TableName": "second", "CapacityUnits": 0.5},
    ]
