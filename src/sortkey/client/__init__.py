"""One interface to DynamoDB's operations, boto3's own, over the embedded engine or any endpoint."""

from __future__ import annotations

import os
from importlib import import_module

from sortkey.client import store_url
from sortkey.client.embedded import EmbeddedClient
from sortkey.client.embedded_async import AsyncEmbeddedClient
from sortkey.client.interface import AsyncClient, Client
from sortkey.client.prefixed import AsyncPrefixedClient, PrefixedClient
from sortkey.extras import installed_by

__all__ = ["AsyncClient", "Client", "async_client", "client"]


def client(url: str | os.PathLike[str]) -> Client:
    """Open a store (`./data`, `memory:`, `http://HOST:PORT`, `dynamodb://REGION`) with boto3's low-level DynamoDB
    client as the interface. See docs/client.md."""
    store = store_url.parse(url)
    opened = EmbeddedClient(store) if store.remote is None else _remote(store.url, store.remote)
    return PrefixedClient(opened, store.prefix) if store.prefix else opened


def async_client(url: str | os.PathLike[str]) -> AsyncClient:
    """As `client`, with methods that are awaited."""
    store = store_url.parse(url)
    opened = AsyncEmbeddedClient(store) if store.remote is None else _async_remote(store.url, store.remote)
    return AsyncPrefixedClient(opened, store.prefix) if store.prefix else opened


# The remote clients are not imported at the top: botocore's sessions and urllib3 take longer to import than everything
# else, and a store in the process needs neither.


def _remote(url: str, remote: store_url.Remote) -> Client:
    made: Client = import_module("sortkey.client.remote").RemoteClient(url, remote)
    return made


def _async_remote(url: str, remote: store_url.Remote) -> AsyncClient:
    with installed_by("aws"):
        made: AsyncClient = import_module("sortkey.client.remote_async").AsyncRemoteClient(url, remote)
    return made
