"""How a remote store is reached: region, credentials, retries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from botocore.loaders import Loader, create_loader
from botocore.session import Session

from sortkey.client.aws_access import AwsAccess
from sortkey.client.capabilities import AWS, STORES, Capabilities
from sortkey.client.interface import AnyClient, warn_unclosed
from sortkey.client.metadata import ClientMeta
from sortkey.client.methods import R
from sortkey.client.store_url import Remote

_CONNECTIONS: Final = 64
"""A lookup sends its chunks in parallel, each on a connection of its own."""
STREAM_POLL_SECONDS: Final = 0.5
"""AWS allows five reads a second of a shard, over all its readers."""

_DEFAULT_REGION: Final = "us-east-1"
_ANY_CREDENTIAL: Final = "sortkey"
"""An endpoint without authentication still requires a signature, with any key."""
_FROM_THE_HOST: Final = ("container-role", "iam-role")
"""Providers with which botocore asks the network for credentials: that takes seconds on a machine that has none."""


class Connection(NamedTuple):
    arguments: dict[str, Any]
    """The arguments of botocore's and aiobotocore's `create_client`, without the configuration."""
    capabilities: Capabilities | None
    """None if the endpoint must be asked."""

    @property
    def region(self) -> str:
        region: str = self.arguments["region_name"]
        return region


class AnyRemoteClient(AnyClient[R]):
    """What the sync and the async client have in common: one botocore client per service, made when first needed."""

    def __init__(self, url: str, remote: Remote, access: AwsAccess, session: Any) -> None:
        """`session` is the botocore session of the program; None if it has none."""
        self._access = access
        self._connection = connection(remote, session)
        self._capabilities = self._connection.capabilities
        self._clients: dict[str, Any] = {}
        self._closed = False
        self.meta = ClientMeta(url, self._connection.region)

    def __del__(self) -> None:
        clients: dict[str, Any] = getattr(self, "_clients", {})
        if clients:
            self._abandon(clients)
            warn_unclosed(self, self.meta.endpoint_url)

    def _abandon(self, clients: dict[str, Any]) -> None:
        """Release the connections of a client that is collected."""

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"this client of {self.meta.endpoint_url!r} is closed")


def own_session(make: Callable[[], Any]) -> Any:
    """A session of botocore or aiobotocore for a program that gives none.

    All of them share the data files of botocore. Each would load them again: most of the time of opening a client.
    """
    session = make()
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    return session


@cache
def _loader(data_path: str | None) -> Loader:
    return create_loader(data_path)


def configuration(session: Any) -> dict[str, Any]:
    """The configuration of clients, for a session of botocore or aiobotocore."""
    return {
        "retries": {"mode": "standard"},
        "max_pool_connections": _CONNECTIONS,
        # A constant text; botocore would assemble it twice for each request.
        "user_agent": session.user_agent(),
    }


def connection(remote: Remote, given: Any = None) -> Connection:
    """How to reach a store; `given` is a session of the program, whose region and credentials are used as they are."""
    known = STORES.get(remote.store or "")
    if remote.endpoint is None:
        return Connection({"region_name": remote.region}, known or AWS)
    # It makes no client, so it needs no handlers of requests.
    session = given or Session(include_builtin_handlers=False)
    arguments = {
        "endpoint_url": remote.endpoint,
        "region_name": session.get_config_variable("region") or _DEFAULT_REGION,
    }
    host = urlsplit(remote.endpoint).hostname or ""
    if host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws")):
        return Connection(arguments, known or AWS)
    if given is None and credentials_of_this_machine(session) is None:
        arguments |= {"aws_access_key_id": _ANY_CREDENTIAL, "aws_secret_access_key": _ANY_CREDENTIAL}
    return Connection(arguments, known)


def credentials_of_this_machine(session: Session) -> Any:
    """botocore's credentials from the environment and from files, or None. Asks nothing of the network."""
    resolver = session.get_component("credential_provider")
    for provider in _FROM_THE_HOST:
        resolver.remove(provider)
    return resolver.load_credentials()
