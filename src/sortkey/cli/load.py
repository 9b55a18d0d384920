"""`sortkey load`: a file into a service's tables.

    sortkey load pricing prices.parquet --store ./data

The file is checked as a whole before anything is written. A load that was interrupted is continued by the same command.
See docs/services/pricing.md.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import Parser, add_store_argument
from sortkey.cli.config_file import settings_of
from sortkey.cli.follow import shared_store
from sortkey.cli.load_progress import LoadProgress
from sortkey.cli.messages import print_error
from sortkey.extras import installed_by
from sortkey.model.errors import LoadError, ModelError
from sortkey.model.sessions.connect import async_connect
from sortkey.services.interface import BadRequest, BadSettings, Conflict
from sortkey.storage import StorageError
from sortkey_services.pricing.checks import Mistake, check_requester
from sortkey_services.pricing.load.load_processes import LoadFailed
from sortkey_services.pricing.load.price_files import FORMATS, UnusableFile
from sortkey_services.pricing.load.price_load import LoadedPrices, OtherLoad, PriceLoad, WrongRows
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.service import PricingService, read_settings

SERVICE: Final = "pricing"
"""The one service that can be loaded."""


def add_arguments(command: Parser) -> None:
    command.add_argument("service", metavar="SERVICE", choices=[SERVICE], help=SERVICE)
    command.add_argument("file", metavar="FILE", type=Path, help="prices in CSV, JSON lines or Parquet")
    command.add_argument("--format", choices=list(FORMATS), help="by the file's suffix by default")
    add_store_argument(command)
    command.add_argument("--config", metavar="FILE", type=Path, help="the services' settings, in TOML")
    command.add_argument("--requested-by", metavar="NAME", help="who is named in the history of changes")
    command.add_argument(
        "--abandon", action="store_true", help="give up an interrupted load of another file; what it wrote stays"
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        settings = settings_of(arguments.config, SERVICE)
        check_requester(arguments.requested_by)
        loaded = asyncio.run(_load(arguments, settings, shared_store(arguments.store)))
    except (BadSettings, Mistake, UnusableFile) as error:
        return print_error("load", str(error))
    except WrongRows as error:
        return _print_mistakes(arguments.file, error)
    except OtherLoad as error:
        return print_error("load", f"{error}, and then it was interrupted; load that file again, or add --abandon")
    except OSError as error:
        return print_error("load", f"{error.filename or arguments.file} cannot be read: {error.strerror}")
    except (BadRequest, Conflict, LoadError, LoadFailed) as error:
        print_error("load", f"{' '.join(str(error).split())}; the same command continues where it was")
        return 1
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error("load", f"the store {arguments.store} cannot be used: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        print_error("load", "interrupted; the same command continues where it was")
        return 1
    sys.stdout.write(f"{_summary(loaded)}\n")
    return 0


async def _load(arguments: argparse.Namespace, settings: Mapping[str, Any], store: str) -> LoadedPrices:
    pricing_settings = read_settings(settings)
    async with async_connect(store, tables=[PRICES, CHANGES]) as session:
        service = PricingService(session, pricing_settings)
        with installed_by("batch"):
            load = PriceLoad(
                *(session, service, store, arguments.file, arguments.format),
                currency=pricing_settings.currency,
                requested_by=arguments.requested_by,
            )
        await service.start()
        interrupted = await load.interrupted()
        with LoadProgress(arguments.file.name) as progress:
            if interrupted is not None and arguments.abandon:
                await load.forget()
            elif interrupted is not None:
                progress.note(f"continues after {interrupted.done:,} of {interrupted.rows:,} rows")
            return await load.run(progress.checked, progress.written)


def _print_mistakes(file: Path, error: WrongRows) -> int:
    report = error.report
    for row, message in report.mistakes:
        sys.stderr.write(f"{file}, {error.row_name} {row}: {message}\n")
    left = report.wrong - len(report.mistakes)
    more = f"; {left:,} more are not shown" if left else ""
    rows = "1 row is wrong" if report.wrong == 1 else f"{report.wrong:,} rows are wrong"
    return print_error("load", f"{rows}{more}; nothing was written")


def _summary(loaded: LoadedPrices) -> str:
    rate = loaded.written / loaded.seconds if loaded.seconds else 0.0
    rows = "1 price" if loaded.written == 1 else f"{loaded.written:,} prices"
    return f"loaded {rows} in {loaded.seconds:.1f} s ({rate:,.0f} rows/s)"
