"""The table of these tests, and an item that holds every type."""

from __future__ import annotations

from typing import Any

from sortkey.client import AsyncClient, Client
from sortkey.client.embedded import AnyEmbeddedClient
from sortkey.engine.database import Database

ORDERS: dict[str, Any] = {
    "TableName": "orders",
    "AttributeDefinitions": [
        {"AttributeName": "customer", "AttributeType": "S"},
        {"AttributeName": "number", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "customer", "KeyType": "HASH"},
        {"AttributeName": "number", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}

EVERY_TYPE: dict[str, Any] = {
    "customer": {"S": "ada"},
    "number": {"N": "1"},
    "B": {"B": b"\x00\xff"},
    "BS": {"BS": [b"", b"\x01"]},
    "flag": {"BOOL": False},
    "nothing": {"NULL": True},
    "names": {"SS": ["a", "b"]},
    "sizes": {"NS": ["1", "2"]},
    "parts": {"L": [{"B": b"line"}, {"M": {"B": {"B": b"deep"}}}]},
    "CreationDateTime": {"N": "5"},
}


def key(number: int, customer: str = "ada") -> dict[str, Any]:
    return {"customer": {"S": customer}, "number": {"N": str(number)}}


def database_of(client: Client | AsyncClient) -> Database:
    """The engine behind an embedded client."""
    assert isinstance(client, AnyEmbeddedClient)
    return client.database
