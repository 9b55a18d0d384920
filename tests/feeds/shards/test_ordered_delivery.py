"""What becomes of entries that raise: an outage is waited for, an entry that fails alone is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.clock import ManualClock
from sortkey.feeds.shards.blockage import REPEAT_SECONDS, Blockage, Blockages
from sortkey.feeds.shards.ordered_delivery import OrderedDelivery
from sortkey.feeds.shards.outages import USUAL, FailureRule
from sortkey.model.calls.steps import Pacing
from tests.passing_time import SECONDS, while_time_passes

LONGEST = 30.0
EXACT = Pacing(first_pause=0.1, longest_pause=LONGEST, chance=lambda: 1.0)


class Shard(OrderedDelivery[int]):
    """Entries are numbers; `fail` raises for those that cannot be handled at the moment."""

    def __init__(self, fail: Callable[[int], None], rule: FailureRule = USUAL, most: int = 100) -> None:
        self.clock = ManualClock()
        self.blockages = Blockages()
        self.stopping = asyncio.Event()
        super().__init__(rule, most, Blockage("shard", self.blockages, self.clock), self.stopping, self.clock, EXACT)
        self.fail = fail
        self.calls: list[tuple[int, ...]] = []
        self.handled: list[int] = []
        self.given_up: list[int] = []
        self.waiting: list[int] = []
        """Entries that come later."""

    async def attempt(self, entries: Sequence[int]) -> Exception | None:
        self.calls.append(tuple(entries))
        try:
            for entry in entries:
                self.fail(entry)
        except (ArithmeticError, LookupError, OSError, RuntimeError, ValueError) as error:
            return error
        self.handled += entries
        return None

    async def give_up(self, entry: int, error: Exception) -> bool:  # noqa: ARG002 - the base class passes it
        self.given_up.append(entry)
        return True

    async def more(self) -> Sequence[int]:
        return [self.waiting.pop(0)] if self.waiting else []

    def describe(self, entries: Sequence[int]) -> str:
        return f"{len(entries)} entries"

    async def run(self, entries: Sequence[int]) -> bool:
        return await while_time_passes(self.clock, self.handle(entries), step=LONGEST, turn=0.0)

    @property
    def blocked_seconds(self) -> float:
        return self.blockages.samples("feed", "")["feed_blocked_seconds"]


class Weather:
    """Raises for every entry while it is bad, and for poisoned ones always."""

    def __init__(self, error: Exception, calls: int, poisoned: Sequence[int] = ()) -> None:
        self.error = error
        self.calls = calls
        """How many calls it is bad for."""
        self.poisoned = set(poisoned)

    def __call__(self, entry: int) -> None:
        self.calls -= 1
        if self.calls >= 0:
            raise self.error.with_traceback(None)
        if entry in self.poisoned:
            raise ValueError(f"never {entry}")


# A short outage sent all changes to the dead letters, within a second.
@pytest.mark.parametrize("error", [ConnectionError("refused"), TimeoutError(), RuntimeError("of the program")])
def test_nothing_is_given_up_in_an_outage(error: Exception) -> None:
    async def program() -> None:
        shard = Shard(Weather(error, calls=200))
        assert await shard.run(range(20))
        assert (shard.handled, shard.given_up) == ([*range(20)], [])

    asyncio.run(program())


def test_a_known_outage_is_waited_for_with_growing_pauses() -> None:
    async def program() -> None:
        shard = Shard(Weather(ConnectionError(), calls=12))
        began = shard.clock.now()
        working = asyncio.create_task(shard.handle([0, 1]))
        pauses = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]
        for number, pause in enumerate(pauses, 1):
            while len(shard.calls) < number:
                await asyncio.sleep(0)
            for _ in range(5):
                await asyncio.sleep(0)
            shard.clock.advance(pause)
        assert await working
        assert shard.calls == [(0, 1)] * 13
        assert shard.clock.now() - began == pytest.approx(sum(pauses))

    asyncio.run(program())


def test_an_entry_that_fails_alone_is_given_up() -> None:
    async def program() -> None:
        shard = Shard(Weather(ValueError(), 0, poisoned=[3]), FailureRule(attempts=2))
        assert await shard.run(range(6))
        assert (shard.handled, shard.given_up) == ([0, 1, 2, 4, 5], [3])

    asyncio.run(program())


# A shard on which nothing else happens has no neighbour to compare with.
def test_a_poisoned_entry_without_neighbours_is_given_up_after_its_attempts() -> None:
    async def program() -> None:
        shard = Shard(Weather(ValueError(), 0, poisoned=[3]))
        assert await shard.run([3])
        assert (shard.calls, shard.given_up) == ([(3,)] * 5, [3])

    asyncio.run(program())


def test_a_neighbour_that_comes_later_decides_too() -> None:
    async def program() -> None:
        shard = Shard(Weather(ValueError(), 0, poisoned=[3]), most=1)
        shard.waiting = [4]
        assert await shard.run([3])
        assert (shard.calls, shard.handled, shard.given_up) == ([(3,)] * 5 + [(4,)], [4], [3])

    asyncio.run(program())


# A bug in the handler: whoever mends it finds every change still there.
def test_a_handler_that_fails_for_all_gives_nothing_up_and_is_shown_as_blocked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def program() -> None:
        shard = Shard(Weather(KeyError("typo"), calls=10**9))
        working = asyncio.create_task(shard.handle(range(50)))
        for _ in range(2000):
            await asyncio.sleep(0)
            shard.clock.advance(1)
        assert (shard.handled, shard.given_up) == ([], [])
        assert shard.blocked_seconds > 1000
        assert shard.blockages.samples("feed", 'feed="a"')['feed_blocked{feed="a",error="KeyError"}'] == 1
        # Only the first entries are tried.
        assert {call[0] for call in shard.calls[-10:]} == {0, 1, 2}
        shard.stopping.set()
        assert await working is False
        assert shard.blocked_seconds == 0

    asyncio.run(program())
    lines = [record.getMessage() for record in caplog.records if "blocked" in record.getMessage()]
    assert lines[0] == "shard: blocked, and tried again until it succeeds: KeyError: 'typo'"
    since = datetime.fromtimestamp(ManualClock().now(), UTC).strftime("%Y-%m-%dT%H:")
    assert lines[1].startswith(f"shard: blocked since {since}")
    assert len(lines) <= 2 + 2000 / REPEAT_SECONDS


# It is the first of the entries that are tried again and again.
@pytest.mark.parametrize("error", [ConnectionError(), RuntimeError()])
@pytest.mark.parametrize("poisoned", [[0], [1], [0, 1], [5, 6]])
def test_a_poisoned_entry_does_not_block_once_the_outage_is_over(error: Exception, poisoned: list[int]) -> None:
    async def program() -> None:
        shard = Shard(Weather(error, calls=100, poisoned=poisoned))
        assert await shard.run(range(10))
        assert shard.given_up == poisoned
        assert shard.handled == [each for each in range(10) if each not in poisoned]

    asyncio.run(program())


# One change a minute, each the only one when it fails.
def test_several_in_a_row_count_on_a_quiet_shard_too() -> None:
    async def program() -> None:
        weather = Weather(RuntimeError(), calls=10**9)
        shard = Shard(weather)
        assert await shard.run([0])
        assert await shard.run([1])
        working = asyncio.create_task(shard.run([2]))
        while not shard.blocked_seconds:
            await asyncio.sleep(0)
        weather.calls = 0
        assert await working
        assert (shard.given_up, shard.handled) == ([0, 1], [2])
        weather.poisoned = {3}
        assert await shard.run([3])
        assert shard.given_up == [0, 1, 3]

    asyncio.run(program())


# It is blocked for want of a neighbour, so the first one that comes must count.
def test_a_neighbour_ends_the_wait_of_a_quiet_shard() -> None:
    async def program() -> None:
        shard = Shard(Weather(ValueError(), 0, poisoned=[0, 1, 2]))
        assert await shard.run([0])
        assert await shard.run([1])
        working = asyncio.create_task(shard.run([2]))
        while not shard.blocked_seconds:
            await asyncio.sleep(0)
        shard.waiting = [3]
        assert await working
        assert (shard.given_up, shard.handled) == ([0, 1, 2], [3])

    asyncio.run(program())


def test_poison_that_is_named_is_given_up_at_once_however_much_there_is() -> None:
    async def program() -> None:
        rule = FailureRule(attempts=None, poison=frozenset({"ValueError"}))
        shard = Shard(Weather(ValueError(), 0, poisoned=range(8)), rule)
        assert await shard.run(range(10))
        assert (shard.given_up, shard.handled) == ([*range(8)], [8, 9])
        assert max(shard.calls.count((each,)) for each in range(8)) == 1

    asyncio.run(program())


def test_a_stop_ends_every_pause() -> None:
    async def program() -> None:
        for error in (ConnectionError(), ValueError()):
            shard = Shard(Weather(error, calls=10**9))
            working = asyncio.create_task(shard.handle([0]))
            while not shard.calls:
                await asyncio.sleep(0)
            shard.stopping.set()
            async with asyncio.timeout(SECONDS):
                assert await working is False

    asyncio.run(program())


def test_no_more_than_a_batch_is_tried_together_after_an_outage() -> None:
    async def program() -> None:
        weather = Weather(RuntimeError(), calls=10**9)
        shard = Shard(weather, most=2)
        shard.waiting = [2, 3, 4, 5]
        working = asyncio.create_task(shard.run([0, 1]))
        while not shard.blocked_seconds:
            await asyncio.sleep(0)
        weather.calls = 0
        assert await working
        assert (max(map(len, shard.calls)), shard.handled) == (2, [0, 1, 2])

    asyncio.run(program())


# Counts by positions rely on the order. Runs of `in_a_row` poisoned entries would be an outage.
@given(st.integers(1, 30), st.sets(st.integers(0, 29)), st.integers(0, 60), st.booleans(), st.integers(1, 4))
def test_each_entry_is_handled_in_order_or_given_up(
    count: int, poisoned: set[int], bad: int, known: bool, attempts: int
) -> None:
    alone = {each for each in poisoned if not {each - 1, each - 2} <= poisoned} - {
        each for each in poisoned if {each - 1, each + 1} <= poisoned
    }
    alone -= {each for each in alone if {each + 1, each + 2} <= alone or {each - 1, each - 2} <= alone}

    async def program() -> None:
        error = ConnectionError() if known else RuntimeError()
        shard = Shard(Weather(error, bad, sorted(alone)), FailureRule(attempts=attempts))
        assert await shard.run(range(count))
        assert sorted(shard.handled + shard.given_up) == [*range(count)]
        assert shard.handled == sorted(shard.handled)
        if known:
            assert set(shard.given_up) == {each for each in alone if each < count}
        else:
            # An outage that nobody can know ends between two tries: `in_a_row` - 1 entries at most.
            assert len(set(shard.given_up) - alone) < 3

    asyncio.run(program())
