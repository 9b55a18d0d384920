"""What the endpoint's `GET /metrics` shows: requests by operation, capacity units by table, hot partitions, commits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from sortkey.engine.hot_partitions import HotPartition
from sortkey.http.metrics import ServerMetrics, families
from sortkey.http.prometheus import Families, Samples, escaped

HOT_PARTITIONS: Final = 5
"""How many partitions are shown. Each is a series of its own as long as it is hot."""

_PREFIX: Final = "sortkey"
_LABEL: Final = "operation"

FAMILIES: Final[Families] = {
    **families(_PREFIX, _LABEL),
    "sortkey_capacity_units_total": ("counter", "Capacity units consumed, by table and kind."),
    "sortkey_hot_partition_requests_per_second": (
        "gauge",
        "Requests to the hottest partitions, by table, index and partition key: the mean of the last minute or two.",
    ),
    "sortkey_hot_partition_units_per_second": (
        "gauge",
        "Capacity units of the same partitions, by kind. DynamoDB serves 3,000 read and 1,000 write units a second.",
    ),
    "sortkey_commits_total": ("counter", "Transactions committed; all writes that wait share one."),
    "sortkey_queued_writes": ("gauge", "Writes accepted and not yet durable."),
    "sortkey_store_bytes": ("gauge", "What the data occupies."),
}


class Metrics(ServerMetrics):
    def __init__(self) -> None:
        super().__init__(_PREFIX, _LABEL)
        self.capacity = {kind: defaultdict[str, float](float) for kind in ("read", "write")}
        """Units consumed: by read and write, then by table."""

    def samples(self) -> Samples:
        samples = super().samples()
        for kind, consumed in self.capacity.items():
            for table, units in consumed.items():
                # The characters of a table's name need no escaping.
                samples[f'sortkey_capacity_units_total{{table="{table}",kind="{kind}"}}'] = units
        return samples


def partition_samples(hottest: Iterable[HotPartition]) -> Samples:
    samples: Samples = {}
    for each in hottest:
        # A partition key may be any text.
        labels = f'table="{each.table}",index="{each.index or ""}",partition="{escaped(each.key)}"'
        samples[f"sortkey_hot_partition_requests_per_second{{{labels}}}"] = each.requests_per_second
        for kind, units in (("read", each.read_units_per_second), ("write", each.write_units_per_second)):
            samples[f'sortkey_hot_partition_units_per_second{{{labels},kind="{kind}"}}'] = units
    return samples
