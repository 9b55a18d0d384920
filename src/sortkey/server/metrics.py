"""What the app's `GET /metrics` shows: requests by route, requests to the store by access path, and change feeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sortkey.feeds.shards.metrics import FAMILIES as FEED_FAMILIES
from sortkey.http.metrics import Families, Samples, ServerMetrics, families
from sortkey.model.costs.meter import Reading

_PREFIX: Final = "sortkey_http"
_LABEL: Final = "route"

NO_ROUTE: Final = "none"
"""The route of requests that match none, so that clients cannot create series without end."""

FAMILIES: Final[Families] = {
    **families(_PREFIX, _LABEL),
    "sortkey_http_requests_in_flight": ("gauge", "Requests that are being answered."),
    "sortkey_path_calls_total": ("counter", "Requests to the store, by access path."),
    "sortkey_path_rows_read_total": ("counter", "Rows that the store read, by access path."),
    "sortkey_path_rows_returned_total": ("counter", "Rows that the callers received, by access path."),
    "sortkey_path_rows_unrecognised_total": ("counter", "Rows that no declared class recognises, by access path."),
    "sortkey_path_rows_undecodable_total": ("counter", "Rows that their class cannot read, by access path."),
    "sortkey_path_read_amplification": ("gauge", "Rows read for each row returned, by access path."),
    "sortkey_path_capacity_units_total": ("counter", "Capacity units consumed, by access path."),
    "sortkey_path_seconds_total": ("counter", "Seconds spent waiting for the store, by access path."),
    **FEED_FAMILIES,
}


class Metrics(ServerMetrics):
    def __init__(self) -> None:
        super().__init__(_PREFIX, _LABEL)
        self.in_flight = 0

    def samples(self) -> Samples:
        return {**super().samples(), "sortkey_http_requests_in_flight": self.in_flight}


def path_samples(readings: Iterable[Reading]) -> Samples:
    """A session's meter as samples. The name of an access path needs no escaping."""
    samples: Samples = {}
    for reading in readings:
        label = f'{{path="{reading.path}"}}'
        samples[f"sortkey_path_calls_total{label}"] = reading.calls
        samples[f"sortkey_path_rows_read_total{label}"] = reading.rows_read
        samples[f"sortkey_path_rows_returned_total{label}"] = reading.rows_returned
        samples[f"sortkey_path_rows_unrecognised_total{label}"] = reading.rows_unrecognised
        samples[f"sortkey_path_rows_undecodable_total{label}"] = reading.rows_undecodable
        samples[f"sortkey_path_read_amplification{label}"] = reading.amplification
        samples[f"sortkey_path_capacity_units_total{label}"] = reading.units
        samples[f"sortkey_path_seconds_total{label}"] = reading.seconds
    return samples
