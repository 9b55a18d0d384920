"""What `sortkey batch` and `sortkey load` share: a job of a service, with the service's own arguments.

    sortkey batch SERVICE --help        the arguments of that service's job

The service is found first; then its job adds its arguments to a parser of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import Parser, add_config_argument, add_store_argument, print_error
from sortkey.cli.progress import Bars
from sortkey.cli.services import add_service_argument, service_with, settings_of, shared_store
from sortkey.client.stores import parse
from sortkey.extras import installed_by
from sortkey.model.errors import LoadError, ModelError
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect
from sortkey.services.interface import BadSettings, Job, JobFailed, JobRejected, JobRun, ServiceDefinition
from sortkey.storage import StorageError

JobOf = Callable[[ServiceDefinition], Job | None]


def add_arguments(command: Parser) -> None:
    """Everything after the service belongs to its job."""
    add_service_argument(command, nargs=argparse.PARSER)


def run(command: str, noun: str, job_of: JobOf, given: argparse.Namespace) -> int:
    """Run a service's job. `noun` is what the command calls it."""
    service, *rest = given.service
    try:
        definition = service_with(service, job_of, f"there is no {noun} of {{name!r}}; those that have one: {{others}}")
        job = job_of(definition)
        assert job is not None
        arguments = parser_of(command, service, job).parse_args(rest)
        settings = settings_of(arguments.config, definition.name)
        store = shared_store(arguments.store, "would be gone with this command")
        connect = partial(_connect, store, definition.tables(settings))
    except BadSettings as error:
        return print_error(command, str(error))
    job_run = JobRun(arguments, settings, store, connect, Bars(command))
    try:
        with installed_by("batch"):
            asyncio.run(_run(job, job_run))
    except (BadSettings, JobRejected) as error:
        return print_error(command, str(error))
    except (JobFailed, LoadError) as error:
        print_error(command, str(error))
        return 1
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error(command, f"the store {arguments.store} cannot be used: {error}")
    except (KeyboardInterrupt, asyncio.CancelledError):
        print_error(command, f"interrupted; {job.when_interrupted}")
        return 1
    return 0


async def _run(job: Job, job_run: JobRun) -> None:
    """SIGTERM cancels the job, as an interrupt from the keyboard does, so that it removes its temporary files. The
    second one ends the process, whatever it does."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        task.cancel()
        loop.call_soon_threadsafe(lambda: None)

    before = signal.signal(signal.SIGTERM, cancel)
    try:
        await job.run(job_run)
    finally:
        signal.signal(signal.SIGTERM, before)


def _connect(store: str, tables: Sequence[type[Item] | Table]) -> AbstractAsyncContextManager[AsyncSession]:
    """Raises JobRejected for a folder without a store, which would be created."""
    try:
        parse(store).require_existing()
    except ValueError as error:
        raise JobRejected(str(error)) from error
    return async_connect(store, tables=tables)


def parser_of(command: str, service: str, job: Job) -> Parser:
    parser = Parser(prog=f"sortkey {command} {service}", description=job.summary)
    job.add_arguments(parser)
    add_store_argument(parser)
    add_config_argument(parser)
    return parser
