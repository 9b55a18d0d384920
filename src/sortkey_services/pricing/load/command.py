"""`sortkey load pricing FILE…`: files of prices, or folders of them, into the tables, one after the other.

    sortkey load pricing prices.parquet --store ./data
    sortkey load pricing s3://bucket/prices/ --store ./data

A file is checked as a whole before anything of it is written; one that is wrong ends the command. A load that was
interrupted is continued by the same command, with the files that are left.
See docs/services/pricing.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

import sortkey as sk
from sortkey_services.pricing.checks import Mistake, check_requester
from sortkey_services.pricing.load.load_processes import LoadFailed
from sortkey_services.pricing.load.price_files import FORMATS, UnusableFile
from sortkey_services.pricing.load.price_load import LoadedPrices, OtherLoad, PriceLoad, WrongRows
from sortkey_services.pricing.load.price_source import opened, source_of
from sortkey_services.pricing.service import PricingService, Settings, read_settings


class PricesLoad:
    summary: Final = "Load files of prices, or folders of them, one after the other."
    when_interrupted: Final = "the same command continues where it was; of several files, give those that are left"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "files",
            metavar="FILE",
            nargs="+",
            help="prices in CSV, JSON lines or Parquet: a file, a folder, or s3://BUCKET/KEY",
        )
        parser.add_argument("--format", choices=list(FORMATS), help="by the file's suffix by default")
        parser.add_argument("--requested-by", metavar="NAME", help="who is named in the history of changes")
        parser.add_argument(
            "--abandon", action="store_true", help="give up an interrupted load of another file; what it wrote stays"
        )

    async def run(self, run: sk.services.JobRun) -> None:
        files: list[str] = run.arguments.files
        loaded: list[LoadedPrices] = []
        try:
            await _load_all(run, files, loaded)
        finally:
            for file, each in zip(files, loaded, strict=False):
                sys.stdout.write(f"{f'{file}: ' if len(files) > 1 else ''}{_summary(each)}\n")


async def _load_all(run: sk.services.JobRun, files: list[str], loaded: list[LoadedPrices]) -> None:
    """Each file that is loaded is added to `loaded`."""
    try:
        check_requester(run.arguments.requested_by)
    except Mistake as error:
        raise sk.services.JobRejected(str(error)) from error
    _, others = sk.graphql.read_graphql_settings("pricing", run.settings)
    settings = read_settings(others)
    async with run.connect() as session:
        with run.progress as progress:
            for file in files:
                each = await _loaded(run, file, session, settings, progress)
                loaded.append(each)


async def _loaded(
    run: sk.services.JobRun,
    file: str,
    session: sk.AsyncSession,
    settings: Settings,
    progress: sk.services.JobProgress,
) -> LoadedPrices:
    try:
        return await _load(run, file, session, settings, progress)
    except UnusableFile as error:
        raise sk.services.JobRejected(str(error)) from error
    except WrongRows as error:
        raise sk.services.JobRejected(_print_mistakes(file, error)) from error
    except OtherLoad as error:
        advice = "and then it was interrupted; load that file again, or add --abandon"
        raise sk.services.JobRejected(f"{error}, {advice}") from error
    except OSError as error:
        raise sk.services.JobRejected(f"{error.filename or file} cannot be read: {error.strerror}") from error
    except (sk.services.BadRequest, sk.services.Conflict, sk.LoadError, LoadFailed) as error:
        raise sk.services.JobFailed(f"{file}: {error}; the same command continues where it was") from error


async def _load(
    run: sk.services.JobRun,
    file: str,
    session: sk.AsyncSession,
    settings: Settings,
    progress: sk.services.JobProgress,
) -> LoadedPrices:
    arguments, source = run.arguments, source_of(file)
    service = PricingService(session, settings)
    name = source.name if isinstance(source, Path) else str(source)
    async with opened(source, arguments.format, progress.part(f"copying {name}", "bytes")) as found:
        load = PriceLoad(
            *(session, service, run.store, found.path, arguments.format),
            currency=settings.currency,
            time_zone=settings.time_zone,
            requested_by=arguments.requested_by,
            identify=found.identify,
        )
        await service.start()
        interrupted = await load.interrupted()
        if interrupted is not None and arguments.abandon:
            await load.forget()
        elif interrupted is not None:
            progress.note(f"continues after {interrupted.done:,} of {interrupted.rows:,} rows")
        return await load.run(progress.part(f"checking {name}"), progress.part(f"loading {name}", "rows"))


def _print_mistakes(file: str, error: WrongRows) -> str:
    """A line for each mistake. Returns the last line, which counts them."""
    report = error.report
    for row, message in report.mistakes:
        place = error.place(row)
        # A place in a folder begins with its file.
        sys.stderr.write(f"{place if ', ' in place else f'{file}, {place}'}: {message}\n")
    left = report.wrong - len(report.mistakes)
    more = f"; {left:,} more are not shown" if left else ""
    rows = "1 row is wrong" if report.wrong == 1 else f"{report.wrong:,} rows are wrong"
    return f"{rows}{more}; nothing was written"


def _summary(loaded: LoadedPrices) -> str:
    rows = loaded.written + loaded.unchanged
    rate = rows / loaded.seconds if loaded.seconds else 0.0
    prices = "1 price" if loaded.written == 1 else f"{loaded.written:,} prices"
    unchanged = f"; {loaded.unchanged:,} of {loaded.rows:,} rows were unchanged" if loaded.unchanged else ""
    return f"loaded {prices} in {loaded.seconds:.1f} s ({rate:,.0f} rows/s){unchanged}"
