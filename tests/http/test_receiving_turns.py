"""Large bodies in turns: how much of them the loop reads before it answers others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sortkey.http.receiving import DISCARDED, TURN_BYTES, ReceivingTurns


class Sender:
    def __init__(self) -> None:
        self.reading = True

    def pause_body(self) -> None:
        self.reading = False

    def resume_body(self) -> None:
        self.reading = True


class Loop:
    """Runs a turn when the test says so."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.turns = ReceivingTurns(self.soon.append)

    def end_turn(self) -> None:
        due, self.soon[:] = self.soon[:], []
        for callback in due:
            callback()


@pytest.fixture
def loop() -> Loop:
    return Loop()


def test_a_sender_is_read_until_a_turn_has_had_enough(loop: Loop) -> None:
    sender = Sender()
    loop.turns.count(sender, TURN_BYTES, 0)
    reading = [sender.reading]
    loop.turns.count(sender, 1, 0)
    reading.append(sender.reading)
    loop.end_turn()
    reading.append(sender.reading)
    assert reading == [True, False, True]


def test_bytes_of_earlier_turns_are_not_counted(loop: Loop) -> None:
    sender = Sender()
    for _ in range(5):
        loop.turns.count(sender, TURN_BYTES, 0)
        loop.end_turn()
    assert sender.reading


def read_turns(loop: Loop, senders: list[Sender], turns: int) -> list[int]:
    """How often each sender is read, if all have more to send, and their bodies began in the order of the list."""
    loop.turns.count(Sender(), TURN_BYTES, 0)
    for number, sender in enumerate(senders):
        loop.turns.count(sender, 1, number)
    pieces = [0] * len(senders)
    for _ in range(turns):
        loop.end_turn()
        ready = [number for number, sender in enumerate(senders) if sender.reading]
        assert 0 < len(ready) <= 2
        for number in ready:
            pieces[number] += 1
            loop.turns.count(senders[number], TURN_BYTES + 1, number)
    return pieces


# If all went on at the same pace, none would be complete before they are too large together.
def test_the_oldest_body_is_read_each_turn_and_the_others_one_after_the_other(loop: Loop) -> None:
    assert read_turns(loop, [Sender() for _ in range(5)], turns=20) == [20, 5, 5, 5, 5]


# Nothing of a rejected body is kept, so it never goes before one that somebody waits for.
def test_a_rejected_body_is_read_after_the_others(loop: Loop) -> None:
    loop.turns.count(Sender(), TURN_BYTES, 0)
    rejected, accepted, other = Sender(), Sender(), Sender()
    for sender, number in ((other, 7), (rejected, DISCARDED), (accepted, 8)):
        loop.turns.count(sender, 1, number)
    loop.end_turn()
    assert [other.reading, rejected.reading, accepted.reading] == [True, True, False]
    loop.turns.count(rejected, TURN_BYTES + 1, DISCARDED)
    loop.end_turn()
    assert accepted.reading


# A loop with nothing to do sleeps.
def test_nothing_is_planned_when_nobody_waits(loop: Loop) -> None:
    loop.turns.count(Sender(), TURN_BYTES + 1, 0)
    loop.end_turn()
    assert loop.soon == []
