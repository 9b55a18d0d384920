"""Latencies of requests, those that were never answered included."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Latency(NamedTuple):
    milliseconds: float
    answered: bool
    """If not, the client waited this long in vain, and the latency is longer than this."""


class Summary(msgspec.Struct, frozen=True):
    requests: int
    p50: Latency
    p99: Latency
    worst: Latency
    rejected: int
    """Answers other than 200, and requests without an answer."""


def with_omitted(sent: float, ended: float, interval: float, until: float) -> list[float]:
    """The seconds that a request took, and those of the requests that its client would have sent meanwhile.

    A client waits for an answer before it sends its next request. So a server that stands still for a second would
    delay one request of a hundred that were due.
    """
    taken = [ended - sent]
    due = sent + interval
    while due < min(ended, until):
        taken.append(ended - due)
        due += interval
    return taken


def summarize(latencies: list[Latency], rejected: int) -> Summary:
    if not latencies:
        raise ValueError("no request was sent")
    ordered = sorted(latencies)
    return Summary(len(ordered), quantile(ordered, 0.5), quantile(ordered, 0.99), ordered[-1], rejected)


def quantile(ordered: list[Latency], share: float) -> Latency:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
