"""What is measured over time, and how far it drifts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final, NamedTuple

MEBIBYTE: Final = 1 << 20
WARMING: Final = 0.2
"""The part of a run in which caches fill; it is shown, but does not count."""
BUCKETS: Final = 12


class Sample(NamedTuple):
    second: float
    memory: int
    """Anonymous bytes of the processes that last for the whole run."""
    descriptors: int
    file: int
    """Bytes of the data file. A stream keeps its records for a day, so this grows as long as there are writes."""
    free: int
    """Bytes of the data file that hold nothing, and wait to be used again."""
    latencies: tuple[float, ...]
    """Seconds, of the probes since the last sample."""
    requests: int
    """That were answered since the last sample."""


class Bound(NamedTuple):
    """What a measure may change by from the begin of a run to its end."""

    name: str
    value: Callable[[Sample], float]
    most: float
    is_part: bool = False
    """Whether `most` is a part of the measure's median, and not in its own unit."""


def _latency(sample: Sample) -> float:
    return statistics.median(sample.latencies) if sample.latencies else 0.0


BOUNDS: Final = (
    Bound("memory", lambda sample: sample.memory / MEBIBYTE, 16),
    Bound("descriptors", lambda sample: sample.descriptors, 8),
    Bound("free space", lambda sample: sample.free / MEBIBYTE, 16),
    Bound("latency", lambda sample: _latency(sample) * 1000, 0.5, is_part=True),
)
"""Memory and free space in MiB, latency in milliseconds."""


class Drift(NamedTuple):
    name: str
    change: float
    """From the begin to the end, by the slope."""
    most: float

    @property
    def is_too_much(self) -> bool:
        return self.change > self.most


def drifts(samples: Sequence[Sample]) -> list[Drift]:
    settled = samples[int(len(samples) * WARMING) :]
    found = []
    for bound in BOUNDS:
        values = [bound.value(sample) for sample in settled]
        most = bound.most * statistics.median(values) if bound.is_part else bound.most
        found.append(Drift(bound.name, _change([sample.second for sample in settled], values), most))
    return found


def _change(seconds: Sequence[float], values: Sequence[float]) -> float:
    """By the median of the slopes between any two parts of the run: a few odd samples change nothing."""
    size = max(1, len(values) // BUCKETS)
    starts = range(0, len(values) - size + 1, size)
    points = [
        (statistics.median(seconds[start : start + size]), statistics.median(values[start : start + size]))
        for start in starts
    ]
    slopes = [(second - first) / (later - earlier) for (earlier, first), (later, second) in combinations(points, 2)]
    return statistics.median(slopes) * (seconds[-1] - seconds[0]) if slopes else 0.0


def table(samples: Sequence[Sample]) -> list[str]:
    """A line for each minute, or for each tenth of a run of less than ten minutes."""
    span = min(60.0, max(1.0, samples[-1].second / 10))
    lines = ["    time  memory  descriptors    file    free    p50     p99  requests/s"]
    for number in range(int(samples[-1].second / span) + 1):
        part = [sample for sample in samples if number * span <= sample.second < (number + 1) * span]
        if part:
            lines.append(_line(part))
    return lines


def _line(part: Sequence[Sample]) -> str:
    latencies = sorted(latency for sample in part for latency in sample.latencies) or [0.0]
    seconds = max(1.0, part[-1].second - part[0].second + 1)
    return (
        f"{part[-1].second:6.0f} s {statistics.median(s.memory for s in part) / MEBIBYTE:5.1f} M "
        f"{statistics.median(s.descriptors for s in part):12.0f} {part[-1].file / MEBIBYTE:5.1f} M "
        f"{part[-1].free / MEBIBYTE:5.1f} M {statistics.median(latencies) * 1000:4.1f} ms "
        f"{latencies[len(latencies) * 99 // 100] * 1000:4.0f} ms {sum(s.requests for s in part) / seconds:11.0f}"
    )
