"""`sk.client` gives what a program annotates with boto3-stubs; the type checkers are the test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sortkey as sk
from sortkey.client import Client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def tables(client: DynamoDBClient) -> list[str]:
    """Of a program that knows boto3 alone."""
    return client.list_tables()["TableNames"]


def test_it_is_boto3s_to_type_checkers() -> None:
    with sk.client("memory:") as client:
        stubbed: DynamoDBClient = client
        assert tables(stubbed) == []


def test_it_is_ours_as_well() -> None:
    with sk.client("memory:") as client:
        ours: Client = client
        answer: dict[str, Any] = ours.list_tables()
        assert answer["TableNames"] == []
