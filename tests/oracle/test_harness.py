"""The oracle itself: it answers, rejects and forgets as the families expect."""

from __future__ import annotations

import pytest

from tests.oracle.both import Both, InterfacesDiffer
from tests.oracle.endpoint import Endpoint, OracleError

TABLE = {
    "TableName": "harness",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def test_answers_are_wire_shapes(oracle: Endpoint) -> None:
    oracle.call("CreateTable", TABLE)
    oracle.call("PutItem", {"TableName": "harness", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}})
    answer = oracle.call("GetItem", {"TableName": "harness", "Key": {"pk": {"S": "a"}}})
    assert answer == {"Item": {"pk": {"S": "a"}, "n": {"N": "1"}}}


# The same table twice: it can be created only if the test before left no table.
@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_starts_without_tables(oracle: Endpoint, turn: int) -> None:
    assert oracle.call("ListTables", {}) == {"TableNames": []}, turn
    oracle.call("CreateTable", TABLE)


def test_errors_carry_code_and_message(oracle: Endpoint) -> None:
    with pytest.raises(OracleError) as error:
        oracle.call("GetItem", {"TableName": "missing", "Key": {"pk": {"S": "a"}}})
    assert error.value.code == "ResourceNotFoundException"
    assert error.value.message == "Cannot do operations on a non-existent table"


# AWS answers SerializationException; DynamoDB Local answers an internal error in the same form.
def test_a_body_need_not_be_json(oracle: Endpoint) -> None:
    with pytest.raises(OracleError) as error:
        oracle.send("ListTables", b"{")
    assert error.value.code in {"SerializationException", "InternalFailure"}


def test_streams_are_reached_by_their_own_target(oracle: Endpoint) -> None:
    assert oracle.call("ListStreams", {}) == {"Streams": []}


# Embedded and served are two databases here, so a table of one of them is a difference.
def test_interfaces_that_differ_are_found(ours: Both) -> None:
    ours.call("CreateTable", TABLE)
    assert ours.call("ListTables", {}) == {"TableNames": ["harness"]}
    ours.served.call("DeleteTable", {"TableName": "harness"})
    with pytest.raises(InterfacesDiffer, match="harness"):
        ours.call("ListTables", {})
    with pytest.raises(InterfacesDiffer, match="ResourceNotFoundException"):
        ours.call("DescribeTable", {"TableName": "harness"})
