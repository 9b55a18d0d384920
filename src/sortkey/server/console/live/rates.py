"""Rates and percentiles from two looks at what a server counts.

The numbers are those of `GET /metrics`, so they are right for several processes wherever those are: the samples of all
workers add up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sortkey.http.metrics import OK, SECONDS, Samples

TROUBLE: Final = frozenset(
    {
        "internal",
        "overloaded",
        "store_unavailable",
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "ThrottlingException",
    }
)
"""Outcomes that are the server's, or mean that there was too much; others are the client's."""
BOUNDS: Final = (*SECONDS, SECONDS[-1] * 2)
"""Of the buckets; the last one has none, and is shown as twice the longest."""
SERIES: Final = 4096
"""Names of series whose parts are remembered."""

_SERIES: Final = re.compile(r'\w+?_(requests_total|request_seconds_bucket)\{\w+="([^"]*)",(?:outcome|le)="([^"]*)"\}')
_NO_BUCKETS: Final = (0.0,) * len(BOUNDS)


class Counts(NamedTuple):
    """Of some requests, since the start."""

    requests: float = 0.0
    errors: float = 0.0
    rejected: float = 0.0
    buckets: Sequence[float] = _NO_BUCKETS
    """Requests by their time, not cumulated."""

    def plus(self, other: Counts) -> Counts:
        return Counts(
            self.requests + other.requests,
            self.errors + other.errors,
            self.rejected + other.rejected,
            [a + b for a, b in zip(self.buckets, other.buckets, strict=True)],
        )

    def minus(self, before: Counts) -> Counts:
        """What has come since; after a restart of a worker, nothing rather than less than nothing."""
        return Counts(
            max(0.0, self.requests - before.requests),
            max(0.0, self.errors - before.errors),
            max(0.0, self.rejected - before.rejected),
            [max(0.0, a - b) for a, b in zip(self.buckets, before.buckets, strict=True)],
        )

    def percentile(self, share: float) -> float | None:
        """Between the bounds of its bucket, as if requests were spread evenly in it; None without requests."""
        total = sum(self.buckets)
        if not total:
            return None
        left, below = share * total, 0.0
        for number, bound in zip(self.buckets, BOUNDS, strict=True):
            if number and left <= number:
                return below + (bound - below) * left / number
            left -= number
            below = bound
        return BOUNDS[-1]


def counts_by(samples: Samples, group: Callable[[str], str]) -> dict[str, Counts]:
    """Requests by what `group` returns for their label: a route's service, or one name for all operations."""
    outcomes: dict[str, list[float]] = {}
    cumulated: dict[str, list[float]] = {}
    for series, number in samples.items():
        parts = _parts(series)
        if parts is None:
            continue
        kind, label, last = parts
        if kind == "requests_total":
            sums = outcomes.setdefault(label, [0.0, 0.0, 0.0])
            sums[0] += number
            if last in TROUBLE:
                sums[1] += number
            elif last != OK:
                sums[2] += number
        else:
            cumulated.setdefault(label, []).append(number)
    found: dict[str, Counts] = {}
    for label, (requests, errors, rejected) in outcomes.items():
        counts = Counts(requests, errors, rejected, _differences(cumulated.get(label, ())))
        name = group(label)
        found[name] = found[name].plus(counts) if name in found else counts
    return found


@lru_cache(SERIES)
def _parts(series: str) -> tuple[str, str, str] | None:
    """The kind of a series, its label, and its outcome or bound."""
    found = _SERIES.fullmatch(series)
    return None if found is None else (found[1], found[2], found[3])


def _differences(cumulated: Iterable[float]) -> Sequence[float]:
    buckets, before = [], 0.0
    for number in cumulated:
        buckets.append(number - before)
        before = number
    return buckets if len(buckets) == len(BOUNDS) else _NO_BUCKETS


def total(samples: Mapping[str, float], family: str, part: str = "") -> float:
    """The sum of a family's series that have this part in their labels."""
    return sum(number for series, number in samples.items() if series.partition("{")[0] == family and part in series)
