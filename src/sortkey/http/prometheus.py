"""Prometheus's text format, for everything that tells numbers of itself.

Everything is a sample: a series' name with its labels, and a number. Numbers of several processes add up, so merging
theirs is adding sample by sample.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final

Samples = dict[str, float]
Families = Mapping[str, tuple[str, str]]
"""By the name of a family: its type, and what it means."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

SECONDS: Final = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the buckets that durations are counted in."""


class Histogram:
    """How long something took, again and again. Counting once costs well under a microsecond."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(SECONDS) + 1)
        self.seconds = 0.0

    def count(self, seconds: float) -> None:
        self.buckets[bisect_left(SECONDS, seconds)] += 1
        self.seconds += seconds

    def samples(self, family: str, labels: str = "") -> Samples:
        """`labels` as they stand between the braces."""
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


def merged(several: Iterable[Samples]) -> Samples:
    total: Samples = {}
    for samples in several:
        for series, number in samples.items():
            total[series] = total.get(series, 0.0) + number
    return total


def render(samples: Samples, families: Families) -> bytes:
    """The families in their order, each with its samples; a family without any is left out."""
    members: dict[str, list[str]] = {family: [] for family in families}
    for series in samples:
        members[_family(series, families)].append(series)
    lines = []
    for family, (kind, meaning) in families.items():
        if members[family]:
            lines += [f"# HELP {family} {meaning}", f"# TYPE {family} {kind}"]
            lines += [f"{series} {_number(samples[series])}" for series in members[family]]
    return "\n".join([*lines, ""]).encode()


def _family(series: str, families: Families) -> str:
    name = series.partition("{")[0]
    return name if name in families else name.rpartition("_")[0]


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(float(number))
