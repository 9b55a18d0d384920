"""Heavy hitters: exact while all keys fit, bounded errors afterwards."""

from __future__ import annotations

from sortkey.values.partition_counts import HeavyHitters


def test_counts_are_exact_while_all_keys_fit() -> None:
    sketch: HeavyHitters[str] = HeavyHitters(capacity=2, sampling=16)
    for key in "abcdaab":
        sketch.add(key, 0.5)
    sketch.add("d", 10.0, requests=3)
    assert {key: (count.requests, count.units, count.error) for key, count in sketch} == {
        "a": (3, 1.5, 0.0),
        "b": (2, 1.0, 0.0),
        "c": (1, 0.5, 0.0),
        "d": (4, 10.5, 0.0),
    }


# What has gone may come back: then its count says how much it may have had.
def test_a_full_sketch_keeps_the_heavier_half() -> None:
    sketch: HeavyHitters[str] = HeavyHitters(capacity=2)
    for key, units in (("heavy", 100.0), ("middle", 50.0), ("light", 2.0), ("lighter", 1.0), ("new", 3.0)):
        sketch.add(key, units)
    assert {key for key, _ in sketch} == {"heavy", "middle", "new"}
    assert sketch.floor == 2.0
    count = sketch.get("new")
    assert count is not None
    assert (count.units, count.error) == (3.0, 2.0)


# Otherwise every request of a large table with even load would admit a key, and sometimes purge the sketch.
def test_a_sketch_that_has_been_full_admits_one_request_of_many() -> None:
    sketch: HeavyHitters[int] = HeavyHitters(capacity=8, sampling=16)
    for key in range(17):
        sketch.add(key, 1.0)
    admitted = 0
    for key in range(1000, 17000):
        sketch.add(key, 1.0)
        admitted += sketch.get(key) is not None
    assert 900 < admitted < 1100
    assert len(sketch) <= 16


# One request in four is of one key, the others are of a new key each.
def test_a_hot_key_is_found_among_any_number_of_others() -> None:
    sketch: HeavyHitters[int] = HeavyHitters(capacity=64, sampling=16)
    for number in range(1, 20_001):
        sketch.add(0 if number % 4 == 0 else number, 1.0)
    key, count = max(sketch, key=lambda each: each[1].units)
    assert key == 0
    assert abs(count.units - 5000) <= count.error < 500


def test_units_since_the_last_mark() -> None:
    sketch: HeavyHitters[str] = HeavyHitters(capacity=2)
    sketch.add("a", 3.0)
    count = sketch.get("a")
    assert count is not None
    assert count.since_mark() == 3.0
    assert count.since_mark() == 0.0
    sketch.add("a", 1.5)
    assert count.since_mark() == 1.5
