"""The metrics of change feeds and timers, for `GET /metrics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sortkey.feeds.shards.blockage import Blockages
from sortkey.http.metrics import Families, Histogram, Samples

_FEED: Final = "sortkey_change_feed"
_TIMERS: Final = "sortkey_timers"

FAMILIES: Final[Families] = {
    f"{_FEED}_records_total": (
        "counter",
        "Records by outcome: handled, dead (sent to the dead letters), or skipped, which are of other classes.",
    ),
    f"{_FEED}_batches_total": ("counter", "Calls of on_changes that succeeded."),
    f"{_FEED}_batch_seconds": ("histogram", "Time that a call of on_changes took that succeeded."),
    f"{_FEED}_retries_total": ("counter", "Calls of on_changes that raised."),
    f"{_FEED}_lag_seconds": (
        "gauge",
        "From the last handled change to now, of the shard that is furthest behind; 0 when nothing is left.",
    ),
    f"{_FEED}_blocked_seconds": ("gauge", "How long the feed has waited for an outage to end; 0 if there is none."),
    f"{_FEED}_blocked": ("gauge", "Shards that wait for an outage to end, by the class of the error."),
    f"{_FEED}_leases": ("gauge", "Shards that this process follows."),
    f"{_FEED}_takeovers_total": ("counter", "Leases taken from a follower that no longer renewed them."),
    f"{_FEED}_lost_leases_total": ("counter", "Leases that another follower took while this one had them."),
    f"{_FEED}_trims_total": ("counter", "Times that changes were lost: the stream trimmed them before they came."),
    f"{_TIMERS}_total": (
        "counter",
        "Timers by outcome: handled, dead (sent to the dead letters), or dropped, which no item asks for any more.",
    ),
    f"{_TIMERS}_retries_total": ("counter", "Calls of on_due that raised."),
    f"{_TIMERS}_blocked_seconds": ("gauge", "How long timers have waited for an outage to end; 0 if there is none."),
    f"{_TIMERS}_blocked": ("gauge", "1 while timers wait for an outage to end, by the class of the error."),
    f"{_TIMERS}_late_seconds": ("histogram", "From the time of a timer to the call of on_due that succeeded."),
    f"{_TIMERS}_running": ("gauge", "Calls of on_due that are under way."),
    f"{_TIMERS}_leases": ("gauge", "Shards of timers that this process handles."),
    f"{_TIMERS}_takeovers_total": ("counter", "Leases taken from a worker that no longer renewed them."),
    f"{_TIMERS}_lost_leases_total": ("counter", "Leases that another worker took while this one had them."),
}


class ShardMetrics:
    """What is counted of the work on shards. The event loop writes it; any thread may read."""

    def __init__(self, prefix: str, label: str, leases: Callable[[], int]) -> None:
        self.handled = 0
        self.dead = 0
        self.retries = 0
        self.takeovers = 0
        self.lost = 0
        self.blockages = Blockages()
        self._prefix = prefix
        self._label = label
        self._leases = leases

    def samples(self) -> Samples:
        prefix, label = self._prefix, self._label
        return {
            f"{prefix}_retries_total{{{label}}}": self.retries,
            f"{prefix}_leases{{{label}}}": self._leases(),
            f"{prefix}_takeovers_total{{{label}}}": self.takeovers,
            f"{prefix}_lost_leases_total{{{label}}}": self.lost,
        } | self.blockages.samples(prefix, label)


class ChangeFeedMetrics(ShardMetrics):
    """Of one feed."""

    def __init__(self, feed: str, lag: Callable[[], float], leases: Callable[[], int]) -> None:
        super().__init__(_FEED, f'feed="{feed}"', leases)
        self.skipped = 0
        self.batches = 0
        self.trimmed = 0
        self.batch_seconds = Histogram()
        self._lag = lag

    def samples(self) -> Samples:
        label = self._label
        samples: Samples = {
            f'{_FEED}_records_total{{{label},outcome="handled"}}': self.handled,
            f'{_FEED}_records_total{{{label},outcome="dead"}}': self.dead,
            f'{_FEED}_records_total{{{label},outcome="skipped"}}': self.skipped,
            f"{_FEED}_batches_total{{{label}}}": self.batches,
            f"{_FEED}_lag_seconds{{{label}}}": self._lag(),
            f"{_FEED}_trims_total{{{label}}}": self.trimmed,
        }
        return samples | super().samples() | self.batch_seconds.samples(f"{_FEED}_batch_seconds", label)


class TimerMetrics(ShardMetrics):
    """Of one schedule."""

    def __init__(self, schedule: str, leases: Callable[[], int]) -> None:
        super().__init__(_TIMERS, f'schedule="{schedule}"', leases)
        self.dropped = 0
        self.running = 0
        self.late_seconds = Histogram()

    def samples(self) -> Samples:
        label = self._label
        samples: Samples = {
            f'{_TIMERS}_total{{{label},outcome="handled"}}': self.handled,
            f'{_TIMERS}_total{{{label},outcome="dead"}}': self.dead,
            f'{_TIMERS}_total{{{label},outcome="dropped"}}': self.dropped,
            f"{_TIMERS}_running{{{label}}}": self.running,
        }
        return samples | super().samples() | self.late_seconds.samples(f"{_TIMERS}_late_seconds", label)
