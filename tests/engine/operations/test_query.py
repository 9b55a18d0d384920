"""Query: the items of one partition, in the order of their sort keys."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import b, create, n, s, walk

NUMBERS = ["-1E125", "-10", "-9.5", "0", "1E-130", "2", "10", "9.9E125"]
TEXTS = ["A", "a", "aa", "ab", "b", "é", "\uffff", "\U0001f600"]
BLOBS = [b"\x00", b"\x00\x00", b"\x00\x00\x00\x00\x00\x00\x00\x00\x01", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff"]
SORT_VALUES = {"N": [n(each) for each in NUMBERS], "S": [s(each) for each in TEXTS], "B": [b(each) for each in BLOBS]}


def fill(call: Call, kind: str) -> list[dict[str, Any]]:
    """A table whose partition "p" has eight items in the order of their sort keys, between two other partitions."""
    create(call, "table", "id:S", f"at:{kind}")
    values = SORT_VALUES[kind]
    for partition in ("o", "p", "q"):
        for value in reversed(values):
            call("PutItem", TableName="table", Item={"id": s(partition), "at": value, "v": n(values.index(value))})
    return values


def query(call: Call, condition: str, values: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    names = {"#at": "at"} if "#at" in condition else None
    if names:
        members["ExpressionAttributeNames"] = names
    return call(
        "Query",
        TableName="table",
        KeyConditionExpression=condition,
        ExpressionAttributeValues={":p": s("p"), **(values or {})},
        **members,
    )


def positions(answer: dict[str, Any]) -> list[int]:
    return [int(item["v"]["N"]) for item in answer["Items"]]


@pytest.mark.parametrize("kind", ["N", "S", "B"])
def test_partition_in_the_order_of_its_sort_keys(call: Call, kind: str) -> None:
    fill(call, kind)
    assert positions(query(call, "id = :p")) == list(range(8))
    assert positions(query(call, "id = :p", ScanIndexForward=False)) == list(reversed(range(8)))


@pytest.mark.parametrize("kind", ["N", "S", "B"])
@pytest.mark.parametrize(
    ("operator", "expected"),
    [("=", [3]), ("<", [0, 1, 2]), ("<=", [0, 1, 2, 3]), (">", [4, 5, 6, 7]), (">=", [3, 4, 5, 6, 7])],
)
def test_comparison_of_the_sort_key(call: Call, kind: str, operator: str, expected: list[int]) -> None:
    values = fill(call, kind)
    bound = {":at": values[3]}
    assert positions(query(call, f"id = :p AND #at {operator} :at", bound)) == expected
    assert positions(query(call, f"id = :p AND #at {operator} :at", bound, ScanIndexForward=False)) == expected[::-1]


@pytest.mark.parametrize("kind", ["N", "S", "B"])
def test_between_includes_both_ends(call: Call, kind: str) -> None:
    values = fill(call, kind)
    answer = query(call, "id = :p AND #at BETWEEN :low AND :high", {":low": values[2], ":high": values[5]})
    assert positions(answer) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("kind", "prefix", "expected"),
    [
        ("S", s("a"), [1, 2, 3]),
        ("S", s("\U0001f600"), [7]),
        ("S", s("zz"), []),
        ("B", b(b"\x00"), [0, 1, 2]),
        ("B", b(b"\x00\x00\x00\x00\x00\x00\x00\x00"), [2]),
        ("B", b(b"\xff"), [6, 7]),
    ],
)
def test_begins_with(call: Call, kind: str, prefix: dict[str, Any], expected: list[int]) -> None:
    fill(call, kind)
    assert positions(query(call, "begins_with(#at, :prefix) AND id = :p", {":prefix": prefix})) == expected


def test_begins_with_is_not_for_numbers(call: Call, expect_error: ExpectError) -> None:
    fill(call, "N")
    with expect_error("ValidationException"):
        query(call, "id = :p AND begins_with(#at, :at)", {":at": n(1)})


def test_empty_partition(call: Call) -> None:
    create(call, "table", "id:S", "at:N")
    assert query(call, "id = :p") == {"Count": 0, "ScannedCount": 0, "Items": []}


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", range(1, 10))
def test_pages_of_any_limit_show_the_same(call: Call, limit: int, forward: bool) -> None:
    fill(call, "N")
    members = {
        "TableName": "table",
        "KeyConditionExpression": "id = :p AND #at > :at",
        "ExpressionAttributeNames": {"#at": "at"},
        "ExpressionAttributeValues": {":p": s("p"), ":at": n("-10")},
        "ScanIndexForward": forward,
    }
    assert walk(call, "Query", Limit=limit, **members) == call("Query", **members)["Items"]


# A page at its limit does not look ahead: only the empty next page shows the end.
def test_page_at_its_limit_always_continues(call: Call) -> None:
    values = fill(call, "S")
    page = query(call, "id = :p", Limit=8)
    assert page["LastEvaluatedKey"] == {"id": s("p"), "at": values[7]}
    rest = query(call, "id = :p", Limit=8, ExclusiveStartKey=page["LastEvaluatedKey"])
    assert rest == {"Count": 0, "ScannedCount": 0, "Items": []}
    assert "LastEvaluatedKey" not in query(call, "id = :p", Limit=9)


@pytest.mark.parametrize(("forward", "expected"), [(True, [3, 4, 5, 6, 7]), (False, [1, 0])])
def test_goes_on_after_an_item_that_is_gone(call: Call, forward: bool, expected: list[int]) -> None:
    values = fill(call, "S")
    gone = {"id": s("p"), "at": values[2]}
    call("DeleteItem", TableName="table", Key=gone)
    assert positions(query(call, "id = :p", ScanIndexForward=forward, ExclusiveStartKey=gone)) == expected


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            {"id": s("q"), "at": n(2)},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        ({"id": s("p"), "at": n(0)}, "The provided starting key does not match the range key predicate"),
        ({"id": s("p")}, "The provided starting key is invalid"),
    ],
)
def test_start_key_must_lie_in_the_range(
    call: Call, expect_error: ExpectError, start: dict[str, Any], message: str
) -> None:
    fill(call, "N")
    with expect_error("ValidationException", message):
        query(call, "id = :p AND #at > :at", {":at": n(0)}, ExclusiveStartKey=start)


# The limit counts what is looked at, the filter decides what is shown of it.
def test_filter_comes_after_the_limit(call: Call) -> None:
    fill(call, "N")
    page = query(call, "id = :p", {":v": n(4)}, FilterExpression="v >= :v", Limit=6)
    assert (positions(page), page["Count"], page["ScannedCount"]) == ([4, 5], 2, 6)
    assert page["LastEvaluatedKey"]["at"] == SORT_VALUES["N"][5]


@pytest.mark.parametrize("name", ["id", "at"])
def test_filter_does_not_name_the_key(call: Call, expect_error: ExpectError, name: str) -> None:
    fill(call, "S")
    message = f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
    with expect_error("ValidationException", message):
        call(
            "Query",
            TableName="table",
            KeyConditionExpression="id = :p",
            FilterExpression="#n = :p",
            ExpressionAttributeNames={"#n": name},
            ExpressionAttributeValues={":p": s("p")},
        )


def test_projection(call: Call) -> None:
    fill(call, "S")
    assert query(call, "id = :p", ProjectionExpression="v", Limit=2)["Items"] == [{"v": n(0)}, {"v": n(1)}]


def test_count_has_no_items(call: Call) -> None:
    fill(call, "S")
    assert query(call, "id = :p", Select="COUNT") == {"Count": 8, "ScannedCount": 8}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            "1 validation error detected: "
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "v"},
            "1 validation error detected: Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "v"},
            "1 validation error detected: Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        ({"IndexName": "none"}, "The table does not have the specified index: none"),
    ],
)
def test_select_must_make_sense(call: Call, expect_error: ExpectError, members: dict[str, Any], message: str) -> None:
    fill(call, "S")
    with expect_error("ValidationException", message):
        query(call, "id = :p", **members)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("v = :p", "Query condition missed key schema element: id"),
        ("id > :p", "Query key condition not supported"),
        ("id = :p AND v = :p", "Query condition missed key schema element: at"),
        (
            "id = :p AND #at = :p",
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
    ],
)
def test_condition_must_be_the_keys(call: Call, expect_error: ExpectError, condition: str, message: str) -> None:
    fill(call, "N")
    with expect_error("ValidationException", message):
        query(call, condition)


def test_some_condition_is_needed(call: Call, expect_error: ExpectError) -> None:
    fill(call, "N")
    message = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    with expect_error("ValidationException", message):
        call("Query", TableName="table")


def test_key_conditions_and_query_filter_are_the_old_parameters(call: Call) -> None:
    fill(call, "N")
    answer = call(
        "Query",
        TableName="table",
        KeyConditions={
            "id": {"ComparisonOperator": "EQ", "AttributeValueList": [s("p")]},
            "at": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [n(0), n(10)]},
        },
        QueryFilter={"v": {"ComparisonOperator": "NE", "AttributeValueList": [n(4)]}},
        AttributesToGet=["v"],
    )
    assert positions(answer) == [3, 5, 6]


def test_two_generations_of_parameters_do_not_mix(call: Call, expect_error: ExpectError) -> None:
    fill(call, "N")
    message = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {QueryFilter} Expression parameters: {KeyConditionExpression}"
    )
    with expect_error("ValidationException", message):
        query(call, "id = :p", QueryFilter={"v": {"ComparisonOperator": "NULL"}})


# A full megabyte ends a page, in either direction; the row that reaches it still belongs to it.
@pytest.mark.parametrize("forward", [True, False])
def test_page_ends_at_a_megabyte(call: Call, forward: bool) -> None:
    create(call, "table", "id:S", "at:N")
    for number in range(6):
        call("PutItem", TableName="table", Item={"id": s("p"), "at": n(number), "v": s("x" * 300_000)})
    first = query(call, "id = :p", ScanIndexForward=forward, Select="COUNT")
    rest = query(call, "id = :p", ScanIndexForward=forward, Select="COUNT", ExclusiveStartKey=first["LastEvaluatedKey"])
    assert (first["Count"], rest) == (4, {"Count": 2, "ScannedCount": 2})


# The megabyte is measured before the filter, so a page may go on with nothing to show.
def test_megabyte_counts_what_the_filter_drops(call: Call) -> None:
    create(call, "table", "id:S", "at:N")
    for number in range(6):
        call("PutItem", TableName="table", Item={"id": s("p"), "at": n(number), "v": s("x" * 300_000)})
    page = query(call, "id = :p", {":v": s("y")}, FilterExpression="v = :v")
    assert (page["Count"], page["ScannedCount"], "LastEvaluatedKey" in page) == (0, 4, True)


# All that a page has read is added up and then rounded, unlike items that are read one by one.
def test_capacity_is_rounded_once_a_page(call: Call) -> None:
    create(call, "table", "id:S", "at:N")
    for number in range(10):
        call("PutItem", TableName="table", Item={"id": s("p"), "at": n(number), "v": s("x" * 1000)})
    members: dict[str, Any] = {"ReturnConsumedCapacity": "TOTAL", "Select": "COUNT"}
    assert query(call, "id = :p", **members)["ConsumedCapacity"]["CapacityUnits"] == 1.5
    assert query(call, "id = :p", ConsistentRead=True, **members)["ConsumedCapacity"]["CapacityUnits"] == 3.0


# What is fetched together and then left for the next page is not paid for by this one.
def test_capacity_of_a_full_page_is_of_what_it_holds(call: Call) -> None:
    create(call, "table", "id:S", "at:N")
    for number in range(6):
        call("PutItem", TableName="table", Item={"id": s("p"), "at": n(number), "v": s("x" * 300_000)})
    page = query(call, "id = :p", Select="COUNT", ReturnConsumedCapacity="TOTAL", ConsistentRead=True)
    assert (page["Count"], page["ConsumedCapacity"]["CapacityUnits"]) == (4, 293.0)


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        query(call, "id = :p")


# JSON escapes these characters, and the compiled readers of rows do not.
@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "é", "\u2028"])
def test_names_that_json_escapes_are_keys_and_are_projected(call: Call, name: str) -> None:
    schema = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": name, "KeyType": "RANGE"}]
    definitions = [{"AttributeName": each["AttributeName"], "AttributeType": "S"} for each in schema]
    call(
        "CreateTable",
        TableName="table",
        KeySchema=schema,
        AttributeDefinitions=definitions,
        BillingMode="PAY_PER_REQUEST",
    )
    items = [{"id": s("p"), name: s(f"{number:02}"), "v": n(number)} for number in range(40)]
    for item in items:
        call("PutItem", TableName="table", Item=item)
        assert call("GetItem", TableName="table", Key={each: item[each] for each in ("id", name)})["Item"] == item
    shown = query(call, "id = :p", ProjectionExpression="#name", ExpressionAttributeNames={"#name": name})
    assert shown["Items"] == [{name: item[name]} for item in items]
    page = query(call, "id = :p", Limit=3)
    assert page["LastEvaluatedKey"] == {"id": s("p"), name: s("02")}
    assert query(call, "id = :p", ExclusiveStartKey=page["LastEvaluatedKey"])["Items"] == items[3:]
