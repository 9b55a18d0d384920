"""What the endpoint's `GET /metrics` shows: requests by operation, capacity units by table, hot partitions, commits."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from sortkey.engine.hot_partitions import HotPartition
from sortkey.http.metrics import Families, Samples, ServerMetrics, escaped, families

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
    "sortkey_store_free_bytes": ("gauge", "What is free on the data folder's disk."),
}


class EndpointMetrics(ServerMetrics):
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


class OtherWorkers(Protocol):
    def publish(self, samples: Samples) -> None:
        """Show this worker's numbers to the others."""

    def samples(self) -> list[Samples]:
        """What each of the others published last."""


class NoOtherWorkers:
    def publish(self, samples: Samples) -> None:
        pass

    def samples(self) -> list[Samples]:
        return []


class MetricsFolder:
    """Metrics over several workers: each writes its numbers into a shared folder once a second, and adds up what it
    finds.

    A scrape reaches any one of them and must show the sum. A worker's own numbers are exact, the others' at most a
    second old.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._own = folder / f"{number}.json"

    def publish(self, samples: Samples) -> None:
        # Renamed into place, so that no reader sees half of it.
        new = self._own.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(samples))
        os.replace(new, self._own)

    def samples(self) -> list[Samples]:
        files = [path for path in sorted(self._folder.glob("*.json")) if path != self._own]
        return [msgspec.json.decode(path.read_bytes(), type=Samples) for path in files]
