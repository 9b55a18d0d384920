"""`make fuzz N=20000 SEED=1`: fuzz the servers, and print the smallest request of each failure."""

from __future__ import annotations

import argparse
import sys

from tests.faults.fuzz.campaign import Campaign, Mark, Result
from tests.faults.fuzz.servers import Servers

LONGEST = 4000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with Servers() as servers:
        result = Campaign(servers, given.seed, show).run(given.count)
    sys.stdout.write(summary(result, given.seed))
    return 1 if result.failures else 0


def show(mark: Mark) -> None:
    sys.stderr.write(f"{mark.cases} cases: {mark.memory / 2**20:.1f} MiB, {mark.descriptors} descriptors\n")
    sys.stderr.flush()


def summary(result: Result, seed: int) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(result.kinds.items()))
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(result.statuses.items()))
    failed = ", ".join(f"{count} × {what}" for what, count in sorted(result.failed.items()))
    memory = ", ".join(f"{mark.memory >> 20}" for mark in result.marks)
    descriptors = ", ".join(str(mark.descriptors) for mark in result.marks)
    lines = [
        f"{result.cases} cases in {result.seconds:.0f} s (seed {seed}): {kinds}",
        f"answers: {statuses}",
        f"anonymous memory in MiB, at first and after each tenth: {memory}",
        f"descriptors: {descriptors}",
        f"5xx, unanswered and other failures: {failed or 0}",
        f"different failures: {len(result.failures)}",
    ]
    for failure in result.failures:
        sent = failure.case.encode()
        lines += ["", f"case {failure.number}: {failure.name}", f"  {sent[:LONGEST]!r}", failure.detail.strip()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
