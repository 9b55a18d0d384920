"""What the app's `GET /metrics` tells: of requests by route, and of the store by access path."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sortkey.http.prometheus import Families, Histogram, Samples
from sortkey.model.paths.meter import Reading

OK: Final = "ok"
NO_ROUTE: Final = "none"
"""What requests for nothing there is are counted as, so that strangers cannot make series without end."""

FAMILIES: Final[Families] = {
    "sortkey_http_requests_total": ("counter", "Requests answered, by route and outcome: ok, or the error's code."),
    "sortkey_http_request_seconds": ("histogram", "From a request's head to its answer, by route."),
    "sortkey_http_requests_in_flight": ("gauge", "Requests that are being answered."),
    "sortkey_http_connections": ("gauge", "Connections that are open."),
    "sortkey_http_received_bytes_total": ("counter", "Bytes received."),
    "sortkey_http_sent_bytes_total": ("counter", "Bytes sent."),
    "sortkey_path_calls_total": ("counter", "Requests to the store, by access path."),
    "sortkey_path_rows_read_total": ("counter", "Rows that the store read, by access path."),
    "sortkey_path_rows_returned_total": ("counter", "Rows that the callers got, by access path."),
    "sortkey_path_read_amplification": ("gauge", "Rows read for each row returned, by access path."),
    "sortkey_path_capacity_units_total": ("counter", "Capacity units consumed, by access path."),
    "sortkey_path_seconds_total": ("counter", "Time spent waiting for the store, by access path."),
}


class RouteMetrics:
    __slots__ = ("_latency", "_outcomes", "_route")

    def __init__(self, route: str) -> None:
        self._route = route
        self._outcomes: dict[str, int] = {}
        self._latency = Histogram()

    def count(self, outcome: str, seconds: float) -> None:
        self._outcomes[outcome] = self._outcomes.get(outcome, 0) + 1
        self._latency.count(seconds)

    def samples(self) -> Samples:
        route = f'route="{self._route}"'
        samples: Samples = {
            f'sortkey_http_requests_total{{{route},outcome="{outcome}"}}': number
            for outcome, number in self._outcomes.items()
        }
        return samples | self._latency.samples("sortkey_http_request_seconds", route)


class Metrics:
    """One process's numbers; only its event loop counts."""

    def __init__(self) -> None:
        self._routes: dict[str, RouteMetrics] = {}
        self.in_flight = 0
        self.connections = 0
        self.received = 0
        self.sent = 0

    def route(self, name: str) -> RouteMetrics:
        found = self._routes.get(name)
        if found is None:
            found = self._routes[name] = RouteMetrics(name)
        return found

    def samples(self) -> Samples:
        samples: Samples = {
            "sortkey_http_requests_in_flight": self.in_flight,
            "sortkey_http_connections": self.connections,
            "sortkey_http_received_bytes_total": self.received,
            "sortkey_http_sent_bytes_total": self.sent,
        }
        for route in self._routes.values():
            samples |= route.samples()
        return samples


def path_samples(readings: Iterable[Reading]) -> Samples:
    """What a session's meter has measured; the name of an access path needs no escaping."""
    samples: Samples = {}
    for reading in readings:
        label = f'{{path="{reading.path}"}}'
        samples[f"sortkey_path_calls_total{label}"] = reading.calls
        samples[f"sortkey_path_rows_read_total{label}"] = reading.rows_read
        samples[f"sortkey_path_rows_returned_total{label}"] = reading.rows_returned
        samples[f"sortkey_path_read_amplification{label}"] = reading.amplification
        samples[f"sortkey_path_capacity_units_total{label}"] = reading.units
        samples[f"sortkey_path_seconds_total{label}"] = reading.seconds
    return samples
