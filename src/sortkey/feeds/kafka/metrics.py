"""The metrics of a worker, for `GET /metrics`."""

from __future__ import annotations

from typing import Final

from sortkey.feeds.shards.blockage import Blockages
from sortkey.http.metrics import Families, Histogram, Samples

FAMILIES: Final[Families] = {
    "sortkey_feed_messages_total": (
        "counter",
        "Messages by outcome: applied, rejected, or retried, which counts each attempt that raised.",
    ),
    "sortkey_feed_messages_per_second": ("gauge", "Messages applied or rejected per second, recently."),
    "sortkey_feed_batch_seconds": ("histogram", "Time that the service took for a batch that succeeded."),
    "sortkey_feed_blocked_seconds": ("gauge", "How long a partition has waited for an outage to end; 0 if none does."),
    "sortkey_feed_blocked": ("gauge", "Partitions that wait for an outage to end, by the class of the error."),
    "sortkey_feed_lag": ("gauge", "Messages that are not committed yet, by partition."),
    "sortkey_feed_under_way": ("gauge", "Messages received and not yet handled; a large one counts as several."),
    "sortkey_feed_partitions": ("gauge", "Partitions that are assigned to this worker."),
    "sortkey_feed_paused_partitions": ("gauge", "Assigned partitions that are paused until there is room again."),
    "sortkey_feed_commits_total": ("counter", "Offset commits by outcome: ok or failed; a failed one is repeated."),
    "sortkey_feed_dead_letters_total": ("counter", "Rejected messages sent to the dead-letter topic."),
}


class KafkaMetrics:
    """Written by two threads, each its own fields; any thread may read."""

    def __init__(self) -> None:
        self.applied = 0
        self.rejected = 0
        self.retried = 0
        self.batch_seconds = Histogram()
        self.rate = 0.0
        self.lags: dict[int, int] = {}
        self.under_way = 0
        self.partitions = 0
        self.paused = 0
        self.commits = {"ok": 0, "failed": 0}
        self.dead_letters = 0
        self.blockages = Blockages()

    def handled(self, messages: int, rejected: int) -> None:
        self.applied += messages - rejected
        self.rejected += rejected

    def samples(self) -> Samples:
        samples: Samples = {
            'sortkey_feed_messages_total{outcome="applied"}': self.applied,
            'sortkey_feed_messages_total{outcome="rejected"}': self.rejected,
            'sortkey_feed_messages_total{outcome="retried"}': self.retried,
            "sortkey_feed_messages_per_second": self.rate,
            "sortkey_feed_under_way": self.under_way,
            "sortkey_feed_partitions": self.partitions,
            "sortkey_feed_paused_partitions": self.paused,
            "sortkey_feed_dead_letters_total": self.dead_letters,
        }
        for outcome, number in self.commits.items():
            samples[f'sortkey_feed_commits_total{{outcome="{outcome}"}}'] = number
        for partition, lag in self.lags.copy().items():
            samples[f'sortkey_feed_lag{{partition="{partition}"}}'] = lag
        samples |= self.blockages.samples("sortkey_feed", "")
        return samples | self.batch_seconds.samples("sortkey_feed_batch_seconds")
