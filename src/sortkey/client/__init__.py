"""One interface to DynamoDB's operations, boto3's own, over the embedded engine."""

from __future__ import annotations

import os

from sortkey.client import urls
from sortkey.client.embedded import Client
from sortkey.client.embedded_async import AsyncClient

__all__ = ["AsyncClient", "Client", "async_client", "client"]


def client(url: str | os.PathLike[str]) -> Client:
    """Open a store (`./data`, `file:PATH`, `memory:`) behind boto3's low-level DynamoDB client. See docs/client.md."""
    return Client(urls.parse(url))


def async_client(url: str | os.PathLike[str]) -> AsyncClient:
    """As `client`, with methods that are awaited."""
    return AsyncClient(urls.parse(url))
