"""How a remote store is reached: the session of botocore, region, credentials, retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from botocore.session import Session

from sortkey.client import own_clients, service_data
from sortkey.client.fence_watch import FenceWatch
from sortkey.client.interface import AnyClient, warn_unclosed
from sortkey.client.methods import R
from sortkey.client.service_model import ClientMeta
from sortkey.client.stores import AWS, STORES, AwsAccess, Capabilities, Remote
from sortkey.late_imports import collector_paused

STREAM_POLL_SECONDS: Final = 0.5
"""AWS allows five reads a second of a shard, over all its readers."""

_DEFAULT_REGION: Final = "us-east-1"
_ANY_CREDENTIAL: Final = "sortkey"
"""An endpoint without authentication still requires a signature, with any key."""
_FROM_THE_HOST: Final = ("container-role", "iam-role")
"""Providers with which botocore asks the network for credentials: that takes seconds on a machine that has none."""
_ASYNC_MODULES: Final = frozenset({"aiobotocore", "aioboto3"})
_SYNC_MODULES: Final = frozenset({"botocore", "boto3"})


class AwsSession:
    """The session that makes the clients of botocore or aiobotocore: the program's, or one of our own.

    The hooks of the program's session must see every request, so its clients take no short cut around botocore.
    """

    def __init__(self, given: Any, make: Callable[[], Any], *, is_async: bool) -> None:
        """Raises TypeError if `given` is not a session of the right kind. Without one, `make` makes it."""
        self.is_given = given is not None
        if self.is_given:
            _check_kind(given, is_async)
        self._session = given if self.is_given else _own_session(make)
        # boto3 and aioboto3 wrap the session of botocore or aiobotocore, and give it other methods.
        self._is_boto3 = not hasattr(self._session, "create_client")

    def create_client(self, service: str, **arguments: Any) -> Any:
        """A client of botocore; for an async session a context manager of one of aiobotocore."""
        make = self._session.client if self._is_boto3 else self._session.create_client
        with own_clients.making(), collector_paused():
            return make(service, **arguments)

    def get_credentials(self) -> Any:
        """For an async session, a coroutine."""
        return self._session.get_credentials()

    @property
    def region(self) -> str | None:
        region: str | None = (
            self._session.region_name if self._is_boto3 else self._session.get_config_variable("region")
        )
        return region

    @property
    def ca_bundle(self) -> str | None:
        """The file of trusted certificates in the session's configuration."""
        configured = self._session
        if self._is_boto3:
            profile = self._session.profile_name
            configured = Session(profile=None if profile == "default" else profile, include_builtin_handlers=False)
        bundle: str | None = configured.get_config_variable("ca_bundle")
        return bundle

    def configuration(self, connections: int) -> dict[str, Any]:
        """The configuration of clients."""
        made: dict[str, Any] = {"retries": {"mode": "standard"}, "max_pool_connections": connections}
        if not self._is_boto3:
            # A constant text; botocore would assemble it twice for each request.
            made["user_agent"] = self._session.user_agent()
        return made


def _check_kind(session: Any, is_async: bool) -> None:
    modules = {cls.__module__.partition(".")[0] for cls in type(session).__mro__}
    wanted = modules & (_ASYNC_MODULES if is_async else _SYNC_MODULES)
    if not wanted or (not is_async and modules & _ASYNC_MODULES):
        kinds = "aiobotocore or aioboto3" if is_async else "boto3 or botocore"
        store = "an async store" if is_async else "a sync store"
        raise TypeError(f"session must be one of {kinds} for {store}, not {session!r}")


def _own_session(make: Callable[[], Any]) -> Any:
    """A session of botocore or aiobotocore for a program that gives none.

    All of them share the data files of botocore. Each would load them again: most of the time of opening a client.
    """
    session = make()
    session.register_component("data_loader", service_data.loader(session.get_config_variable("data_path")))
    return session


class RemoteSettings(NamedTuple):
    arguments: dict[str, Any]
    """The arguments of botocore's and aiobotocore's `create_client`, without the configuration."""
    capabilities: Capabilities | None
    """None if the endpoint must be asked."""

    @property
    def region(self) -> str:
        region: str = self.arguments["region_name"]
        return region

    @property
    def keys(self) -> tuple[str, str] | None:
        """The key's id and secret among the arguments; None if the session has the credentials."""
        key_id = self.arguments.get("aws_access_key_id")
        return None if key_id is None else (key_id, self.arguments["aws_secret_access_key"])


def remote_settings(remote: Remote, given: AwsSession | None = None) -> RemoteSettings:
    """How to reach a store; `given` is the program's session, whose region and credentials are used as they are."""
    known = STORES.get(remote.store or "")
    if remote.endpoint is None:
        return RemoteSettings({"region_name": remote.region}, known or AWS)
    # It makes no client, so it needs no handlers of requests.
    session = Session(include_builtin_handlers=False)
    region = session.get_config_variable("region") if given is None else given.region
    arguments = {"endpoint_url": remote.endpoint, "region_name": region or _DEFAULT_REGION}
    host = urlsplit(remote.endpoint).hostname or ""
    if host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws")):
        return RemoteSettings(arguments, known or AWS)
    if given is None and credentials_of_this_machine(session) is None:
        arguments |= {"aws_access_key_id": _ANY_CREDENTIAL, "aws_secret_access_key": _ANY_CREDENTIAL}
    return RemoteSettings(arguments, known)


def credentials_of_this_machine(session: Session) -> Any:
    """botocore's credentials from the environment and from files, or None. Asks nothing of the network."""
    resolver = session.get_component("credential_provider")
    for provider in _FROM_THE_HOST:
        resolver.remove(provider)
    return resolver.load_credentials()


class AnyRemoteClient(AnyClient[R]):
    """What the sync and the async client have in common: one botocore client per service, made when first needed."""

    def __init__(self, url: str, remote: Remote, access: AwsAccess, session: AwsSession) -> None:
        self._access = access
        self._session = session
        self._settings = remote_settings(remote, session if session.is_given else None)
        self._capabilities = self._settings.capabilities
        self._clients: dict[str, Any] = {}
        self._closed = False
        self._fences: FenceWatch | None = None
        self._in_flight = remote.in_flight
        self.meta = ClientMeta(url, self._settings.region)

    @property
    def in_flight(self) -> int:
        return self._in_flight

    @property
    def _connections_needed(self) -> int:
        """A session's reads and writes, each on a connection of its own."""
        return 2 * self._in_flight

    def __del__(self) -> None:
        clients: dict[str, Any] = getattr(self, "_clients", {})
        if clients:
            self._abandon(clients)
            warn_unclosed(self, self.meta.endpoint_url)

    def honour_fences(self) -> None:
        if self._fences is None and not (self._capabilities is None or self._capabilities.fences):
            self._fences = FenceWatch()

    def _abandon(self, clients: dict[str, Any]) -> None:
        """Release the connections of a client that is collected."""

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"this client of {self.meta.endpoint_url!r} is closed")

    def _configured(self, config: Any) -> Any:
        """Our configuration, changed by the program's."""
        own = self._access.config
        if own is None:
            return config
        if not hasattr(own, "merge"):
            raise TypeError(f"config must be a botocore.config.Config, not {own!r}")
        return config.merge(own)
