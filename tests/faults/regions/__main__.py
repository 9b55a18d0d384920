"""`python -m tests.faults.regions --writes 20000 --kills 6 --seed 7`: random writes of three regions, cuts and kills.

Exits with 1 if the regions differ in the end, or a row is not what a last writer left.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tests.faults.regions.campaign import Plan, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.regions", description=__doc__)
    parser.add_argument("--writes", type=int, default=20_000, help="in all regions together (%(default)s)")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--keys", type=int, default=20, help="that all regions write at a time (%(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    began = monotonic()
    with TemporaryDirectory(prefix="regions-") as folder:
        result = run(Plan(given.seed, given.writes, given.kills, given.keys), Path(folder))
    sys.stdout.write(
        f"{result.acknowledged} writes acknowledged, {result.unanswered} not answered; {result.conflicts} of keys that "
        f"another region wrote last\n{result.cuts} cuts, {result.kills} kills, {monotonic() - began:.0f} s; "
        f"{result.rows} rows in the end\n"
    )
    for difference in result.differences:
        sys.stdout.write(f"wrong: {difference}\n")
    return 1 if result.differences else 0


if __name__ == "__main__":
    sys.exit(main())
