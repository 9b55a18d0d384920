"""Errors in parameters have boto3's words, and what boto3 accepts is accepted."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from sortkey.client import Client, service_model
from tests.client.orders import key


class Table(StrEnum):
    ORDERS = "orders"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"Key": key(1)}, 'Missing required parameter in input: "TableName"'),
        ({"TableName": "orders", "Key": key(1), "Foo": 1}, 'Unknown parameter in input: "Foo"'),
        ({"TableName": 5, "Key": key(1)}, "Invalid type for parameter TableName, value: 5"),
        ({"TableName": "orders", "Key": key(1), "ConsistentRead": None}, "Invalid type for parameter ConsistentRead"),
        ({"TableName": "", "Key": key(1)}, "Invalid length for parameter TableName"),
        # The resource layer's values, without their types.
        ({"TableName": "orders", "Key": {"customer": "ada", "number": 1}}, "Invalid type for parameter Key.customer"),
        ({"TableName": "orders", "Key": {"customer": {"S": "ada"}, "number": {"N": 1}}}, "parameter Key.number.N"),
        ({"TableName": "orders", "Key": {"customer": {"S": None}}}, "Invalid type for parameter Key.customer.S"),
        ({"TableName": "orders", "Key": {"customer": {"T": "ada"}}}, 'Unknown parameter in Key.customer: "T"'),
        ({"TableName": "orders", "Key": [key(1)]}, "Invalid type for parameter Key"),
    ],
)
def test_mistakes_are_botocores_errors(orders: Client, members: dict[str, Any], said: str) -> None:
    with pytest.raises(ParamValidationError, match="Parameter validation failed") as error:
        orders.get_item(**members)
    assert said in str(error.value)


# The table does not exist, but boto3 would not have sent the request.
def test_mistakes_come_before_a_missing_table(client: Client) -> None:
    with pytest.raises(ParamValidationError):
        client.put_item(TableName="missing", Item={"customer": "ada"})


def test_what_boto3_would_send_is_rejected_by_the_engine(orders: Client) -> None:
    with pytest.raises(ClientError) as error:
        orders.get_item(TableName="orders", Key={"customer": {"S": "ada"}})
    assert error.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": "The provided key element does not match the schema",
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"B": bytearray(b"x")}, {"B": b"x"}),
        ({"B": "é"}, {"B": "é".encode()}),
        ({"SS": ("b", "a")}, {"SS": ["a", "b"]}),
        ({"L": ({"S": "x"},)}, {"L": [{"S": "x"}]}),
        ({"S": Table.ORDERS}, {"S": "orders"}),
    ],
)
def test_what_boto3_accepts_is_accepted(orders: Client, given: dict[str, Any], kept: dict[str, Any]) -> None:
    orders.put_item(TableName=Table.ORDERS, Item={**key(1), "given": given})
    assert orders.get_item(TableName="orders", Key=key(1))["Item"]["given"] == kept


# A newer boto3 knows parameters that the engine would ignore.
def test_what_only_boto3_knows_is_rejected(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_model, "serialise", lambda _operation, _members: b"{}")
    with pytest.raises(ParamValidationError, match='"Novelty", must be one of: ExclusiveStartTableName, Limit'):
        client.list_tables(Novelty=True)


def test_times_may_be_datetimes(client: Client) -> None:
    assert client.list_backups(TimeRangeLowerBound=datetime(2026, 1, 1, tzinfo=UTC))["BackupSummaries"] == []


def test_arguments_are_left_as_they_are(orders: Client) -> None:
    item = {**key(1), "raw": {"B": b"x"}, "set": {"NS": ["2", "1.0"]}}
    before = {name: dict(value) for name, value in item.items()}
    orders.put_item(TableName="orders", Item=item)
    assert item == before
