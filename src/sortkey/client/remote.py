"""The remote client: boto3's low-level DynamoDB client, with the operations of streams on it as well."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os import environ
from socket import SO_KEEPALIVE, SOL_SOCKET
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import ProxyConfiguration, get_cert_path
from botocore.session import Session
from botocore.utils import get_environ_proxies
from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError as UrllibConnectTimeout
from urllib3.exceptions import HTTPError, NewConnectionError, ProtocolError
from urllib3.exceptions import ReadTimeoutError as UrllibReadTimeout
from urllib3.exceptions import SSLError as UrllibSSLError

from sortkey.client import errors, fast_requests, own_clients, remote_formats
from sortkey.client.boto3_shapes import UNPARSED_READS, with_parsed_items
from sortkey.client.fast_requests import FAST_OPERATIONS, FastRequests
from sortkey.client.fence_watch import LOOK, WRITES
from sortkey.client.interface import Client
from sortkey.client.remote_connection import STREAM_POLL_SECONDS, AnyRemoteClient, AwsSession
from sortkey.client.remote_formats import request_body
from sortkey.client.service_model import METHOD_OF, service_of
from sortkey.client.stores import DEFAULT_ACCESS, AwsAccess, Capabilities, Remote, capabilities_of
from sortkey.clock import DEADLINE, monotonic

_SHORTEST: Final = 0.001
"""A timeout of zero would make the socket non-blocking."""
_AS_IT_IS: Final[dict[str, Any]] = {"retries": False, "redirect": False, "decode_content": False}
"""How urllib3 sends a request: once, and returns the answer as it came."""


class RemoteClient(AnyRemoteClient[dict[str, Any]], Client):
    """Any number of threads may share one client."""

    def __init__(self, url: str, remote: Remote, access: AwsAccess = DEFAULT_ACCESS) -> None:
        super().__init__(url, remote, access, AwsSession(access.session, Session, is_async=False))
        self._connections: Connections | None = None
        self._fast: SyncFastRequests | None = None
        self._opening = threading.Lock()

    def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = self._call_unparsed(operation, members)
        return with_parsed_items(answer) if operation in UNPARSED_READS else answer

    def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        service = service_of(operation)
        client = self._clients.get(service) or self._client(service)
        if self._fences is not None and operation in WRITES:
            if self._fences.is_due:
                self._fences.seen(self._look(client))
            self._fences.check(operation, members)
        if self._fast is not None and operation in FAST_OPERATIONS:
            found = self._fast.send(operation, members, binary)
            if found is not None:
                return found
        try:
            answer: dict[str, Any] = getattr(client, METHOD_OF[operation])(**members)
        except ClientError as error:
            raise errors.remote_error(operation, members, error) from None
        return answer

    @staticmethod
    def _look(client: Any) -> dict[str, Any] | None:
        try:
            answer: dict[str, Any] = with_parsed_items(client.get_item(**LOOK))
        except (BotoCoreError, ClientError):
            # No such table, or no right to read it; the write itself finds out what else is wrong.
            return None
        return answer

    def _client(self, service: str) -> Any:
        with self._opening:
            self._check_open()
            if service not in self._clients:
                config = self._configured(Config(**self._session.configuration(self._connections_needed)))
                made = self._session.create_client(service, config=config, **self._settings.arguments)
                own_clients.add(made)
                remote_formats.install(made)
                if self._connections is None:
                    self._connections = Connections(made, self._session.ca_bundle)
                made.meta.events.register_last("before-send", self._connections.send_in_time)
                if service == "dynamodb" and not self._session.is_given and fast_requests.is_possible(made):
                    self._fast = SyncFastRequests(made, self._credentials(), self._connections)
                self._clients[service] = made
            return self._clients[service]

    def _credentials(self) -> Any:
        keys = self._settings.keys
        return Credentials(*keys) if keys else self._session.get_credentials()

    def capabilities(self) -> Capabilities:
        if self._capabilities is None:
            try:
                answer: Mapping[str, Any] = self.list_tables(Limit=1)
            except ClientError as error:
                # An error has the header too, and a caller without the right to list tables may still use them.
                answer = error.response
            self._capabilities = capabilities_of(answer)
        return self._capabilities

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        # By polling: an endpoint does not announce records.
        until = monotonic() + Timeout
        while True:
            answer = self.get_records(ShardIterator=ShardIterator, Limit=1)
            if answer["Records"] or answer.get("NextShardIterator") is None:
                return True
            left = until - monotonic()
            if left <= 0:
                return False
            ShardIterator = answer["NextShardIterator"]
            time.sleep(min(STREAM_POLL_SECONDS, left))

    def close(self) -> None:
        with self._opening:
            self._closed = True
            clients, self._clients = self._clients, {}
        self._abandon(clients)

    def _abandon(self, clients: dict[str, Any]) -> None:
        for client in clients.values():
            client.close()
        if self._connections is not None:
            self._connections.close()


class SyncFastRequests(FastRequests):
    """The fast way, sync."""

    def __init__(self, client: Any, credentials: Any, connections: Connections) -> None:
        super().__init__(client)
        self._credentials = credentials
        self._connections = connections
        self._poster = connections.poster(self.url)

    def send(self, operation: str, members: dict[str, Any], binary: bool) -> dict[str, Any] | None:
        """See `answer`."""
        body = request_body(operation, members, binary)
        if body is None or self._credentials is None:
            return None
        try:
            headers = self.signed_headers(operation, body, self._credentials.get_frozen_credentials())
            response = self._connections.post(self._poster, headers, body)
        except (BotoCoreError, HTTPError):
            return None
        return self.answer(operation, members, response.status, response.headers, response.data)


class Connections:
    """HTTP connections that keep `DEADLINE`, which botocore's own cannot: its timeouts are those of its client.

    They are set up as botocore sets up its own: timeouts, proxies, certificates. Fast requests always use them,
    botocore uses them while there is a deadline.
    """

    def __init__(self, client: Any, ca_bundle: str | None) -> None:
        """Takes the settings of a botocore client."""
        config, url = client.meta.config, client.meta.endpoint_url
        self._longest = (config.connect_timeout, config.read_timeout)
        options: dict[str, Any] = {
            "timeout": self._timeout(None),
            "maxsize": config.max_pool_connections,
            "ssl_context": _tls(url, ca_bundle, config.client_cert),
        }
        if config.tcp_keepalive:
            options["socket_options"] = [*HTTPConnection.default_socket_options, (SOL_SOCKET, SO_KEEPALIVE, 1)]
        proxies: Any = ProxyConfiguration(config.proxies or get_environ_proxies(url), config.proxies_config)
        proxy = proxies.proxy_url_for(url)
        self._manager = PoolManager(**options)
        if proxy is not None:
            settings = proxies.settings
            self._manager = ProxyManager(
                proxy,
                proxy_headers=proxies.proxy_headers_for(proxy),
                proxy_ssl_context=_tls(proxy, settings.get("proxy_ca_bundle"), settings.get("proxy_client_cert")),
                use_forwarding_for_https=bool(settings.get("proxy_use_forwarding_for_https")),
                **options,
            )

    def send_in_time(self, request: Any, **_: Any) -> AWSResponse | None:
        """Handles botocore's `before-send`: sends the request if there is a deadline, else leaves it to botocore."""
        if DEADLINE.get() is None:
            return None
        try:
            response = self.post(self.poster(request.url), request.headers, request.body)
        except HTTPError as error:
            raise _as_botocore_raises_it(request, error) from error
        headers: Any = response.headers
        return AWSResponse(request.url, response.status, headers, _Whole(response.data))

    def poster(self, url: str) -> Callable[..., BaseHTTPResponse]:
        """What posts to a URL; takes the arguments of urllib3's `urlopen`."""
        if isinstance(self._manager, ProxyManager):
            return partial(self._manager.urlopen, "POST", url, **_AS_IT_IS)
        pool = self._manager.connection_from_url(url)
        return partial(pool.urlopen, "POST", urlsplit(url).path or "/", **_AS_IT_IS)

    def post(
        self, poster: Callable[..., BaseHTTPResponse], headers: Mapping[str, Any], body: bytes
    ) -> BaseHTTPResponse:
        """The whole answer. Raises TimeoutError after the deadline, and urllib3's errors."""
        deadline = DEADLINE.get()
        if deadline is None:
            return poster(headers=headers, body=body)
        _check(deadline)
        try:
            return poster(headers=headers, body=body, timeout=self._timeout(deadline))
        except HTTPError:
            _check(deadline)
            raise

    def _timeout(self, deadline: float | None) -> Timeout:
        connect, read = self._longest
        if deadline is None:
            return Timeout(connect=connect, read=read)
        left = max(deadline - monotonic(), _SHORTEST)
        return Timeout(connect=min(connect, left), read=min(read, left))

    def close(self) -> None:
        self._manager.clear()


