"""`sortkey batch`: a service's batch job, which replaces all that the service serves at once.

    sortkey batch goals --gold DIR --rules sqlite:///rules.db --as-of 2026-05-16T00:00:00Z
    sortkey batch goals --demo                                       generated inputs, to see it work
    sortkey batch goals --rollback                                   serve the load before again

See docs/goals.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from sortkey.cli.arguments import Parser, add_store_argument, print_error
from sortkey.cli.batch_progress import BatchProgress
from sortkey.cli.batch_report import CannotReport, print_report, write_report
from sortkey.client.store_url import parse
from sortkey.extras import installed_by
from sortkey.model.errors import LoadError, ModelError
from sortkey.model.sessions.async_session import async_connect
from sortkey.patterns.generation.pointer import NoEarlierGeneration, Served, Superseded
from sortkey.storage import StorageError
from sortkey_services.goals.batch.batch_run import BatchFailed, BatchRejected, NotReconciled, parse_as_of, parse_month
from sortkey_services.goals.batch.engine import ENGINES
from sortkey_services.goals.model import TABLES, views

if TYPE_CHECKING:
    # Installed with `batch` only.
    from sortkey_services.goals.batch.job import BatchInputs, BatchResult

SERVICES: Final = ("goals",)
JOB: Final = "sortkey_services.goals.batch.job"
DEMO: Final = "sortkey_services.goals.demo_inputs"
_INPUTS: Final = ("gold", "rules", "as_of", "month")
_EXCLUDED: Final = {"rollback": ("demo", *_INPUTS, "master", "report"), "demo": _INPUTS}
"""Options that another one makes meaningless."""


def add_arguments(command: Parser) -> None:
    command.add_argument("service", metavar="SERVICE", help=", ".join(SERVICES))
    command.add_argument(
        "--gold", metavar="DIR", type=Path, help="a folder of Parquet: customers, goals, contributions"
    )
    command.add_argument("--rules", metavar="URL", help="the database with the rules: sqlite:///FILE or postgresql://…")
    command.add_argument(
        "--as-of", metavar="INSTANT", help="up to when gold is complete (that of its newest contribution)"
    )
    command.add_argument("--month", metavar="YYYY-MM", help="whose goals and contributions count (as-of's, in UTC)")
    add_store_argument(command)
    command.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="what runs the SQL (%(default)s)")
    command.add_argument("--master", metavar="URL", help="Spark's master (all processors of this machine)")
    command.add_argument(
        "--report", metavar="FILE", type=Path, help="also write what became of pending deposits, as JSON"
    )
    command.add_argument("--demo", action="store_true", help="generated gold and rules, complete up to now")
    command.add_argument("--rollback", action="store_true", help="serve the load before again, instead of loading")


def run(arguments: argparse.Namespace) -> int:
    try:
        store = _store(arguments)
        _check_together(arguments)
        if arguments.rollback:
            served = asyncio.run(_roll_back(store))
            _print_served("serves again", served, served.as_of)
        else:
            # A rollback does without these packages.
            with installed_by("batch"):
                job, demo = import_module(JOB), import_module(DEMO)
            inputs = None if arguments.demo else job.BatchInputs(**inputs_of(arguments))
            where = {"engine": arguments.engine, "master": arguments.master, "store": store}
            result = asyncio.run(_run(job.run_batch, demo.demo_inputs, store, inputs, where))
            print_result(result, arguments.service)
            if arguments.report is not None:
                write_report(result, arguments.report)
    except BatchRejected as error:
        return print_error("batch", str(error))
    except LoadError as error:
        # Its last words are about an argument of db.load.
        what = " ".join(str(error).partition(" (to continue:")[0].split())
        print_error("batch", f"{what}; the same command goes on there")
        return 1
    except (BatchFailed, NotReconciled, NoEarlierGeneration, Superseded) as error:
        print_error("batch", " ".join(str(error).split()))
        return 1
    except CannotReport as error:
        print_error("batch", f"the load is served, but --report {arguments.report} cannot be written: {error}")
        return 1
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error("batch", f"the store {arguments.store} cannot be used: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        print_error("batch", "interrupted; what is served has not changed. The same command goes on where it stopped")
        return 1
    return 0


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
    return {
        "gold": arguments.gold,
        "rules": arguments.rules,
        "as_of": None if arguments.as_of is None else parse_as_of(arguments.as_of),
        "month": None if arguments.month is None else parse_month(arguments.month),
    }


async def _run(
    run_batch: Callable[..., Awaitable[BatchResult]],
    demo_inputs: Callable[..., Awaitable[BatchInputs]],
    store: str,
    inputs: BatchInputs | None,
    where: Mapping[str, Any],
) -> BatchResult:
    """Without inputs, those of the demonstration. `where` says what runs the SQL, and how it finds the store."""
    async with async_connect(store, tables=TABLES) as session:
        with BatchProgress("goals", Console(stderr=True)) as progress, TemporaryDirectory() as folder:
            if inputs is None:
                await session.create_tables(*TABLES)
                inputs = await demo_inputs(session, Path(folder), datetime.now(UTC))
            return await run_batch(session, inputs._replace(**where), progress=progress)


async def _roll_back(store: str) -> Served:
    """Serves the generation before. Raises NoEarlierGeneration if none is kept."""
    async with async_connect(store, tables=TABLES) as session:
        await session.create_tables(*TABLES)
        return await views.roll_back(session)


def _store(arguments: argparse.Namespace) -> str:
    if arguments.service not in SERVICES:
        raise BatchRejected(
            f"there is no batch job of {arguments.service!r}; those that have one: {', '.join(SERVICES)}"
        )
    try:
        store = parse(arguments.store)
    except ValueError as error:
        raise BatchRejected(str(error)) from error
    if store.path is None and store.remote is None:
        raise BatchRejected(f"--store {arguments.store} would be gone with this command; use a folder or a URL")
    # Spark's processes may have another current folder.
    return arguments.store if store.path is None else _absolute(arguments.store, store.path)


def _absolute(url: str, path: Path) -> str:
    _, mark, options = url.partition("?")
    return f"file:{path.absolute()}{mark}{options}"


def print_result(result: BatchResult, service: str) -> None:
    if result.run.as_of > datetime.now(UTC):
        sys.stderr.write(
            f"sortkey batch: as-of {result.run.as_of.isoformat()} is in the future: deposits until then will not show\n"
        )
    resumed = f", {result.resumed_at:,} of them by an earlier attempt" if result.resumed_at else ""
    sys.stdout.write(f"{service}: {result.persons:,} persons{resumed}, month {result.run.month}\n")
    _print_served("serves", result.served, result.run.as_of)
    print_report(result)


def _print_served(what: str, served: Served, as_of: datetime) -> None:
    sys.stdout.write(f"{what} generation {served.id}: {served.rows:,} rows, as of {as_of.isoformat()}\n")
