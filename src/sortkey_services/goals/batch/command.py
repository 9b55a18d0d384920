"""`sortkey batch goals`: loads gold and rules, and tells what became of the pending deposits.

    sortkey batch goals --gold DIR --rules sqlite:///rules.db --as-of 2026-05-16T00:00:00Z
    sortkey batch goals --demo                                       generated inputs, to see it work
    sortkey batch goals --rollback                                   serve the load before again

See docs/services/goals.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

import sortkey as sk
from sortkey.object_storage import ObjectError, parse_source
from sortkey_services.goals.batch.batch_run import BatchRejected, parse_as_of, parse_month
from sortkey_services.goals.batch.engine import ENGINES
from sortkey_services.goals.model import OUTCOMES, TABLES, views
from sortkey_services.goals.service import read_settings

if TYPE_CHECKING:
    # Installed with `batch` only.
    from sortkey_services.goals.batch.job import BatchResult
    from sortkey_services.goals.batch.reconciliation import Example

JOB: Final = "sortkey_services.goals.batch.job"
DEMO: Final = "sortkey_services.goals.batch.demo_gold"
_INPUTS: Final = ("gold", "rules", "as_of", "month")
_EXCLUDED: Final = {"rollback": ("demo", *_INPUTS, "master", "report"), "demo": _INPUTS}
"""Options that another one makes meaningless."""
MEANINGS: Final = {
    "confirmed": "was pending, and came with the same amount",
    "other_amount": "was pending, and came with another amount",
    "never_came": "was pending, and did not come",
    "without_event": "came, and no event had announced it",
    "rejected": "was taken back by an event",
    "still_pending": "is newer than the batch",
    "unreadable": "has a row of another program that cannot be read",
}
FILE_WIDTH: Final = 120
"""Of a table that goes into a file or a pipe, which have no width."""


class GoalsBatch:
    summary: Final = "Replace what every person's goals show by what gold and the rules say, all at once."
    when_interrupted: Final = "what is served has not changed. The same command goes on where it stopped"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--gold",
            metavar="DIR",
            help="a folder of Parquet: customers, goals, contributions; or s3://BUCKET/PREFIX",
        )
        parser.add_argument(
            "--rules", metavar="URL", help="the database with the rules: sqlite:///FILE or postgresql://…"
        )
        parser.add_argument(
            "--as-of", metavar="INSTANT", help="up to when gold is complete (that of its newest contribution)"
        )
        parser.add_argument("--month", metavar="YYYY-MM", help="whose goals and contributions count (as-of's)")
        parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="what runs the SQL (%(default)s)")
        parser.add_argument("--master", metavar="URL", help="Spark's master (all processors of this machine)")
        parser.add_argument(
            "--report", metavar="FILE", type=Path, help="also write what became of pending deposits, as JSON"
        )
        parser.add_argument("--demo", action="store_true", help="generated gold and rules, complete up to now")
        parser.add_argument("--rollback", action="store_true", help="serve the load before again, instead of loading")

    async def run(self, run: sk.services.JobRun) -> None:
        _check_together(run.arguments)
        if run.arguments.rollback:
            await _roll_back(run)
        else:
            await _load(run)


async def _roll_back(run: sk.services.JobRun) -> None:
    """Serves the generation before, with nothing but the store."""
    async with run.connect() as session:
        await session.create_tables(*TABLES)
        try:
            served = await views.roll_back(session)
        except (sk.patterns.NoEarlierGeneration, sk.patterns.Superseded) as error:
            raise sk.services.JobFailed(str(error)) from error
    _print_served("serves again", served, served.as_of)


async def _load(run: sk.services.JobRun) -> None:
    arguments = run.arguments
    # Both need the extra `batch`.
    job, demo = import_module(JOB), import_module(DEMO)
    timezone = read_settings(run.settings).timezone
    inputs = None if arguments.demo else job.BatchInputs(**inputs_of(arguments), timezone=timezone)
    where = {"engine": arguments.engine, "master": arguments.master, "store": run.store}
    async with run.connect() as session:
        with run.progress as progress, TemporaryDirectory() as folder:
            if inputs is None:
                await session.create_tables(*TABLES)
                inputs = await demo.demo_inputs(session, Path(folder), datetime.now(UTC), timezone=timezone)
            progress.part("checking gold and rules")(0, 0)
            show, copying = progress.part("writing goals", "rows"), progress.part("copying gold", "bytes")
            try:
                result = await job.run_batch(session, inputs._replace(**where), progress=show, copying=copying)
            except sk.LoadError as error:
                # Its last words are about an argument of db.load.
                what = str(error).partition(" (to continue:")[0]
                raise sk.services.JobFailed(f"{what}; the same command goes on there") from error
            except sk.patterns.Superseded as error:
                raise sk.services.JobFailed(str(error)) from error
    print_result(result)
    if arguments.report is not None:
        write_report(result, arguments.report)


def _check_together(arguments: argparse.Namespace) -> None:
    """Options that would be ignored are mistakes."""
    for mode, excluded in _EXCLUDED.items():
        for other in excluded if getattr(arguments, mode) else ():
            if getattr(arguments, other):
                raise BatchRejected(f"--{mode} takes no --{other.replace('_', '-')}")
    report: Path | None = arguments.report
    if report is None:
        return
    if report.is_dir():
        raise BatchRejected(f"--report {report} is a folder; name a file")
    if not report.parent.is_dir():
        raise BatchRejected(f"--report {report}: there is no folder {report.parent}")
    if not os.access(report if report.exists() else report.parent, os.W_OK):
        raise BatchRejected(f"--report {report} cannot be written")


def inputs_of(arguments: argparse.Namespace) -> dict[str, Any]:
    for name in ("gold", "rules"):
        if getattr(arguments, name) is None:
            raise BatchRejected(f"--{name} is missing; a load needs --gold DIR and --rules URL")
    try:
        gold = parse_source(arguments.gold)
    except ObjectError as error:
        raise BatchRejected(f"--gold {error}") from None
    return {
        "gold": gold,
        "rules": arguments.rules,
        "as_of": None if arguments.as_of is None else parse_as_of(arguments.as_of),
        "month": None if arguments.month is None else parse_month(arguments.month),
    }


def print_result(result: BatchResult) -> None:
    if result.run.as_of > datetime.now(UTC):
        sys.stderr.write(
            f"sortkey batch: as-of {result.run.as_of.isoformat()} is in the future: deposits until then will not show\n"
        )
    resumed = f", {result.resumed_at:,} of them by an earlier attempt" if result.resumed_at else ""
    sys.stdout.write(f"goals: {result.persons:,} persons{resumed}, month {result.run.month}\n")
    _print_served("serves", result.served, result.run.as_of)
    sys.stdout.write(f"goals that were reached: {result.reached:,} more\n")
    _print_report(result)


def _print_served(what: str, served: sk.patterns.Served, as_of: datetime) -> None:
    sys.stdout.write(f"{what} generation {served.id}: {served.rows:,} rows, as of {as_of.isoformat()}\n")


def _print_report(result: BatchResult) -> None:
    counts = result.reconciled.counts
    since = "the first batch" if counts.since is None else f"since {counts.since.isoformat()}"
    table = Table("deposit", "goals", "", title=f"Reconciliation, {since}", title_justify="left")
    table.columns[1].justify = "right"
    for name in OUTCOMES:
        table.add_row(name.replace("_", " "), f"{getattr(counts, name):,}", MEANINGS[name])
    console = Console()
    console = console if console.is_terminal else Console(width=FILE_WIDTH)
    console.print(table)
    for example in result.reconciled.examples:
        console.print(_line(example), markup=False, highlight=False, soft_wrap=True)


def _line(example: Example) -> str:
    pending, saved = _amount(example.pending_cents), _amount(example.saved_cents)
    return (
        f"{example.outcome.replace('_', ' ')}: {example.person} {example.goal}: pending {pending}, in the batch {saved}"
    )


def _amount(cents: int | None) -> str:
    return "none" if cents is None else f"{cents / 100:,.2f}"


def write_report(result: BatchResult, file: Path) -> None:
    """The report for programs. The load is served already, so a file that cannot be written is a failure after it."""
    try:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(_report(result))) + b"\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise sk.services.JobFailed(f"the load is served, but --report {file} cannot be written: {reason}") from error


def _report(result: BatchResult) -> dict[str, Any]:
    counts = result.reconciled.counts
    return {
        "generation": result.served.id,
        "month": result.run.month,
        "asOf": result.run.as_of.isoformat(),
        "since": None if counts.since is None else counts.since.isoformat(),
        "lastUpdated": counts.at.isoformat(),
        "persons": result.persons,
        "reached": result.reached,
        "reconciliation": {name: getattr(counts, name) for name in OUTCOMES},
        "examples": [
            {
                "outcome": each.outcome,
                "personId": each.person,
                "goalId": each.goal,
                "pendingCents": each.pending_cents,
                "savedCents": each.saved_cents,
            }
            for each in result.reconciled.examples
        ],
    }
