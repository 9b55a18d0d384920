"""The metrics of change feeds, for `GET /metrics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sortkey.http.metrics import Families, Histogram, Samples

_PREFIX: Final = "sortkey_change_feed"

FAMILIES: Final[Families] = {
    f"{_PREFIX}_records_total": (
        "counter",
        "Records by outcome: handled, dead (sent to the dead letters), or skipped, which are of other classes.",
    ),
    f"{_PREFIX}_batches_total": ("counter", "Calls of on_changes that succeeded."),
    f"{_PREFIX}_batch_seconds": ("histogram", "Time that a call of on_changes took that succeeded."),
    f"{_PREFIX}_retries_total": ("counter", "Calls of on_changes that raised."),
    f"{_PREFIX}_lag_seconds": (
        "gauge",
        "From the last handled change to now, of the shard that is furthest behind; 0 when nothing is left.",
    ),
    f"{_PREFIX}_leases": ("gauge", "Shards that this process follows."),
    f"{_PREFIX}_takeovers_total": ("counter", "Leases taken from a follower that no longer renewed them."),
    f"{_PREFIX}_lost_leases_total": ("counter", "Leases that another follower took while this one had them."),
    f"{_PREFIX}_trims_total": ("counter", "Times that changes were lost: the stream trimmed them before they came."),
}


class ChangeFeedMetrics:
    """Of one feed; its event loop writes them."""

    def __init__(self, feed: str, lag: Callable[[], float], leases: Callable[[], int]) -> None:
        self.handled = 0
        self.dead = 0
        self.skipped = 0
        self.batches = 0
        self.retries = 0
        self.takeovers = 0
        self.lost = 0
        self.trimmed = 0
        self.batch_seconds = Histogram()
        self._feed = feed
        self._lag = lag
        self._leases = leases

    def samples(self) -> Samples:
        label = f'feed="{self._feed}"'
        samples: Samples = {
            f'{_PREFIX}_records_total{{{label},outcome="handled"}}': self.handled,
            f'{_PREFIX}_records_total{{{label},outcome="dead"}}': self.dead,
            f'{_PREFIX}_records_total{{{label},outcome="skipped"}}': self.skipped,
            f"{_PREFIX}_batches_total{{{label}}}": self.batches,
            f"{_PREFIX}_retries_total{{{label}}}": self.retries,
            f"{_PREFIX}_lag_seconds{{{label}}}": self._lag(),
            f"{_PREFIX}_leases{{{label}}}": self._leases(),
            f"{_PREFIX}_takeovers_total{{{label}}}": self.takeovers,
            f"{_PREFIX}_lost_leases_total{{{label}}}": self.lost,
            f"{_PREFIX}_trims_total{{{label}}}": self.trimmed,
        }
        return samples | self.batch_seconds.samples(f"{_PREFIX}_batch_seconds", label)
