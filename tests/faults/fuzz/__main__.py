"""`make fuzz N=20000 SEED=1`: fuzz the servers, and print the smallest request of each failure."""

from __future__ import annotations

import argparse
import sys

from tests.faults.fuzz.campaign import Campaign, Result
from tests.faults.fuzz.servers import Servers

LONGEST = 4000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with Servers() as servers:
        result = Campaign(servers, given.seed).run(given.count)
    sys.stdout.write(summary(result, given.seed))
    return 1 if result.failures else 0


def summary(result: Result, seed: int) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(result.kinds.items()))
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(result.statuses.items()))
    megabytes = [size >> 20 for size in result.memory]
    lines = [
        f"{result.cases} cases in {result.seconds:.0f} s (seed {seed}): {kinds}",
        f"answers: {statuses}",
        f"memory: {megabytes[0]} MiB at first, {max(megabytes)} at most, {megabytes[-1]} at last",
        f"failures: {len(result.failures)}",
    ]
    for failure in result.failures:
        sent = failure.case.encode()
        lines += ["", f"case {failure.number}: {failure.name}", f"  {sent[:LONGEST]!r}", failure.detail.strip()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
