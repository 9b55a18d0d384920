"""Another process that writes to the same folder, and stops or dies while it does."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.storage.conftest import Child
from tests.wire.conftest import Serve
from tests.wire.serving import RawClient, ServerProcess, item, request, table

pytestmark = pytest.mark.slow

WAIT_SECONDS = 3
"""Long enough to be told in the log: whoever waits for less than a second only takes turns."""


@pytest.fixture
def server(tmp_path: Path, serve: Serve) -> Iterator[ServerProcess]:
    """With the table `orders` and one item."""
    server = serve("--data", tmp_path, "--write-wait", str(WAIT_SECONDS))
    with closing(RawClient(server.url)) as client:
        client.call("CreateTable", **table("orders"))
        client.call("PutItem", TableName="orders", Item=item(1))
    yield server
    if server.process.poll() is None:
        server.process.terminate()
        server.process.communicate(timeout=60)
    assert server.process.returncode == 0


@pytest.fixture
def stopped_writer(tmp_path: Path) -> Iterator[Child]:
    """A process that was stopped in the middle of a write transaction."""
    with Child("hold_transaction", tmp_path, 0) as process:
        assert process.line() == "holding"
        os.kill(process.pid, signal.SIGSTOP)
        yield process
        process.kill()


def health(client: RawClient) -> str:
    client.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = client.answer()
    assert answer.status == 200
    return answer.body.decode()


def test_reads_are_served_while_another_writer_is_stopped(server: ServerProcess, stopped_writer: Child) -> None:
    with closing(RawClient(server.url)) as writer, closing(RawClient(server.url)) as reader:
        writer.send(request("PutItem", {"TableName": "orders", "Item": item(2)}))
        while f"process {stopped_writer.pid}" not in (told := health(reader)):
            assert "Item" in reader.call("GetItem", TableName="orders", Key=item(1))
        assert told.startswith("healthy")
        assert writer.answer().status == 503


# An SDK retries it, and what it was told must be true then.
def test_a_write_that_waited_too_long_is_answered_and_never_done(server: ServerProcess, stopped_writer: Child) -> None:
    with closing(RawClient(server.url)) as writer, closing(RawClient(server.url)) as other:
        for number in (2, 3):
            writer.send(request("PutItem", {"TableName": "orders", "Item": item(number)}))
        for _ in range(2):
            answer = writer.answer()
            assert answer.status == 503
            assert answer.headers["retry-after"]
            assert answer.json()["__type"] == "com.amazon.coral.service#ServiceUnavailableException"
            assert answer.json()["message"].startswith("Nothing was written: ")
        put = request("PutItem", {"TableName": "orders", "Item": item(4)})
        other.send(put)
        stopped_writer.murder()
        # On a busy machine, it may have waited too long as well before the other died.
        while (status := other.answer().status) == 503:
            other.send(put)
        assert status == 200
        found = [number for number in range(6) if "Item" in other.call("GetItem", TableName="orders", Key=item(number))]
        assert found == [1, 4]
        assert health(other) == "healthy: dynamodb.local\n"
        writer.call("PutItem", TableName="orders", Item=item(5))


# A service manager would have to kill it, and might not know why.
def test_a_server_whose_writes_wait_can_be_stopped(server: ServerProcess, stopped_writer: Child) -> None:
    with closing(RawClient(server.url)) as writer, closing(RawClient(server.url)) as other:
        writer.send(request("PutItem", {"TableName": "orders", "Item": item(2)}))
        # A connection that has sent nothing yet, as far as the server knows, is closed without an answer.
        while f"process {stopped_writer.pid}" not in health(other):
            pass
        server.process.terminate()
        assert writer.answer().status == 503
    output = server.process.communicate(timeout=60)
    assert server.process.returncode == 0
    assert f"for process {stopped_writer.pid}, which holds the data folder's write lock; they are answered" in output[1]
    assert stopped_writer.poll() is None
