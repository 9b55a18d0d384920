"""`make soak SECONDS=600`: load, faults and a follower; fails if memory, descriptors, free space or latency drift."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.soak.campaign import Result, Soak
from tests.faults.soak.samples import Drift, Sample, drifts, table
from tests.kafka import broker
from tests.maven import Unavailable


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()

    def show(sample: Sample) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{sample.second:.0f} of {given.seconds:.0f} s")
            sys.stderr.flush()

    with tempfile.TemporaryDirectory(prefix="sortkey-soak-") as folder:
        result = Soak(Path(folder), show, with_kafka=_has_kafka()).run(given.seconds)
    found = drifts(result.samples)
    sys.stdout.write(f"\n{summary(result, found)}")
    return 1 if result.problems or any(drift.is_too_much for drift in found) else 0


def _has_kafka() -> bool:
    try:
        broker.install()
    except Unavailable as error:
        sys.stderr.write(f"Without Kafka and its worker: {error}\n")
        return False
    return True


def summary(result: Result, found: list[Drift]) -> str:
    bad = ", ".join(f"{number} × {name}" for name, number in sorted(result.bad.items()))
    lines = [
        *table(result.samples),
        f"{result.requests} answers; {result.kills} workers killed, and {result.broken} connections with them",
        f"bad clients: {bad}",
        f"{result.events} events through Kafka, whose worker was killed {result.feed_kills} times",
        f"{result.changes} changes followed, each once and in order",
    ]
    for drift in found:
        verdict = "too much" if drift.is_too_much else "within bounds"
        lines.append(f"drift of {drift.name}: {drift.change:+.2f}, at most {drift.most:.2f}: {verdict}")
    lines += [f"problem: {problem}" for problem in result.problems[:20]]
    lines.append(f"problems: {len(result.problems)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
