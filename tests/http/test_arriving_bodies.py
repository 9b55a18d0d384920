"""Bodies that are arriving: whose body goes when there is no room, and which is too slow."""

from __future__ import annotations

import pytest

from sortkey.http.receiving import PROGRESS_BYTES, PROGRESS_SECONDS, ArrivingBodies, ArrivingBody
from sortkey.http.request_parser import RequestError

LIMIT = 800
WHOLE = LIMIT // 8


class Clients:
    """Bodies by the names of their clients, in a room of 800 bytes. Rejected ones end, as those of connections do."""

    def __init__(self) -> None:
        self.room = ArrivingBodies(LIMIT)
        self.tick = 0
        self.rejected: list[str] = []
        self._bodies: dict[str, ArrivingBody] = {}

    def send(self, name: str, size: int) -> None:
        if name not in self._bodies:
            self._bodies[name] = self.room.begin(lambda error: self._reject(name, error), self.tick)
        body = self._bodies[name]
        self.room.grow(body, body.size + size, self.tick)

    def complete(self, name: str) -> None:
        self.room.end(self._bodies.pop(name))

    def _reject(self, name: str, error: RequestError) -> None:
        assert error.status == 503
        self.rejected.append(name)
        self.complete(name)


@pytest.fixture
def clients() -> Clients:
    return Clients()


def test_nothing_is_rejected_while_there_is_room(clients: Clients) -> None:
    for number in range(8):
        clients.send(f"client {number}", WHOLE)
    assert (clients.rejected, clients.room.bytes) == ([], LIMIT)
    clients.complete("client 0")
    assert clients.room.bytes == LIMIT - WHOLE


# Whoever stalls has used up the room; the newcomer must not pay for it.
def test_the_stalled_go_and_the_newcomer_is_served(clients: Clients) -> None:
    for number in range(8):
        clients.send(f"stalled {number}", WHOLE)
    clients.tick = 5
    clients.send("newcomer", 30)
    assert clients.rejected
    assert all(name.startswith("stalled") for name in clients.rejected)


def test_of_those_that_stall_the_largest_goes_first(clients: Clients) -> None:
    clients.send("small", 100)
    clients.send("large", 500)
    clients.tick = 5
    clients.send("newcomer", 201)
    assert clients.rejected == ["large"]


def test_of_those_that_send_the_largest_goes_first(clients: Clients) -> None:
    clients.send("small", 100)
    clients.send("large", 500)
    clients.send("middle", 201)
    assert clients.rejected == ["large"]


# A drop a second is progress, but not much for what it holds.
def test_a_large_body_that_comes_drop_by_drop_goes_before_a_larger_one_that_flows(clients: Clients) -> None:
    clients.send("drops", 300)
    for _ in range(5):
        clients.tick += 1
        clients.send("drops", 1)
        clients.send("flows", 80)
    clients.send("newcomer", 96)
    assert clients.rejected == ["drops"]


# The comparison of all bodies is made once for many pieces.
def test_room_is_made_for_more_than_one_piece(clients: Clients) -> None:
    for number in range(80):
        clients.send(f"stalled {number}", 10)
    clients.tick = 5
    clients.send("newcomer", 1)
    assert len(clients.rejected) > 8
    assert clients.room.bytes <= LIMIT - LIMIT // 8


def test_a_body_alone_may_be_too_much(clients: Clients) -> None:
    clients.send("huge", LIMIT + 1)
    assert (clients.rejected, clients.room.bytes) == (["huge"], 0)


def slow_after(seconds: int, body: ArrivingBody, piece: int) -> bool:
    """Whether the body is too slow at any of these seconds, if a piece arrives in each."""
    for tick in range(1, seconds + 1):
        body.grow(body.size + piece, tick)
        if body.is_slow(tick):
            return True
    return False


@pytest.mark.parametrize(("piece", "slow"), [(0, True), (1, True), (PROGRESS_BYTES // 10, False)])
def test_a_body_must_grow(piece: int, slow: bool) -> None:
    body = ArrivingBody(1, lambda _: None, 0)
    assert slow_after(3 * PROGRESS_SECONDS, body, piece) is slow


def test_the_time_in_which_the_server_did_not_read_does_not_count() -> None:
    body = ArrivingBody(1, lambda _: None, 0)
    body.wait(1000)
    assert not body.is_slow(1000 + PROGRESS_SECONDS)
    assert body.is_slow(1001 + PROGRESS_SECONDS)
