"""Malformed requests, many connections, kills and full disks, and what a server must still do."""

from __future__ import annotations

import resource
import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.wire.conftest import Serve
from tests.wire.malformed import malformed
from tests.wire.serving import RawClient, ServerProcess, item, raw_request, request, table

pytestmark = pytest.mark.faults

MALFORMED = 10_000
IDLE = 2_000
MIB = 1 << 20


@pytest.fixture
def own_server(serve: Serve) -> Iterator[ServerProcess]:
    server = serve("--memory")
    yield server
    assert server.stop() == 0


def answers_to(url: str, data: bytes) -> bytes:
    """Everything that the server answers to these bytes before it closes."""
    client = RawClient(url)
    received = b""
    try:
        client.send(data)
        client.socket.shutdown(socket.SHUT_WR)
        while piece := client.socket.recv(65536):
            received += piece
    except (ConnectionResetError, BrokenPipeError):
        # It had heard enough.
        pass
    finally:
        client.close()
    return received


# A client's error is never answered by 500, and leaks no memory.
@pytest.mark.timeout(600)
def test_malformed_requests(own_server: ServerProcess) -> None:
    client = RawClient(own_server.url)
    client.call("CreateTable", **table("fuzzed"))
    random = Random(20260824)
    sizes = []
    for number in range(MALFORMED):
        data = malformed(random)
        answer = answers_to(own_server.url, data)
        assert b"HTTP/1.1 500" not in answer, (data[:2000], answer)
        if number % 1000 == 999:
            sizes.append(own_server.resident_bytes())
    # The first thousands fill caches.
    assert sizes[-1] - sizes[2] < 24 * MIB, sizes
    assert client.call("ListTables")["TableNames"] == ["fuzzed"]
    client.close()


def test_idle_connections_do_not_hurt_others(own_server: ServerProcess) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < IDLE + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, IDLE + 200), hard))
    client = RawClient(own_server.url)
    client.call("CreateTable", **table("busy"))
    before = own_server.resident_bytes()
    idle = [RawClient(own_server.url) for _ in range(IDLE)]
    for half in idle[::2]:
        half.send(b"POST / HTTP/1.1\r\nHost: ")
    for quarter in idle[1::4]:
        quarter.send(raw_request("PutItem", bytes(2000))[:-1])
    began = own_server.processor_seconds()
    for number in range(500):
        client.call("PutItem", TableName="busy", Item=item(number))
        client.call("GetItem", TableName="busy", Key=item(number))
    assert own_server.processor_seconds() - began < 20
    assert own_server.resident_bytes() - before < 64 * MIB
    for one in idle:
        one.close()
    client.close()


BODY_BYTES = 16 * MIB


class Stalling(threading.Thread):
    """Clients that send all of a large body but its end, and then nothing; who is rejected comes again."""

    def __init__(self, url: str, clients: int) -> None:
        super().__init__()
        self._url = url
        self._clients = [self._stalled() for _ in range(clients)]
        self._ended = threading.Event()
        self.rejected = 0

    def _stalled(self) -> RawClient:
        client = RawClient(self._url)
        try:
            client.send(raw_request("PutItem", bytes(BODY_BYTES))[:-1])
        except (ConnectionResetError, BrokenPipeError):
            pass  # rejected meanwhile
        return client

    def run(self) -> None:
        while not self._ended.is_set():
            for number, client in enumerate(self._clients):
                if select.select([client.socket], [], [], 0)[0]:
                    self.rejected += 1
                    client.close()
                    self._clients[number] = self._stalled()

    def stop(self) -> None:
        self._ended.set()
        self.join(60)
        for client in self._clients:
            client.close()


# Stalled bodies use up the room for bodies. They are the ones that go, however often they come again.
def test_clients_that_stall_do_not_lock_out_others(own_server: ServerProcess) -> None:
    client = RawClient(own_server.url)
    client.call("CreateTable", **table("busy"))
    before = own_server.resident_bytes()
    stalling = Stalling(own_server.url, 40)
    try:
        stalling.start()
        number = 0
        while number < 60 or stalling.rejected <= 30:
            client.call("PutItem", TableName="busy", Item=item(number % 5, x={"S": "x" * 300_000}))
            number += 1
        assert own_server.resident_bytes() - before < 256 * MIB
    finally:
        stalling.stop()
    client.close()


