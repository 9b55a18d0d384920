"""What every server counts, and how Prometheus reads it.

Requests are counted by name and outcome, with how long they took; connections and bytes as well. Counting one request
costs well under a microsecond. A sample is the name of a series with its labels, and a number. Samples of several
processes are merged by adding them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

Samples = dict[str, float]
Families = Mapping[str, tuple[str, str]]
"""A family's type and its meaning, by its name."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def merged(several: Iterable[Samples]) -> Samples:
    total: Samples = {}
    for samples in several:
        for series, number in samples.items():
            total[series] = total.get(series, 0.0) + number
    return total


def escaped(text: str) -> str:
    """A text as the value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render(samples: Samples, families: Families) -> bytes:
    """Families in their order, each with its samples; families without samples are left out."""
    members: dict[str, list[str]] = {family: [] for family in families}
    for series in samples:
        members[_family(series, families)].append(series)
    lines = []
    for family, (metric_type, meaning) in families.items():
        if members[family]:
            lines += [f"# HELP {family} {meaning}", f"# TYPE {family} {metric_type}"]
            lines += [f"{series} {_number(samples[series])}" for series in members[family]]
    return "\n".join([*lines, ""]).encode()


def _family(series: str, families: Families) -> str:
    name = series.partition("{")[0]
    return name if name in families else name.rpartition("_")[0]


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(float(number))


OK: Final = "ok"
"""The outcome of a request that succeeded; otherwise the outcome is the error's code."""

SECONDS: Final = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of a histogram's buckets."""


def families(prefix: str, label: str) -> Families:
    """Those of `ServerMetrics` with the same arguments."""
    return {
        f"{prefix}_requests_total": ("counter", f"Requests answered, by {label} and outcome: ok, or the error's code."),
        f"{prefix}_request_seconds": ("histogram", f"From a request being complete to its answer, by {label}."),
        f"{prefix}_connections": ("gauge", "Connections that are open."),
        f"{prefix}_connections_total": ("counter", "Connections accepted."),
        f"{prefix}_connections_refused_total": ("counter", "Connections refused because too many were open."),
        f"{prefix}_received_bytes_total": ("counter", "Bytes received."),
        f"{prefix}_sent_bytes_total": ("counter", "Bytes sent."),
    }


class Histogram:
    """Counts durations in buckets."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(SECONDS) + 1)
        self.seconds = 0.0

    def count(self, seconds: float) -> None:
        self.buckets[bisect_left(SECONDS, seconds)] += 1
        self.seconds += seconds

    def samples(self, family: str, labels: str = "") -> Samples:
        """`labels` as they stand between the braces. Prometheus's buckets are cumulative."""
        before = f"{labels}," if labels else ""
        braced = f"{{{labels}}}" if labels else ""
        samples: Samples = {}
        total = 0
        for bound, number in zip((*SECONDS, "+Inf"), self.buckets, strict=True):
            total += number
            samples[f'{family}_bucket{{{before}le="{bound}"}}'] = total
        samples[f"{family}_sum{braced}"] = self.seconds
        samples[f"{family}_count{braced}"] = total
        return samples


class RequestMetrics:
    """The requests that are counted under one name."""

    __slots__ = ("_labels", "_latency", "_outcomes")

    def __init__(self, labels: str) -> None:
        self._labels = labels
        self._outcomes: defaultdict[str, int] = defaultdict(int)
        self._latency = Histogram()

    def count(self, outcome: str, seconds: float) -> None:
        self._outcomes[outcome] += 1
        self._latency.count(seconds)

    def samples(self, prefix: str) -> Samples:
        """Empty until a request was counted."""
        if not self._outcomes:
            return {}
        samples: Samples = {
            f'{prefix}_requests_total{{{self._labels},outcome="{outcome}"}}': number
            for outcome, number in self._outcomes.items()
        }
        return samples | self._latency.samples(f"{prefix}_request_seconds", self._labels)


class ServerMetrics:
    """One process's numbers; only its event loop counts."""

    def __init__(self, prefix: str, label: str) -> None:
        """`label` is the label that distinguishes requests, such as `route`."""
        self._prefix = prefix
        self._label = label
        self._requests: dict[str, RequestMetrics] = {}
        self.connections = 0
        self.connections_accepted = 0
        self.connections_rejected = 0
        self.received = 0
        self.sent = 0

    def requests(self, name: str) -> RequestMetrics:
        found = self._requests.get(name)
        if found is None:
            found = self._requests[name] = RequestMetrics(f'{self._label}="{name}"')
        return found

    def samples(self) -> Samples:
        samples: Samples = {
            f"{self._prefix}_connections": self.connections,
            f"{self._prefix}_connections_total": self.connections_accepted,
            f"{self._prefix}_connections_refused_total": self.connections_rejected,
            f"{self._prefix}_received_bytes_total": self.received,
            f"{self._prefix}_sent_bytes_total": self.sent,
        }
        for each in self._requests.values():
            samples |= each.samples(self._prefix)
        return samples
