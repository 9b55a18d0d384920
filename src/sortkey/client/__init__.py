"""One interface to DynamoDB's operations, boto3's own, over the embedded engine or any endpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from sortkey.client import stores
from sortkey.client.interface import AsyncClient, Client
from sortkey.client.stores import AwsAccess
from sortkey.engine.faults.faults import Faults
from sortkey.extras import installed_by
from sortkey.late_imports import late_import

__all__ = ["AsyncClient", "Client", "Faults", "async_client", "client"]

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    # To type checkers, a client of `sk.client` is also the `DynamoDBClient` of boto3-stubs, which is a class and no
    # protocol, so only what is derived from it satisfies an annotation. Its own methods are typed as ours: any members,
    # and a dictionary. Where boto3-stubs is not installed, type checkers take the class for `Any`.
    class Boto3Client(Client, DynamoDBClient):  # type: ignore[misc]
        """A client of `sk.client`."""

else:
    Boto3Client = Client


def client(
    url: str | os.PathLike[str], *, session: Any = None, config: Any = None, faults: Faults | None = None
) -> Boto3Client:
    """Open a store (`./data`, `memory:`, `http://HOST:PORT`, `dynamodb://REGION`) with boto3's low-level DynamoDB
    client as the interface. `session`, of boto3 or botocore, has the credentials for an endpoint or AWS; `config` is a
    botocore Config. See docs/guides/client.md. A store in the process can have `faults` (docs/guides/faults.md)."""
    store = stores.parse(url)
    access = AwsAccess(session, config)
    if store.remote is None:
        access.reject_in_process(store.url)
        opened = _embedded(store, faults)
    else:
        _reject_faults(store.url, faults)
        opened = _remote(store.url, store.remote, access)
    return cast(Boto3Client, _prefixed(opened, store.prefix) if store.prefix else opened)


def async_client(
    url: str | os.PathLike[str], *, session: Any = None, config: Any = None, faults: Faults | None = None
) -> AsyncClient:
    """As `client`, with methods that are awaited; the session is one of aiobotocore or aioboto3."""
    store = stores.parse(url)
    access = AwsAccess(session, config)
    if store.remote is None:
        access.reject_in_process(store.url)
        opened = _async_embedded(store, faults)
    else:
        _reject_faults(store.url, faults)
        opened = _async_remote(store.url, store.remote, access)
    return _async_prefixed(opened, store.prefix) if store.prefix else opened


def _reject_faults(url: str, faults: Faults | None) -> None:
    """Raises ValueError for a store that is not in the process."""
    if faults is not None:
        raise ValueError(
            f"{url!r} is not a store in the process, so it cannot be given faults; start the endpoint with them: "
            "sortkey db --faults …"
        )


# The clients are not imported at the top. A store in the process needs neither botocore's sessions nor urllib3, and a
# remote one needs no engine; each takes longer to import than everything else.


def _embedded(store: stores.StoreAddress, faults: Faults | None) -> Client:
    made: Client = late_import("sortkey.client.embedded").EmbeddedClient(store, faults)
    return made


def _async_embedded(store: stores.StoreAddress, faults: Faults | None) -> AsyncClient:
    made: AsyncClient = late_import("sortkey.client.embedded").AsyncEmbeddedClient(store, faults)
    return made


def _prefixed(opened: Client, prefix: str) -> Client:
    made: Client = late_import("sortkey.client.prefixed").PrefixedClient(opened, prefix)
    return made


def _async_prefixed(opened: AsyncClient, prefix: str) -> AsyncClient:
    made: AsyncClient = late_import("sortkey.client.prefixed").AsyncPrefixedClient(opened, prefix)
    return made


def _remote(url: str, remote: stores.Remote, access: AwsAccess) -> Client:
    made: Client = late_import("sortkey.client.remote").RemoteClient(url, remote, access)
    return made


def _async_remote(url: str, remote: stores.Remote, access: AwsAccess) -> AsyncClient:
    with installed_by("aws"):
        made: AsyncClient = late_import("sortkey.client.remote_async").AsyncRemoteClient(url, remote, access)
    return made
