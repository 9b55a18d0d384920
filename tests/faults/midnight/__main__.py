"""`python -m tests.faults.midnight --changes 100000 --stores 1000 --seed 7`: changes that are due at one instant.

Exits with 1 if a reader saw a store half changed, or a price that was wrong for the instant it asked about.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rich.console import Console
from rich.table import Table

from tests.faults.exactly_once.campaign import opened_store
from tests.faults.midnight.campaign import Plan, Result, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.midnight", description=__doc__)
    parser.add_argument("--changes", type=int, default=100_000, help="in all stores together (%(default)s)")
    parser.add_argument("--stores", type=int, default=1000)
    parser.add_argument("--processor", choices=("running", "stopped", "killed"), default="killed")
    parser.add_argument("--kills", type=int, default=10, help="if it is killed (%(default)s)")
    parser.add_argument("--store", choices=("disk", "endpoint", "local"), default="disk")
    parser.add_argument("--reads", type=int, default=500, help="of each reader, in each phase (%(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="for the data")
    given = parser.parse_args()
    plan = Plan(
        seed=given.seed,
        changes=given.changes,
        stores=given.stores,
        kills=given.kills if given.processor == "killed" else 0,
        reads=given.reads,
        running_before=given.processor != "stopped",
        # If it takes longer, it begins again with more time.
        lead_seconds=2 + given.changes / 1500,
    )
    began = monotonic()

    def show(line: str) -> None:
        sys.stderr.write(f"{monotonic() - began:6.1f} s: {line}\n")

    with TemporaryDirectory(dir=given.folder) as folder, opened_store(given.store, Path(folder)) as store:
        result = run(plan, store.url, show)
    Console(width=100).print(summary(result, plan, given.store))
    return 0 if result.wrong == result.unfinished == 0 else 1


def summary(result: Result, plan: Plan, store: str) -> Table:
    title = f"{plan.changes:,} changes of {plan.stores:,} stores at one instant, on {store}, seed {plan.seed}"
    table = Table("", "", title=title, title_justify="left", show_header=False)
    table.add_row("scheduled in", f"{result.scheduling:.1f} s")
    table.add_row("processors killed", str(result.kills))
    if not plan.running_before:
        table.add_row("without a processor", f"{result.without_processor:.1f} s")
    table.add_row("until everything is permanent", f"{result.permanent:.1f} s")
    after = sum(tally.reads_after for tally in result.tallies)
    table.add_row("reads, those after midnight", f"{result.reads:,}, {after:,}")
    table.add_row("slowest read", f"{max(tally.slowest for tally in result.tallies) * 1000:.0f} ms")
    table.add_row("half changed, or wrong for its instant", f"{result.wrong:,}")
    table.add_row("stores that are wrong at the end", f"{result.unfinished:,}")
    for line in result.named:
        table.add_row("wrong", line)
    return table


if __name__ == "__main__":
    sys.exit(main())
