"""A connection without sockets, and the server and the client at its ends."""

from __future__ import annotations

import pytest

from sortkey.http.connection import Connection
from tests.http.connecting import Handler, Host, Transport, connect


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture
def host(handler: Handler) -> Host:
    host = Host()
    host.handler = handler
    return host


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def connection(host: Host, transport: Transport) -> Connection:
    return connect(host, transport)
