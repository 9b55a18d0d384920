"""A client in memory, and one table in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sortkey as sk
from sortkey.client import Client
from tests.client.orders import ORDERS
from tests.stores import dynamodb_local, our_endpoint, store

__all__ = ["client", "dynamodb_local", "orders", "our_endpoint", "store"]


@pytest.fixture
def client() -> Iterator[Client]:
    with sk.client("memory:") as client:
        yield client


@pytest.fixture
def orders(client: Client) -> Client:
    """The client, with the table `orders` and its stream."""
    client.create_table(**ORDERS)
    return client
