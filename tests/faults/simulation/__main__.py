"""`make simulate N=2000 SEED=0`: simulate the store under faults, with N seeds from SEED on."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from time import monotonic

from tests.faults.simulation.lives import Outcome, simulate


def main() -> int:
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began = monotonic()
    outcomes = [simulate(seed) for seed in range(given.seed, given.seed + given.count)]
    sys.stdout.write(summary(outcomes, monotonic() - began))
    return 0


def summary(outcomes: list[Outcome], seconds: float) -> str:
    ends = _total(outcome.faults for outcome in outcomes)
    flips = _total(outcome.flips for outcome in outcomes)
    operations = sum(outcome.operations for outcome in outcomes)
    done = sum(outcome.done for outcome in outcomes)
    steps = sum(len(outcome.trace) for outcome in outcomes)
    return (
        f"{len(outcomes)} simulations in {seconds:.0f} s: {operations} writes, {done} of them acknowledged, "
        f"{steps} steps\nends of commits: {ends}\nflipped bits: {flips}\n"
    )


def _total(counts: Iterable[dict[str, int]]) -> str:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return ", ".join(f"{count} {name}" for name, count in total.items())


if __name__ == "__main__":
    sys.exit(main())
