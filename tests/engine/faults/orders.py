"""The table of these tests, and what became of requests to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from sortkey.client import Client

ORDERS: dict[str, Any] = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "number", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "number", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def key(number: int) -> dict[str, Any]:
    return {"number": {"N": str(number)}}


def put(client: Client, number: int) -> None:
    client.put_item(TableName="orders", Item=key(number))


def error_of(call: Callable[[], object]) -> dict[str, Any] | None:
    """The error answer of a call; None if it succeeded."""
    try:
        call()
    except ClientError as error:
        return {**error.response}
    return None


def code_of(call: Callable[[], object]) -> str:
    error = error_of(call)
    return "" if error is None else error["Error"]["Code"]


def numbers(client: Client) -> set[int]:
    return {int(item["number"]["N"]) for item in client.scan(TableName="orders")["Items"]}
