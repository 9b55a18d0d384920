"""`make crash N=1000 SEED=1`: kill writing processes N times; nothing acknowledged may be lost, and none may hang.

First N kills among writers that share a folder, whose survivors must go on; then N more, after each of which the folder
is examined.
"""

from __future__ import annotations

import argparse
import sys
from time import monotonic

from tests.faults.crash.campaign import Campaign, Result
from tests.faults.crash.survivors import WRITERS, Survived, survive


def main() -> int:
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = monotonic()
    steps = {max(1, given.count * tenth // 10) for tenth in range(1, 11)}

    def show(result: Result | Survived) -> None:
        line = f"{result.kills} of {given.count} kills in {monotonic() - began:.0f} s"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
        elif result.kills in steps:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    survived = survive(given.seed, given.count, show=show)
    sys.stdout.write(
        f"\n{survived.kills} kills among {WRITERS} writers in {monotonic() - began:.0f} s: "
        f"{survived.writes} writes, of which a survivor's took {survived.longest:.2f} s at most\n"
    )
    began = monotonic()
    result = Campaign(given.seed, show).run(given.count)
    sys.stdout.write(f"\n{summary(result, monotonic() - began)}")
    return 0


def summary(result: Result, seconds: float) -> str:
    ways = ", ".join(f"{number} {way.replace('_', ' ')}" for way, number in sorted(result.ways.items()))
    return (
        f"{result.kills} kills in {seconds:.0f} s ({ways})\n"
        f"{result.lines} acknowledged writes, none lost; {result.items} items examined, no problem\n"
    )


if __name__ == "__main__":
    sys.exit(main())
