"""No request stops others, and none takes much memory: seen from outside of a real server, in the order of answers.

The attacks are those of `sortkey bench fairness`, on fewer rows.
"""

from __future__ import annotations

import json
import select
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks._attacks import ATTACKS, LARGE, key, prepare
from benchmarks._raw_http import encode
from benchmarks._workload import Request
from tests.wire.serving import RawClient, ServerProcess

ROWS = 60_000
OTHERS = 5
"""Requests that must be answered first. The first of them may arrive before the attack does."""
ATTEMPTS = 20
"""On a busy machine, an attack of milliseconds may be over before the others' turn. A server that answers nobody
meanwhile lets none of the attempts succeed."""
MEBIBYTE = 1 << 20

pytestmark = [pytest.mark.faults, pytest.mark.slow]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    server = ServerProcess("--memory")
    prepare(server.url, ROWS)
    yield server
    server.stop()


def call(client: RawClient, operation: str, **members: Any) -> dict[str, Any]:
    client.send(encode(Request(operation, json.dumps(members).encode())))
    return client.answer().json()


def is_answered(client: RawClient) -> bool:
    readable, _, _ = select.select([client.socket], [], [], 0)
    return bool(readable)


def are_others_first(server: ServerProcess, attack: str, reads: bool) -> bool:
    """Whether others write, and read if `reads`, before the attack is answered."""
    with closing(RawClient(server.url)) as attacker, closing(RawClient(server.url)) as other:
        attacker.send(encode(ATTACKS[attack].make()))
        for number in range(OTHERS):
            item = key(f"other {number}")
            assert call(other, "PutItem", TableName=LARGE, Item=item) == {}
            if reads:
                assert call(other, "GetItem", TableName=LARGE, Key=item)["Item"] == item
        return not is_answered(attacker)


# A read-only key was enough to stop everybody for a minute.
@pytest.mark.parametrize("attack", ["scan", "scan-in", "scan-comparisons", "scan-projection"])
def test_others_read_and_write_before_a_costly_scan_is_answered(server: ServerProcess, attack: str) -> None:
    assert any(are_others_first(server, attack, reads=True) for _ in range(ATTEMPTS))


# The writer's turn was as long as its conditions.
def test_others_write_before_a_costly_transaction_is_answered(server: ServerProcess) -> None:
    assert any(are_others_first(server, "transaction", reads=False) for _ in range(ATTEMPTS))


class Peak:
    """How much memory a process took since this was made, at most, beyond what it had then.

    The pages of the store are in memory, too. They stay, so what they grew by is left out.
    """

    def __init__(self, process: int) -> None:
        self._folder = Path(f"/proc/{process}")
        (self._folder / "clear_refs").write_text("5")
        self._before = self._bytes("VmHWM:") - self._bytes("RssShmem:")

    def growth(self) -> int:
        return self._bytes("VmHWM:") - self._bytes("RssShmem:") - self._before

    def _bytes(self, name: str) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


# The page is 0.3 MB, the item that the update would make more than 400 KB, the batches 10 MB each.
@pytest.mark.parametrize(
    ("attack", "connections", "most"), [("scan-projection", 1, 64), ("update-2", 1, 128), ("batch-write", 100, 256)]
)
def test_costly_request_takes_little_memory(server: ServerProcess, attack: str, connections: int, most: int) -> None:
    peak = Peak(server.process.pid)
    sent = encode(ATTACKS[attack].make())
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(RawClient(server.url))) for _ in range(connections)]
        for client in clients:
            client.send(sent)
        statuses = {client.answer().status for client in clients}
    assert statuses <= {200, 400, 503}
    assert peak.growth() < most * MEBIBYTE
