"""Without keys, the endpoint serves names of this machine, and those that it was started with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wire.conftest import Serve
from tests.wire.serving import Answer, RawClient, ServerProcess, request

Send = Callable[[ServerProcess, bytes], Answer]


@pytest.fixture
def send() -> Iterator[Send]:
    clients: list[RawClient] = []

    def send(server: ServerProcess, data: bytes) -> Answer:
        clients.append(RawClient(server.url))
        clients[-1].send(data)
        return clients[-1].answer()

    yield send
    for client in clients:
        client.close()


def naming(host: str, data: bytes) -> bytes:
    return data.replace(b"Host: localhost", f"Host: {host}".encode())


def get(path: str, host: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


# A site can lead its name to this machine; a GET of its page's own origin has no `Origin`.
@pytest.mark.parametrize("host", ["evil.test", "evil.test:8000", "localhost.evil.test", "192.0.2.1"])
@pytest.mark.parametrize(
    "data",
    [
        request("ListTables", {}),
        request("ListStreams", {}),
        request("CreateTable", {"TableName": "t"}),
        request("NoOperation", {}),
        get("/metrics", "localhost"),
        get("/nothing", "localhost"),
    ],
)
def test_other_names_are_rejected(server: ServerProcess, send: Send, host: str, data: bytes) -> None:
    answer = send(server, naming(host, data))
    assert answer.status == 403
    error = answer.json()
    assert error["__type"].endswith("#AccessDeniedException")
    assert f"'{host}' is not a name of this machine" in error["Message"]
    assert "--allow-host" in error["Message"]


def test_a_whole_url_as_the_target(server: ServerProcess, send: Send) -> None:
    data = request("ListTables", {}).replace(b"POST / ", b"POST http://evil.test/ ")
    assert send(server, data).status == 403


# Probes often send another name or none, and it shows nothing.
@pytest.mark.parametrize("path", ["/", "/health"])
def test_health_is_open_to_all_names(server: ServerProcess, send: Send, path: str) -> None:
    assert send(server, get(path, "evil.test")).status == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "orders.localhost"])
def test_names_of_this_machine_are_served(server: ServerProcess, send: Send, host: str) -> None:
    assert send(server, naming(host, request("ListTables", {}))).status == 200
    assert send(server, get("/metrics", host)).status == 200


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.slow
def test_names_that_are_allowed(tmp_path: Path, serve: Serve, send: Send, workers: str) -> None:
    names = ("--allow-host", "orders.example", "--allow-host", "prices.example")
    server = serve("--data", tmp_path, "--workers", workers, *names)
    for host, status in (("orders.example:443", 200), ("prices.example", 200), ("evil.test", 403)):
        assert send(server, naming(host, request("ListTables", {}))).status == status
    assert server.stop() == 0


# A page that leads its name here has no key.
@pytest.mark.slow
def test_with_keys_every_name_is_served(tmp_path: Path, serve: Serve, send: Send) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text('{"AKID": {"secret": "s"}}')
    keys.chmod(0o600)
    server = serve("--memory", "--keys", keys)
    assert send(server, get("/metrics", "evil.test")).status == 200
    answer = send(server, naming("evil.test", request("ListTables", {})))
    assert answer.json()["__type"].endswith("MissingAuthenticationTokenException")
    assert server.stop() == 0
