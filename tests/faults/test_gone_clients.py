"""A client that goes away is forgotten, even if its answer failed, or never comes."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from tests.faults import broken_endpoint
from tests.faults.processes import Program, Running
from tests.wire.serving import RawClient, item, request, table

CLIENTS = 200
UPDATE = request(
    "UpdateItem",
    {
        "TableName": "orders",
        "Key": item(1),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
        "ReturnValues": "ALL_NEW",
    },
)
PUT = request("PutItem", {"TableName": "orders", "Item": item(2)})
RESET = struct.pack("ii", 1, 0)

Serve = Callable[[Program], tuple[Running, str]]
Leave = Callable[[RawClient], None]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts an endpoint with a table; kills it in the end."""
    started: list[Running] = []

    def start(program: Program) -> tuple[Running, str]:
        running = Running(program, tmp_path / "data", 0)
        started.append(running)
        (ready,) = running.read(1)
        client = RawClient(ready.split()[1])
        client.call("CreateTable", **table("orders"))
        client.close()
        return running, ready.split()[1]

    yield start
    for running in started:
        running.kill()


def descriptors(server: Running) -> int:
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def come_down(server: Running, number: int) -> bool:
    """Whether so few descriptors are open, after some time."""
    tick = Event()
    for _ in range(600):
        if descriptors(server) <= number:
            return True
        tick.wait(0.1)
    return False


def close(client: RawClient) -> None:
    client.close()


def reset(client: RawClient) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    client.close()


@pytest.mark.slow
@pytest.mark.parametrize("leave", [close, reset])
@pytest.mark.parametrize("program", [broken_endpoint.fails, broken_endpoint.never_comes])
def test_clients_that_have_gone_are_freed(serve: Serve, program: Program, leave: Leave) -> None:
    server, url = serve(program)
    before = descriptors(server)
    for _ in range(CLIENTS):
        client = RawClient(url)
        # The second request waits behind the first.
        client.send(UPDATE + PUT)
        leave(client)
    assert come_down(server, before + 1), f"{descriptors(server)} descriptors are open; there were {before}"
    # All of this harmed nobody else.
    client = RawClient(url)
    client.call("PutItem", TableName="orders", Item=item(3))
    client.close()


@pytest.mark.slow
def test_clients_that_read_their_error_are_freed(serve: Serve) -> None:
    server, url = serve(broken_endpoint.fails)
    before = descriptors(server)
    for _ in range(CLIENTS):
        client = RawClient(url)
        client.send(UPDATE + PUT)
        assert [client.answer().status, client.answer().status] == [500, 200]
        client.close()
    assert come_down(server, before + 1)
