"""`python -m tests.faults.rekeying --lookups 1000000`: boosts go from v1 to another design, with lookups, writes and
kills. Exits with 1 if an answer was wrong."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rich.console import Console
from rich.table import Table

from tests.faults.rekeying.campaign import Plan, Result, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.rekeying", description=__doc__)
    parser.add_argument("--lookups", type=int, default=100_000, help="%(default)s")
    parser.add_argument("--to", choices=("v2", "manifest"), default="v2")
    parser.add_argument("--kills", type=int, default=12, help="of followers (%(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="for the data; one in memory-backed /tmp is quicker than a disk")
    given = parser.parse_args()
    began = monotonic()

    def show(line: str) -> None:
        sys.stderr.write(f"{monotonic() - began:6.0f} s  {line}\n")

    plan = Plan(given.lookups, to=given.to, seed=given.seed, kills=given.kills, freezes=2)
    with TemporaryDirectory(dir=given.folder) as folder:
        result = run(plan, Path(folder), show)
    Console(width=110).print(summary(result, f"boosts from v1 to {given.to}, {monotonic() - began:.0f} s"))
    return 0 if is_right(result) else 1


def is_right(result: Result) -> bool:
    return result.wrong == result.wrong_at_the_end == result.old_rows_left == 0


def summary(result: Result, title: str) -> Table:
    table = Table("", "", title=title, title_justify="left", show_header=False)
    table.add_row("lookups, of the new design", f"{result.lookups:,}, {result.of_new:,}")
    table.add_row("wrong lookups", f"{result.wrong:,}")
    table.add_row("writes", f"{result.writes:,}")
    table.add_row("oldest answer of the new design", f"{result.stalest:.1f} s")
    table.add_row("followers killed, frozen", f"{result.kills}, {result.freezes}")
    table.add_row("backfills killed, reads switched", f"{result.backfill_kills}, {result.switches}")
    table.add_row("wrong at the end, old rows left", f"{result.wrong_at_the_end}, {result.old_rows_left}")
    for example in result.examples:
        table.add_row("wrong", example)
    return table


if __name__ == "__main__":
    sys.exit(main())
