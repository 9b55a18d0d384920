"""What the endpoint's `GET /metrics` tells. Counting one request costs well under a microsecond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sortkey.http.prometheus import Families, Histogram, Samples

OK: Final = "ok"

FAMILIES: Final[Families] = {
    "sortkey_requests_total": ("counter", "Requests answered, by operation and outcome: ok, or the error's code."),
    "sortkey_request_seconds": ("histogram", "From a request being complete to its answer, by operation."),
    "sortkey_capacity_units_total": ("counter", "Capacity units consumed, by table and kind."),
    "sortkey_commits_total": ("counter", "Transactions committed; all writes that wait share one."),
    "sortkey_queued_writes": ("gauge", "Writes accepted and not yet durable."),
    "sortkey_connections": ("gauge", "Connections that are open."),
    "sortkey_connections_total": ("counter", "Connections accepted."),
    "sortkey_connections_refused_total": ("counter", "Connections refused because too many were open."),
    "sortkey_received_bytes_total": ("counter", "Bytes received."),
    "sortkey_sent_bytes_total": ("counter", "Bytes sent."),
    "sortkey_store_bytes": ("gauge", "What the data occupies."),
}


class OperationMetrics:
    __slots__ = ("latency", "name", "outcomes")

    def __init__(self, name: str) -> None:
        self.name = name
        self.outcomes: dict[str, int] = {}
        self.latency = Histogram()

    def count(self, outcome: str, seconds: float) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.latency.count(seconds)

    def samples(self) -> Samples:
        operation = f'operation="{self.name}"'
        samples: Samples = {
            f'sortkey_requests_total{{{operation},outcome="{outcome}"}}': number
            for outcome, number in self.outcomes.items()
        }
        return samples | self.latency.samples("sortkey_request_seconds", operation)


class Metrics:
    """One process's numbers; only its event loop counts."""

    def __init__(self) -> None:
        self.operations: dict[str, OperationMetrics] = {}
        self.capacity: dict[str, dict[str, float]] = {"read": {}, "write": {}}
        self.connections = 0
        self.connections_accepted = 0
        self.connections_refused = 0
        self.received = 0
        self.sent = 0

    def operation(self, name: str) -> OperationMetrics:
        return self.operations.setdefault(name, OperationMetrics(name))

    def consumed(self, kind: str, units: Mapping[str, float]) -> None:
        """Add what an operation took, by table."""
        total = self.capacity[kind]
        for table, number in units.items():
            total[table] = total.get(table, 0.0) + number

    def samples(self) -> Samples:
        samples: Samples = {
            "sortkey_connections": self.connections,
            "sortkey_connections_total": self.connections_accepted,
            "sortkey_connections_refused_total": self.connections_refused,
            "sortkey_received_bytes_total": self.received,
            "sortkey_sent_bytes_total": self.sent,
        }
        for kind, consumed in self.capacity.items():
            for table, units in consumed.items():
                # The characters of a table's name need no escaping.
                samples[f'sortkey_capacity_units_total{{table="{table}",kind="{kind}"}}'] = units
        for operation in self.operations.values():
            if operation.outcomes:
                samples |= operation.samples()
        return samples
