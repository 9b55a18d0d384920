"""Partition counts: two windows, and the order of partitions."""

from __future__ import annotations

from sortkey.values.partition_counts import CAPACITY, WINDOW_SECONDS, PartitionCounts


def test_reads_and_writes_of_a_partition_are_one_load() -> None:
    counts: PartitionCounts[str] = PartitionCounts(0.0)
    counts.reads.add("a", 0.5)
    counts.writes.add("a", 2.0)
    (load,) = counts.hottest(10)
    assert (load.partition, load.requests, load.read_units, load.write_units) == ("a", 2, 0.5, 2.0)
    assert (load.read_error, load.write_error) == (0.0, 0.0)


# A partition serves three read units in the time of one write unit.
def test_the_order_is_by_the_share_of_what_a_partition_can_serve() -> None:
    counts: PartitionCounts[str] = PartitionCounts(0.0)
    counts.reads.add("read", 29.0)
    counts.writes.add("written", 10.0)
    counts.reads.add("both", 15.0)
    counts.writes.add("both", 6.0)
    assert [load.partition for load in counts.hottest(10)] == ["both", "written", "read"]
    assert [load.partition for load in counts.hottest(1)] == ["both"]


def test_the_last_two_windows_count() -> None:
    counts: PartitionCounts[str] = PartitionCounts(0.0)
    counts.reads.add("a", 1.0)
    counts.turn(WINDOW_SECONDS - 1)
    counts.reads.add("a", 1.0)
    counts.turn(WINDOW_SECONDS)
    counts.reads.add("a", 1.0)
    counts.reads.add("b", 2.0)
    assert counts.seconds(WINDOW_SECONDS + 5) == WINDOW_SECONDS + 5
    assert [(load.partition, load.requests, load.read_units) for load in counts.hottest(10)] == [
        ("a", 3, 3.0),
        ("b", 1, 2.0),
    ]
    counts.turn(2 * WINDOW_SECONDS)
    assert counts.seconds(2 * WINDOW_SECONDS) == WINDOW_SECONDS
    assert [(load.partition, load.read_units) for load in counts.hottest(10)] == [("b", 2.0), ("a", 1.0)]


# Nobody looked for an hour: what was counted before is not "now".
def test_a_pause_ends_both_windows() -> None:
    counts: PartitionCounts[str] = PartitionCounts(0.0)
    counts.reads.add("a", 1.0)
    counts.turn(3600.0)
    assert counts.hottest(10) == []
    assert counts.seconds(3601.0) == 1.0


def test_a_partition_that_one_window_has_lost_has_an_error() -> None:
    counts: PartitionCounts[int] = PartitionCounts(0.0)
    for partition in range(2 * CAPACITY + 1):
        counts.writes.add(partition, 1.0)
    counts.turn(WINDOW_SECONDS)
    counts.writes.add(-1, 50.0)
    first = counts.hottest(1)[0]
    assert (first.partition, first.write_units, first.write_error, first.read_error) == (-1, 50.0, 1.0, 0.0)
