"""Flow control, without Kafka."""

from __future__ import annotations

import asyncio

from sortkey.clock import SystemClock
from sortkey.feeds.kafka.message import Message
from sortkey.feeds.kafka.metrics import KafkaMetrics
from sortkey.feeds.kafka.partition_lane import (
    PARTITION_LOAD,
    PATIENCE_SECONDS,
    TOTAL_LOAD,
    WEIGHED_BYTES,
    AssignedPartition,
    PartitionLane,
    next_turn,
    weight,
)
from tests.feeds.kafka.working import QUICK, Recorder


def assignments(*loads: int) -> dict[int, AssignedPartition]:
    async def make() -> dict[int, AssignedPartition]:
        recorder, metrics, clock = Recorder(), KafkaMetrics(), SystemClock()
        lanes = [PartitionLane(each, recorder, lambda _: None, metrics, QUICK, clock) for each in range(len(loads))]
        return {lane.partition: AssignedPartition(lane, load=load) for lane, load in zip(lanes, loads, strict=True)}

    return asyncio.run(make())


def test_large_messages_weigh_more() -> None:
    assert weight(Message(None)) == 1
    assert weight(Message(b"x" * (WEIGHED_BYTES - 1))) == 1
    assert weight(Message(b"x" * WEIGHED_BYTES * 10, b"k")) == 11


def test_there_is_room() -> None:
    assert next_turn(assignments(0, PARTITION_LOAD - 1), 0, 100.0) == (True, [], [])


# Pausing discards what was fetched ahead, and usually there is room again in a moment.
def test_a_full_partition_holds_everything_up_for_a_moment_and_is_paused_then() -> None:
    two = assignments(0, PARTITION_LOAD)
    assert next_turn(two, 0, 100.0) == (False, [], [])
    assert next_turn(two, 0, 100.0 + PATIENCE_SECONDS / 2) == (False, [], [])
    assert next_turn(two, 0, 100.0 + PATIENCE_SECONDS) == (True, [two[1]], [])
    assert next_turn(two, 0, 200.0) == (True, [], [])
    assert (two[0].paused, two[1].paused) == (False, True)


def test_a_partition_that_made_room_in_time_begins_anew() -> None:
    two = assignments(0, PARTITION_LOAD)
    next_turn(two, 0, 100.0)
    two[1].load -= 1
    assert next_turn(two, 0, 100.0 + PATIENCE_SECONDS) == (True, [], [])
    two[1].load += 1
    assert next_turn(two, 0, 200.0) == (False, [], [])


def test_a_paused_partition_goes_on_when_half_of_it_is_done() -> None:
    one = assignments(PARTITION_LOAD)
    next_turn(one, 0, 100.0)
    next_turn(one, 0, 200.0)
    one[0].load = PARTITION_LOAD // 2 + 1
    assert next_turn(one, 0, 300.0) == (True, [], [])
    one[0].load -= 1
    assert next_turn(one, 0, 300.0) == (True, [], [one[0]])


def test_all_together_have_a_limit_too() -> None:
    many = assignments(*[PARTITION_LOAD // 2] * (2 * TOTAL_LOAD // PARTITION_LOAD))
    assert not next_turn(many, 0, 100.0).receive
    assert next_turn(many, 0, 200.0).pause == list(many.values())
    many[0].load = 0
    # Room in one partition is not enough: the total counts.
    assert next_turn(many, 0, 300.0).resume == []


# Rejected messages are kept until they are in the dead-letter topic.
def test_dead_letters_that_wait_count() -> None:
    assert not next_turn(assignments(0), TOTAL_LOAD, 100.0).receive