class _Whole:
    """The content of an answer, for botocore, which reads it as a stream."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


def _check(deadline: float) -> None:
    # An error that botocore does not retry.
    if monotonic() >= deadline:
        raise TimeoutError("the deadline has passed")


def _as_botocore_raises_it(request: Any, error: HTTPError) -> BotoCoreError:
    """The error as botocore's own connections raise it, so that it is retried as theirs are."""
    url = request.url
    if isinstance(error, UrllibSSLError):
        return SSLError(endpoint_url=url, error=error)
    if isinstance(error, NewConnectionError):
        return EndpointConnectionError(endpoint_url=url, error=error)
    if isinstance(error, UrllibConnectTimeout):
        return ConnectTimeoutError(endpoint_url=url, error=error)
    if isinstance(error, UrllibReadTimeout):
        return ReadTimeoutError(endpoint_url=url, error=error)
    if isinstance(error, ProtocolError):
        return ConnectionClosedError(endpoint_url=url, request=request, error=error)
    return HTTPClientError(error=error)


def _tls(url: str, ca_bundle: str | None, client_cert: str | tuple[str, str] | None) -> ssl.SSLContext | None:
    if not url.startswith("https:"):
        return None
    trusted: Any = ca_bundle or environ.get("REQUESTS_CA_BUNDLE") or True
    context = ssl.create_default_context(cafile=get_cert_path(trusted))
    if isinstance(client_cert, str):
        context.load_cert_chain(client_cert)
    elif client_cert is not None:
        context.load_cert_chain(*client_cert)
    return context
