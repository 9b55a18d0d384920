"""GetItem: one item by its key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import b, create, index, n, s

MISMATCH = "The provided key element does not match the schema"


@pytest.fixture
def people(call: Call) -> None:
    create(call, "people", "team:S", "age:N", indexes=[index("by_city", "city:S")])
    call("PutItem", TableName="people", Item={"team": s("red"), "age": n(30), "name": s("Ann"), "pets": PETS})


PETS = {"L": [{"M": {"kind": s("cat"), "legs": n(4)}}, {"M": {"kind": s("bird"), "legs": n(2)}}]}
ANN = {"team": s("red"), "age": n(30)}


@pytest.mark.usefixtures("people")
def test_answers_with_the_whole_item(call: Call) -> None:
    item = call("GetItem", TableName="people", Key=ANN)["Item"]
    assert item == {"team": s("red"), "age": n(30), "name": s("Ann"), "pets": PETS}


# A missing item is not an error. The answer has no Item: clients test for the member.
@pytest.mark.usefixtures("people")
def test_absent_item_has_no_member(call: Call) -> None:
    assert call("GetItem", TableName="people", Key={"team": s("red"), "age": n(31)}) == {}


@pytest.mark.usefixtures("people")
def test_number_keys_are_equal_by_value(call: Call) -> None:
    assert "Item" in call("GetItem", TableName="people", Key={"team": s("red"), "age": n("3.00E1")})


def test_binary_key_is_its_bytes(call: Call) -> None:
    create(call, "blobs", "id:B", "part:B")
    item = {"id": b(b"\x00\xff"), "part": b(b"\x01")}
    call("PutItem", TableName="blobs", Item=item)
    assert call("GetItem", TableName="blobs", Key=item) == {"Item": item}


@pytest.mark.usefixtures("people")
def test_projection_keeps_the_named_paths(call: Call) -> None:
    found = call(
        "GetItem",
        TableName="people",
        Key=ANN,
        ProjectionExpression="#n, pets[1].legs, absent",
        ExpressionAttributeNames={"#n": "name"},
    )
    assert found["Item"] == {"name": s("Ann"), "pets": {"L": [{"M": {"legs": n(2)}}]}}


# The item exists, so the answer has an Item, even if the projection leaves it empty.
@pytest.mark.usefixtures("people")
def test_projection_of_nothing_is_an_empty_item(call: Call) -> None:
    assert call("GetItem", TableName="people", Key=ANN, ProjectionExpression="absent") == {"Item": {}}


@pytest.mark.usefixtures("people")
def test_attributes_to_get_is_the_old_projection(call: Call) -> None:
    found = call("GetItem", TableName="people", Key=ANN, AttributesToGet=["name", "missing"])
    assert found == {"Item": {"name": s("Ann")}}


@pytest.mark.usefixtures("people")
def test_two_generations_of_parameters_do_not_mix(call: Call, expect_error: ExpectError) -> None:
    message = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )
    with expect_error("ValidationException", message):
        call("GetItem", TableName="people", Key=ANN, AttributesToGet=["name"], ProjectionExpression="age")


@pytest.mark.usefixtures("people")
def test_names_need_an_expression(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "ExpressionAttributeNames can only be specified when using expressions"):
        call("GetItem", TableName="people", Key=ANN, ExpressionAttributeNames={"#n": "name"})


@pytest.mark.usefixtures("people")
def test_every_name_must_be_used(call: Call, expect_error: ExpectError) -> None:
    message = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"
    with expect_error("ValidationException", message):
        call(
            "GetItem",
            TableName="people",
            Key=ANN,
            ProjectionExpression="#n",
            ExpressionAttributeNames={"#n": "name", "#x": "other"},
        )


# Keys are scalar, so a path into one is an error. The same holds for index keys.
@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(("path", "named"), [("team.x", "Key: team"), ("city[0]", "IndexKey: city")])
def test_no_path_leads_into_a_key(call: Call, expect_error: ExpectError, path: str, named: str) -> None:
    rule = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    with expect_error("ValidationException", rule + named):
        call("GetItem", TableName="people", Key=ANN, ProjectionExpression=path)


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    "key",
    [
        {"team": s("red")},
        {"team": s("red"), "age": n(30), "name": s("Ann")},
        {"team": s("red"), "name": s("Ann")},
        {"team": s("red"), "age": s("30")},
        {},
    ],
    ids=["missing", "extra", "other name", "other type", "empty"],
)
def test_key_must_be_the_tables(call: Call, expect_error: ExpectError, key: dict[str, Any]) -> None:
    with expect_error("ValidationException", MISMATCH):
        call("GetItem", TableName="people", Key=key)


@pytest.mark.usefixtures("people")
def test_key_values_are_not_empty(call: Call, expect_error: ExpectError) -> None:
    message = (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        "string value. Key: team"
    )
    with expect_error("ValidationException", message):
        call("GetItem", TableName="people", Key={"team": s(""), "age": n(30)})


# The limit counts bytes, not characters.
@pytest.mark.parametrize(("text", "fits"), [("x" * 2048, True), ("x" * 2049, False), ("é" * 1025, False)])
def test_partition_key_takes_2048_bytes(call: Call, expect_error: ExpectError, text: str, fits: bool) -> None:
    create(call, "films", "id:S")
    if fits:
        assert call("GetItem", TableName="films", Key={"id": s(text)}) == {}
        return
    message = (
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
    )
    with expect_error("ValidationException", message):
        call("GetItem", TableName="films", Key={"id": s(text)})


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("GetItem", TableName="nowhere", Key={"id": s("1")})


# Of two errors the malformed value is reported: it does not depend on the table.
def test_malformed_value_comes_before_the_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "The parameter cannot be converted to a numeric value: x"):
        call("GetItem", TableName="nowhere", Key={"id": n("x")})


@pytest.mark.usefixtures("people")
def test_table_can_be_given_by_its_arn(call: Call) -> None:
    arn = call("DescribeTable", TableName="people")["Table"]["TableArn"]
    assert "Item" in call("GetItem", TableName=arn, Key=ANN)


# Reads are rounded up to 4 KB, and cost half unless they are consistent; a missing item costs the minimum.
@pytest.mark.parametrize(
    ("size", "consistent", "units"), [(None, False, 0.5), (10, False, 0.5), (4096, True, 1.0), (4097, True, 2.0)]
)
def test_capacity(call: Call, size: int | None, consistent: bool, units: float) -> None:
    create(call, "films", "id:S")
    if size is not None:
        call("PutItem", TableName="films", Item={"id": s("1"), "v": s("x" * (size - 4))})
    found = call(
        "GetItem", TableName="films", Key={"id": s("1")}, ConsistentRead=consistent, ReturnConsumedCapacity="INDEXES"
    )
    assert found["ConsumedCapacity"] == {
        "TableName": "films",
        "CapacityUnits": units,
        "Table": {"CapacityUnits": units},
    }


def test_capacity_in_total_names_only_the_table(call: Call) -> None:
    create(call, "films", "id:S")
    found = call("GetItem", TableName="films", Key={"id": s("1")}, ReturnConsumedCapacity="TOTAL")
    assert found == {"ConsumedCapacity": {"TableName": "films", "CapacityUnits": 0.5}}
