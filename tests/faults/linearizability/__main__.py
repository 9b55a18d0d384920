"""`python -m tests.faults.linearizability --count 2000 --seed 1`: histories of processes that share a folder."""

from __future__ import annotations

import argparse
import sys
from time import monotonic

from tests.faults.linearizability.campaign import Result, check


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.faults.linearizability", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = monotonic()
    steps = {max(1, given.count * tenth // 10) for tenth in range(1, 11)}

    def show(result: Result) -> None:
        if result.histories in steps:
            sys.stderr.write(f"{result.histories} of {given.count} histories in {monotonic() - began:.0f} s\n")
            sys.stderr.flush()

    result = check(given.seed, given.count, show)
    faults = ", ".join(f"{number} {fault}" for fault, number in sorted(result.faults.items()))
    sys.stdout.write(
        f"{result.histories} histories in {monotonic() - began:.0f} s, all linearizable ({faults})\n"
        f"{result.answered} calls were answered, {result.unknown} lost their answers, {result.withdrawn} were "
        f"withdrawn\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
