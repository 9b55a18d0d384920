"""The metrics of timers, for `GET /metrics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sortkey.http.metrics import Families, Histogram, Samples

_PREFIX: Final = "sortkey_timers"

FAMILIES: Final[Families] = {
    f"{_PREFIX}_total": (
        "counter",
        "Timers by outcome: handled, dead (sent to the dead letters), or dropped, which no item asks for any more.",
    ),
    f"{_PREFIX}_retries_total": ("counter", "Calls of on_due that raised."),
    f"{_PREFIX}_late_seconds": ("histogram", "From the time of a timer to the call of on_due that succeeded."),
    f"{_PREFIX}_running": ("gauge", "Calls of on_due that are under way."),
    f"{_PREFIX}_leases": ("gauge", "Shards of timers that this process handles."),
    f"{_PREFIX}_takeovers_total": ("counter", "Leases taken from a worker that no longer renewed them."),
    f"{_PREFIX}_lost_leases_total": ("counter", "Leases that another worker took while this one had them."),
}


class TimerMetrics:
    """Of one schedule; its event loop writes them."""

    def __init__(self, schedule: str, leases: Callable[[], int]) -> None:
        self.handled = 0
        self.dead = 0
        self.dropped = 0
        self.retries = 0
        self.running = 0
        self.takeovers = 0
        self.lost = 0
        self.late_seconds = Histogram()
        self._schedule = schedule
        self._leases = leases

    def samples(self) -> Samples:
        label = f'schedule="{self._schedule}"'
        samples: Samples = {
            f'{_PREFIX}_total{{{label},outcome="handled"}}': self.handled,
            f'{_PREFIX}_total{{{label},outcome="dead"}}': self.dead,
            f'{_PREFIX}_total{{{label},outcome="dropped"}}': self.dropped,
            f"{_PREFIX}_retries_total{{{label}}}": self.retries,
            f"{_PREFIX}_running{{{label}}}": self.running,
            f"{_PREFIX}_leases{{{label}}}": self._leases(),
            f"{_PREFIX}_takeovers_total{{{label}}}": self.takeovers,
            f"{_PREFIX}_lost_leases_total{{{label}}}": self.lost,
        }
        return samples | self.late_seconds.samples(f"{_PREFIX}_late_seconds", label)
