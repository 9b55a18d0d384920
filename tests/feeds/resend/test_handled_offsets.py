"""What a consumer group remembers of letters that were sent or dropped out of their order."""

from __future__ import annotations

import random

import pytest

from sortkey.feeds.kafka.kafka_settings import KafkaUnusable
from sortkey.feeds.resend.topic_letters import METADATA_BYTES, HandledOffsets


def with_offsets(first: int, offsets: set[int]) -> HandledOffsets:
    handled = HandledOffsets(first)
    for offset in offsets:
        handled = handled.with_range(offset, offset + 1)
    return handled


def read(handled: HandledOffsets, low: int = 0) -> HandledOffsets:
    """By the next command."""
    return HandledOffsets.read(handled.first, handled.metadata, low)


def test_without_gaps_the_offset_says_all() -> None:
    handled = HandledOffsets(5).with_range(5, 8)
    assert (handled.first, handled.metadata) == (8, "")


def test_gaps_are_remembered_until_they_are_closed() -> None:
    handled = read(with_offsets(5, {6, 7, 9}))
    assert handled.first == 5
    assert [offset for offset in range(12) if offset in handled] == [0, 1, 2, 3, 4, 6, 7, 9]
    handled = read(handled.with_range(5, 6))
    assert handled.first == 8
    handled = read(handled.with_range(8, 9))
    assert (handled.first, handled.metadata) == (10, "")


def test_any_offsets_are_those_of_a_set() -> None:
    chance = random.Random(7)
    for _ in range(200):
        offsets = {chance.randrange(100, 160) for _ in range(chance.randrange(60))}
        low = chance.randrange(90, 170)
        handled = read(with_offsets(100, offsets), low)
        assert [each for each in range(low, 170) if each in handled] == [
            each for each in range(low, 170) if each in offsets or each < 100
        ]


# The topic's retention has deleted letters.
def test_offsets_that_the_topic_no_longer_has_are_forgotten() -> None:
    handled = read(with_offsets(5, {6, 9}), low=7)
    assert (handled.first, 8 in handled, 9 in handled) == (7, False, True)
    assert HandledOffsets.read(-1001, None, 3).first == 3


# Half of 20,000 letters, by a filter.
def test_tens_of_thousands_of_letters_fit() -> None:
    chance = random.Random(7)
    handled = HandledOffsets(0, chance.getrandbits(20_000) << 1)
    assert len(handled.metadata) <= METADATA_BYTES
    assert read(handled).metadata == handled.metadata


def test_the_offsets_of_another_program_are_not_ours() -> None:
    with pytest.raises(KafkaUnusable, match="another program"):
        HandledOffsets.read(5, "a note", 0)
