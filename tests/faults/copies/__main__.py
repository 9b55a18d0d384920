"""`python -m tests.faults.copies --rows 4000000 --writes 500 --target endpoint`: copy a table that is written to.

The copier is killed at random and continued. Exits with 1 if a row is lost or wrong, or writers were fenced for a
second or more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tests.faults.copies.campaign import Plan, opened_target, run

MOST_FENCED_SECONDS = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.copies", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="before the copy (%(default)s)")
    parser.add_argument("--writes", type=int, default=500, help="a second (%(default)s)")
    parser.add_argument("--target", choices=("endpoint", "local"), default="endpoint")
    parser.add_argument("--kills", type=int, default=5, help="at random, besides one at the fence (%(default)s)")
    parser.add_argument("--longest-run", type=float, default=30.0, help="seconds before a kill, at most (%(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="for the data")
    given = parser.parse_args()
    began = monotonic()

    def show(line: str) -> None:
        sys.stderr.write(f"{monotonic() - began:6.1f} s  {line}\n")

    with TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        with opened_target(given.target, folder) as target:
            plan = Plan(given.rows, given.writes, given.kills, given.seed, given.longest_run)
            result = run(plan, folder, target, show)
    for field, value in result._asdict().items():
        sys.stdout.write(f"{field}: {value}\n")
    is_quick = not result.fenced >= MOST_FENCED_SECONDS and result.fenced_for_writer < MOST_FENCED_SECONDS
    return 0 if result.lost == result.wrong == 0 and is_quick else 1


if __name__ == "__main__":
    sys.exit(main())
