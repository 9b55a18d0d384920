"""A client in memory, and one table in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sortkey as sk
from sortkey.client import Client
from tests.client.orders import ORDERS

__all__ = ["client", "orders"]


@pytest.fixture
def client() -> Iterator[Client]:
    with sk.client("memory:") as client:
        yield client


@pytest.fixture
def orders(client: Client) -> Client:
    """The client, with the table `orders` and its stream."""
    client.create_table(**ORDERS)
    return client
