"""`python -m tests.faults.exactly_once --count 100000 --store disk --seed 7`: count favourites under faults.

Exits with 1 if a count is wrong. `--store` is a data folder that all processes open (disk), our endpoint, or DynamoDB
Local, whose shards cannot be split.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.faults.exactly_once.campaign import Errors, Plan, Result, opened_store, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.exactly_once", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="marks and unmarks (%(default)s)")
    parser.add_argument("--store", choices=("disk", "endpoint", "local"), default="disk")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lease", type=float, default=2.0, help="the followers' lease time, in seconds")
    parser.add_argument("--folder", type=Path, help="for the data; one in memory-backed /tmp is quicker than a disk")
    given = parser.parse_args()
    began = monotonic()

    def show(line: str) -> None:
        sys.stderr.write(f"{line} in {monotonic() - began:.0f} s\n")

    with TemporaryDirectory(dir=given.folder) as folder, opened_store(given.store, Path(folder)) as store:
        plan = planned(given.count, given.seed, given.lease, can_split=store.folder is not None)
        result = run(plan, store, show)
    Console(width=100).print(summary(result, given, monotonic() - began))
    return 0 if is_right(result) else 1


def planned(count: int, seed: int, lease_seconds: float, *, can_split: bool) -> Plan:
    """More operations meet more faults."""
    return Plan(
        seed=seed,
        operations=count,
        kills=max(2, count // 2500),
        freezes=max(1, count // 10_000),
        redeliveries=max(2, count // 2500),
        splits=(1 if count < 20_000 else 3) if can_split else 0,
        lease_seconds=lease_seconds,
    )


def is_right(result: Result) -> bool:
    return result.ours.wrong == 0 and result.recount_is_clean and result.check_is_clean is not False


def summary(result: Result, given: Any, seconds: float) -> Table:
    title = f"{given.count:,} operations on {given.store}, seed {given.seed}, {seconds:.0f} s"
    table = Table("", "", title=title, title_justify="left", show_header=False)
    table.add_row("marks, unmarks", f"{result.marks:,}, {result.unmarks:,}")
    table.add_row("followers killed, frozen", f"{result.kills}, {result.freezes}")
    table.add_row("checkpoints lost, splits", f"{result.redeliveries}, {result.splits}")
    if result.takeovers:
        takeovers = sorted(result.takeovers)
        middle = takeovers[len(takeovers) // 2]
        table.add_row("takeovers", f"{len(takeovers)}: median {middle:.1f} s, longest {takeovers[-1]:.1f} s")
    table.add_row("wrong counts", errors(result.ours))
    table.add_row("wrong counts by ADD", errors(result.by_add))
    table.add_row("sortkey recount", "clean" if result.recount_is_clean else "DIFFERENCES")
    checked = {None: "no data folder", True: "clean", False: "PROBLEMS"}
    table.add_row("sortkey check", checked[result.check_is_clean])
    return table


def errors(found: Errors) -> str:
    share = 100 * found.off / max(1, found.total)
    return f"{found.wrong:,} of {found.counts:,}; sum of differences {found.off:,} ({share:.2f} %)"


if __name__ == "__main__":
    sys.exit(main())
