"""Answers leave together, in order, and not too late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from sortkey.http import sending as limits
from sortkey.http.metrics import ServerMetrics
from sortkey.http.sending import Outbox


class Loop:
    """A loop whose turns end when a test ends them."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.metrics = ServerMetrics("test", "route")
        self.outbox = Outbox(self.metrics, self.soon.append)

    def end_turn(self) -> None:
        due, self.soon[:] = self.soon[:], []
        for callback in due:
            callback()


class Transport:
    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closing = False
        self.broken = False

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        assert not self.closing
        if self.broken:
            raise RuntimeError
        self.sent.append(data)

    def abort(self) -> None:
        self.closing = True


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def transport() -> Transport:
    return Transport()


def put(loop: Loop, transport: Transport, answer: bytes) -> None:
    loop.outbox.put(cast(asyncio.Transport, cast(Any, transport)), answer)


def test_answers_wait_for_the_end_of_the_turn(loop: Loop, transport: Transport) -> None:
    put(loop, transport, b"one")
    put(loop, transport, b"two")
    assert transport.sent == []
    loop.end_turn()
    assert transport.sent == [b"one", b"two"]
    assert loop.metrics.sent == 6


def test_the_next_turn_has_an_end_of_its_own(loop: Loop, transport: Transport) -> None:
    put(loop, transport, b"one")
    loop.end_turn()
    put(loop, transport, b"two")
    loop.end_turn()
    assert transport.sent == [b"one", b"two"]


def test_the_loop_is_asked_once_a_turn(loop: Loop, transport: Transport) -> None:
    for _ in range(10):
        put(loop, transport, b"answer")
        loop.outbox.send()
    assert len(loop.soon) == 1


# Memory stays bounded however large answers are and however many clients ask at once.
def test_many_bytes_do_not_wait(loop: Loop, transport: Transport) -> None:
    put(loop, transport, bytes(limits.SEND_BYTES))
    assert transport.sent == []
    put(loop, transport, b"more")
    assert len(transport.sent) == 2


def test_nor_do_many_answers(loop: Loop, transport: Transport) -> None:
    for _ in range(limits.SEND_ANSWERS):
        assert transport.sent == []
        put(loop, transport, b"answer")
    assert len(transport.sent) == limits.SEND_ANSWERS


def test_a_client_that_is_gone_is_left_out(loop: Loop, transport: Transport) -> None:
    other = Transport()
    put(loop, transport, b"lost")
    put(loop, other, b"sent")
    transport.closing = True
    loop.end_turn()
    assert (transport.sent, other.sent) == ([], [b"sent"])


# One connection's trouble must not cost the others their answers.
def test_a_connection_that_cannot_be_written_to_ends_alone(loop: Loop, transport: Transport) -> None:
    broken = Transport()
    broken.broken = True
    put(loop, broken, b"lost")
    put(loop, transport, b"one")
    loop.end_turn()
    assert broken.closing
    assert transport.sent == [b"one"]
