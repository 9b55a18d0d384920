"""Head and body of an answer leave together, and nothing stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from sortkey.server.joined import Joined


class Transport:
    def __init__(self) -> None:
        self.done: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("aborted")

    def is_closing(self) -> bool:
        return "closed" in self.done


class Loop:
    def __init__(self) -> None:
        self._soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def turn(self) -> None:
        due, self._soon = self._soon, []
        for callback in due:
            callback()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def joined(loop: Loop, transport: Transport) -> Joined:
    return Joined(cast(asyncio.Transport, transport), cast(asyncio.AbstractEventLoop, loop))


def test_head_and_body_are_one_write(joined: Joined, transport: Transport, loop: Loop) -> None:
    for answer in (b"1", b"2"):
        joined.write(b"head" + answer)
        joined.write(b"body" + answer)
    assert transport.done == [b"head1body1", b"head2body2"]
    loop.turn()
    assert len(transport.done) == 2


# A body that is still being made does not hold up its head, nor does an answer without one wait for the next.
def test_a_head_alone_leaves_with_the_loop_s_next_turn(joined: Joined, transport: Transport, loop: Loop) -> None:
    joined.write(b"head")
    assert transport.done == []
    loop.turn()
    assert transport.done == [b"head"]
    joined.write(b"body")
    loop.turn()
    assert transport.done == [b"head", b"body"]


def test_closing_sends_what_was_written(joined: Joined, transport: Transport, loop: Loop) -> None:
    joined.write(b"last")
    joined.close()
    loop.turn()
    assert transport.done == [b"last", "closed"]
    assert joined.is_closing()


def test_aborting_sends_nothing_more(joined: Joined, transport: Transport, loop: Loop) -> None:
    joined.write(b"last")
    joined.abort()
    loop.turn()
    assert transport.done == ["aborted"]
