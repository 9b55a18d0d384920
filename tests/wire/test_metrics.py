from __future__ import annotations

import re
from pathlib import Path

from sortkey.engine.hot_partitions import HotPartition
from sortkey.http.metrics import merged, render
from sortkey.wire.metrics import FAMILIES, EndpointMetrics, MetricsFolder, partition_samples

LINE = re.compile(r"(# (HELP|TYPE) \w+ .+)|(\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [-+0-9.e]+)")


def counted() -> EndpointMetrics:
    metrics = EndpointMetrics()
    metrics.requests("GetItem").count("ok", 0.00007)
    metrics.requests("GetItem").count("ok", 5.0)
    metrics.requests("PutItem").count("ValidationException", 0.001)
    metrics.capacity["read"] |= {"orders": 2.5, "b": 1.0}
    return metrics


def test_counts_become_samples() -> None:
    samples = counted().samples()
    assert samples['sortkey_requests_total{operation="GetItem",outcome="ok"}'] == 2
    assert samples['sortkey_requests_total{operation="PutItem",outcome="ValidationException"}'] == 1
    assert samples['sortkey_capacity_units_total{table="orders",kind="read"}'] == 2.5


# Prometheus's buckets are cumulative: each holds all that are as fast or faster.
def test_latencies_become_a_cumulative_histogram() -> None:
    samples = counted().samples()
    buckets = [number for series, number in samples.items() if "bucket" in series and "GetItem" in series]
    assert buckets == sorted(buckets)
    assert (buckets[0], buckets[1], buckets[-2], buckets[-1]) == (0, 1, 1, 2)
    assert samples['sortkey_request_seconds_count{operation="GetItem"}'] == 2


def test_every_line_is_of_the_format() -> None:
    lines = render(counted().samples(), FAMILIES).decode().splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert len(lines) > 20


def test_numbers_of_workers_add_up(tmp_path: Path) -> None:
    folders = [MetricsFolder(tmp_path, number) for number in range(3)]
    for folder in folders:
        folder.publish(counted().samples())
    total = merged([counted().samples(), *folders[0].samples()])
    assert total['sortkey_capacity_units_total{table="b",kind="read"}'] == 3.0


# A partition key may be any text; a line of the format may not.
def test_hot_partitions_are_labels() -> None:
    samples = partition_samples([HotPartition("orders", "by_city", 'a"\n\\', 2.5, 1.0, 0.5)])
    labels = r'table="orders",index="by_city",partition="a\"\n\\"'
    assert samples == {
        f"sortkey_hot_partition_requests_per_second{{{labels}}}": 2.5,
        f'sortkey_hot_partition_units_per_second{{{labels},kind="read"}}': 1.0,
        f'sortkey_hot_partition_units_per_second{{{labels},kind="write"}}': 0.5,
    }
    lines = render(samples, FAMILIES).decode().splitlines()
    assert len(lines) == 4 + 3
