"""What the endpoint's `GET /metrics` shows: requests by operation, capacity units by table, commits."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from sortkey.http.metrics import ServerMetrics, families
from sortkey.http.prometheus import Families, Samples

_PREFIX: Final = "sortkey"
_LABEL: Final = "operation"

FAMILIES: Final[Families] = {
    **families(_PREFIX, _LABEL),
    "sortkey_capacity_units_total": ("counter", "Capacity units consumed, by table and kind."),
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
