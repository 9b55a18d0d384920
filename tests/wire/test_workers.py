"""Several processes behind one port."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.wire.conftest import Serve
from tests.wire.serving import RawClient, ServerProcess, item, table

pytestmark = pytest.mark.slow

WORKERS = 3


@pytest.fixture
def shared(tmp_path: Path, serve: Serve) -> Iterator[ServerProcess]:
    server = serve("--data", tmp_path, "--workers", str(WORKERS))
    yield server
    server.process.terminate()
    server.process.communicate(timeout=60)
    assert server.process.returncode == 0


def identity(client: RawClient) -> str:
    """Which process a connection leads to: request ids begin with it."""
    client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client.answer().headers["x-amzn-requestid"][:36]


def clients_of_all(url: str, number: int = WORKERS) -> dict[str, RawClient]:
    """A connection to each worker; the system spreads them, so it takes some."""
    clients: dict[str, RawClient] = {}
    spare = []
    for _ in range(500):
        client = RawClient(url)
        if clients.setdefault(identity(client), client) is not client:
            spare.append(client)
        if len(clients) == number:
            break
    for client in spare:
        client.close()
    assert len(clients) == number
    return clients


def test_what_one_writes_all_read(shared: ServerProcess) -> None:
    clients = list(clients_of_all(shared.url).values())
    clients[0].call("CreateTable", **table("common"))
    for number, writer in enumerate(clients):
        writer.call("PutItem", TableName="common", Item=item(number))
        for reader in clients:
            assert "Item" in reader.call("GetItem", TableName="common", Key=item(number))
    for client in clients:
        client.close()


# A counter that lost an update would show that workers do not share the lock of the store.
def test_conditional_writes_hold_across_workers(shared: ServerProcess) -> None:
    clients = list(clients_of_all(shared.url).values())
    clients[0].call("CreateTable", **table("counted"))
    for _ in range(20):
        for client in clients:
            client.call(
                "UpdateItem",
                TableName="counted",
                Key=item(1),
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
    answer = clients[0].call("GetItem", TableName="counted", Key=item(1))
    assert answer["Item"]["n"] == {"N": str(20 * WORKERS)}
    for client in clients:
        client.close()


def test_a_worker_that_dies_is_replaced(shared: ServerProcess) -> None:
    before = clients_of_all(shared.url)
    os.kill(worker_ids(shared)[0], signal.SIGKILL)
    assert shared.process.stderr is not None
    assert "starting another" in shared.process.stderr.readline()
    lost = [name for name, client in before.items() if is_gone(client)]
    assert len(lost) == 1
    for client in before.values():
        client.close()
    # The new one has another identity, and takes connections as soon as it serves.
    new = None
    while new is None:
        client = RawClient(shared.url)
        new = name if (name := identity(client)) not in before else None
        client.close()


# The others are healthy, and may be all that is left of the service.
def test_a_replacement_that_dies_before_it_serves_costs_no_other(shared: ServerProcess) -> None:
    before = clients_of_all(shared.url)
    healthy = set(workers_of(shared))
    victim = healthy.pop()
    os.kill(victim, signal.SIGKILL)
    errors = shared.process.stderr
    assert errors is not None
    assert "starting another\n" in errors.readline()
    failures = 0
    while failures < 3:
        os.kill(replacement(shared, healthy), signal.SIGKILL)
        told = errors.readline()
        if "ended with exit code -9; starting another\n" in told:
            failures = 0  # it served already, as the signal came late: the pauses begin anew
            continue
        assert f"could not serve (exit code -9); starting another in {0.1 * 2**failures:g} s" in told
        failures += 1
    assert healthy <= set(workers_of(shared))
    assert sum(is_gone(client) for client in before.values()) == 1
    for client in before.values():
        client.close()
    # In the end there are as many as before.
    for client in clients_of_all_again(shared.url, before).values():
        client.close()


def replacement(server: ServerProcess, healthy: set[int]) -> int:
    """Waits until it has begun, which takes less time than until it serves."""
    while True:
        for pid in workers_of(server):
            if pid not in healthy:
                return pid


def clients_of_all_again(url: str, before: dict[str, RawClient]) -> dict[str, RawClient]:
    """Waits for a worker that was not there before."""
    while True:
        client = RawClient(url)
        name = identity(client)
        client.close()
        if name not in before:
            return clients_of_all(url)


def workers_of(server: ServerProcess) -> list[int]:
    """The parent's children that serve, or will; Python keeps another to look after shared memory."""
    found = []
    for pid in server.children():
        with suppress(FileNotFoundError, ProcessLookupError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def worker_ids(server: ServerProcess) -> list[int]:
    serving = workers_of(server)
    assert len(serving) == WORKERS
    return serving


def is_gone(client: RawClient) -> bool:
    try:
        identity(client)
    except (OSError, IndexError):
        return True
    return False


# A scrape reaches one of them, and shows the sum of all.
def test_metrics_are_those_of_all_workers(shared: ServerProcess) -> None:
    clients = list(clients_of_all(shared.url).values())
    for client in clients:
        client.call("ListTables")
    counted = ""
    # Each learns of the others' within a second.
    while counted != str(WORKERS):
        clients[0].send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        lines = clients[0].answer().body.decode().splitlines()
        counted = next(line.split()[1] for line in lines if 'operation="ListTables",outcome="ok"' in line)
    for client in clients:
        client.close()
