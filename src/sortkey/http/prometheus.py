"""Prometheus's text format.

A sample is the name of a series with its labels, and a number. Samples of several processes are merged by adding them.
"""

from __future__ import annotations

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
