"""The meter of partitions: which were asked for most, lately."""

from __future__ import annotations

from sortkey.model.costs.meter import COUNTED_REQUESTS, PartitionMeter, PartitionReading


class Watch:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_the_hottest_first() -> None:
    watch = Watch()
    meter = PartitionMeter(watch)
    meter.read(("shop", None, "USER#ada"), 0.5)
    meter.written(("shop", None, "USER#ada"), 1.0)
    meter.read(("shop", "by_city", "CITY#ulm"), 40.0, requests=8)
    watch.seconds = 4.0
    ulm, ada = meter.hottest(10)
    assert ulm == PartitionReading("shop", "by_city", "CITY#ulm", 8, 40.0, 0.0, 4.0)
    assert ada == PartitionReading("shop", None, "USER#ada", 2, 0.5, 1.0, 4.0)
    assert str(ulm) == "shop/by_city CITY#ulm: 8 requests, 40.0 read units, 0.0 write units in 4 s"
    assert str(ada).startswith("shop USER#ada: 2 requests")
    assert meter.hottest(1) == [ulm]


def test_binary_is_shown_as_hexadecimal_digits() -> None:
    meter = PartitionMeter()
    meter.read(("shop", None, b"\x00\xff"), 0.5)
    assert meter.hottest(1)[0].key == "00ff"


# By reads, by writes and by looking: each may be the first call after a pause.
def test_what_was_two_minutes_ago_is_forgotten() -> None:
    watch = Watch()
    meter = PartitionMeter(watch)
    meter.written(("shop", None, "old"), 1.0)
    watch.seconds = 121.0
    meter.written(("shop", None, "new"), 1.0)
    assert [reading.key for reading in meter.hottest(10)] == ["new"]
    watch.seconds = 242.0
    meter.read(("shop", None, "newer"), 1.0)
    assert [reading.key for reading in meter.hottest(10)] == ["newer"]
    watch.seconds = 363.0
    assert meter.hottest(10) == []


def test_many_requests_are_counted_by_a_sample() -> None:
    watch = Watch()
    meter = PartitionMeter(watch)
    for _ in range(100_000):
        if meter.samples():
            meter.read(("orders", None, "a"), 1.0)
    (found,) = meter.hottest(1)
    # One in 16 of some 99,000: a standard deviation is about 1,200.
    assert 90_000 < found.read_units < 110_000
    assert found.requests == found.read_units


def test_the_first_requests_of_each_minute_all_count() -> None:
    watch = Watch()
    meter = PartitionMeter(watch)
    for minute in range(2):
        watch.seconds += 60.0 * minute
        for _ in range(COUNTED_REQUESTS):
            assert meter.samples()
            meter.written(("orders", None, "a"), 1.0)
    assert meter.hottest(1)[0].requests == 2 * COUNTED_REQUESTS
