"""`sortkey load pricing FILE`: a file of prices into the tables.

    sortkey load pricing prices.parquet --store ./data

The file is checked as a whole before anything is written. A load that was interrupted is continued by the same command.
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
from sortkey_services.pricing.service import PricingService, read_settings


class PricesLoad:
    summary: Final = "Load a file of prices."
    when_interrupted: Final = "the same command continues where it was"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="prices in CSV, JSON lines or Parquet")
        parser.add_argument("--format", choices=list(FORMATS), help="by the file's suffix by default")
        parser.add_argument("--requested-by", metavar="NAME", help="who is named in the history of changes")
        parser.add_argument(
            "--abandon", action="store_true", help="give up an interrupted load of another file; what it wrote stays"
        )

    async def run(self, run: sk.services.JobRun) -> None:
        file: Path = run.arguments.file
        try:
            check_requester(run.arguments.requested_by)
            loaded = await _load(run)
        except (Mistake, UnusableFile) as error:
            raise sk.services.JobRejected(str(error)) from error
        except WrongRows as error:
            raise sk.services.JobRejected(_print_mistakes(file, error)) from error
        except OtherLoad as error:
            advice = "and then it was interrupted; load that file again, or add --abandon"
            raise sk.services.JobRejected(f"{error}, {advice}") from error
        except OSError as error:
            raise sk.services.JobRejected(f"{error.filename or file} cannot be read: {error.strerror}") from error
        except (sk.services.BadRequest, sk.services.Conflict, sk.LoadError, LoadFailed) as error:
            raise sk.services.JobFailed(f"{error}; the same command continues where it was") from error
        sys.stdout.write(f"{_summary(loaded)}\n")


async def _load(run: sk.services.JobRun) -> LoadedPrices:
    arguments = run.arguments
    _, others = sk.graphql.read_graphql_settings("pricing", run.settings)
    settings = read_settings(others)
    async with run.connect() as session:
        service = PricingService(session, settings)
        load = PriceLoad(
            *(session, service, run.store, arguments.file, arguments.format),
            currency=settings.currency,
            requested_by=arguments.requested_by,
        )
        await service.start()
        interrupted = await load.interrupted()
        with run.progress as progress:
            if interrupted is not None and arguments.abandon:
                await load.forget()
            elif interrupted is not None:
                progress.note(f"continues after {interrupted.done:,} of {interrupted.rows:,} rows")
            name = arguments.file.name
            return await load.run(progress.part(f"checking {name}"), progress.part(f"loading {name}", "rows"))


def _print_mistakes(file: Path, error: WrongRows) -> str:
    """A line for each mistake. Returns the last line, which counts them."""
    report = error.report
    for row, message in report.mistakes:
        sys.stderr.write(f"{file}, {error.row_name} {row}: {message}\n")
    left = report.wrong - len(report.mistakes)
    more = f"; {left:,} more are not shown" if left else ""
    rows = "1 row is wrong" if report.wrong == 1 else f"{report.wrong:,} rows are wrong"
    return f"{rows}{more}; nothing was written"


def _summary(loaded: LoadedPrices) -> str:
    rate = loaded.written / loaded.seconds if loaded.seconds else 0.0
    rows = "1 price" if loaded.written == 1 else f"{loaded.written:,} prices"
    return f"loaded {rows} in {loaded.seconds:.1f} s ({rate:,.0f} rows/s)"