class Load:
    """Connections that write, each its own items, and remember what was acknowledged."""

    def __init__(self, url: str, connections: int) -> None:
        self.acknowledged: list[list[int]] = [[] for _ in range(connections)]
        self.broken: list[str] = []
        self.warm = threading.Barrier(connections + 1)
        self._url = url
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(connections)]
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        client = RawClient(self._url)
        sent = 0
        try:
            while True:
                client.send(request("PutItem", {"TableName": "loaded", "Item": key(number, sent)}))
                answer = client.answer()
                if answer.status != 200:
                    self.broken.append(answer.body.decode())
                    break
                self.acknowledged[number].append(sent)
                sent += 1
                if sent == 20:
                    self.warm.wait(60)
                if answer.headers.get("connection") == "close":
                    break
        except (OSError, IndexError):
            # The server is gone, or closes: what was not answered may or may not be there.
            pass
        client.close()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)


def key(connection: int, number: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"c{connection}"}, "sk": {"S": str(number)}}


def missing(url: str, load: Load) -> list[tuple[int, int]]:
    """Acknowledged writes that are not there."""
    client = RawClient(url)
    lost = []
    for connection, numbers in enumerate(load.acknowledged):
        for number in numbers:
            answer = client.call("GetItem", TableName="loaded", Key=key(connection, number))
            if "Item" not in answer:
                lost.append((connection, number))
    client.close()
    return lost


@pytest.mark.parametrize("workers", ["1", "2"])
def test_kill_9_under_load_loses_nothing_acknowledged(tmp_path: Path, serve: Serve, workers: str) -> None:
    for _ in range(3):
        server = serve("--data", tmp_path, "--workers", workers)
        client = RawClient(server.url)
        if "loaded" not in client.call("ListTables")["TableNames"]:
            client.call("CreateTable", **table("loaded"))
        load = Load(server.url, 16)
        load.warm.wait(60)
        server.kill()
        load.join()
        client.close()
        again = serve("--data", tmp_path)
        assert load.broken == []
        assert sum(map(len, load.acknowledged)) >= 16 * 20
        assert missing(again.url, load) == []
        assert again.stop() == 0


# Every request that was taken is answered, and every answer is true.
@pytest.mark.parametrize("workers", ["1", "2"])
def test_stopping_under_load(tmp_path: Path, serve: Serve, workers: str) -> None:
    server = serve("--data", tmp_path, "--workers", workers)
    client = RawClient(server.url)
    client.call("CreateTable", **table("loaded"))
    client.close()
    load = Load(server.url, 16)
    load.warm.wait(60)
    assert server.stop() == 0
    load.join()
    assert load.broken == []
    again = serve("--data", tmp_path)
    assert missing(again.url, load) == []
    assert again.stop() == 0


def test_a_stop_waits_for_the_request_that_is_being_sent(serve: Serve) -> None:
    server = serve("--memory")
    client = RawClient(server.url)
    whole = request("ListTables", {})
    client.send(whole[:-1])
    idle = RawClient(server.url)
    idle.send(whole)
    assert idle.answer().status == 200
    server.process.terminate()
    # The idle one is closed at once, so the server is stopping by now.
    assert idle.at_end()
    client.send(whole[-1:])
    answer = client.answer()
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert client.at_end()
    assert server.process.wait(60) == 0
    server.process.communicate()
    client.close()
    idle.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(tmp_path)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disk(small_disk: Path, serve: Serve) -> None:
    server = serve("--data", small_disk / "data")
    client = RawClient(server.url)
    client.call("CreateTable", **table("filled"))
    written = 0
    while True:
        client.send(request("PutItem", {"TableName": "filled", "Item": item(written, x={"S": "x" * 100_000})}))
        answer = client.answer()
        if answer.status != 200:
            break
        written += 1
    assert answer.status == 500
    assert "no space left" in answer.json()["message"]
    # Reads go on, and nothing that was acknowledged is lost.
    for number in range(written):
        assert "Item" in client.call("GetItem", TableName="filled", Key=item(number), ProjectionExpression="pk")
    client.close()
    assert server.stop() == 0
    again = serve("--data", small_disk / "data")
    client = RawClient(again.url)
    for number in range(written):
        assert "Item" in client.call("GetItem", TableName="filled", Key=item(number), ProjectionExpression="pk")
    client.close()
    assert again.stop() == 0
