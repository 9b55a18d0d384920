"""`sortkey cost`: what a service costs a month on DynamoDB, by its own usual requests.

    sortkey cost favourites --per-day 1000000
    sortkey cost favourites --per-day 1000000 --items 50000000 --regions 2 --json

The service's definition names its usual requests and how often each is sent. The command sends them to the service in a
store in memory with its demonstration data, meters what they read and write, and multiplies it by list prices.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from rich.console import Console
from rich.table import Table as Grid

from sortkey.cli.arguments import Parser, add_config_argument, print_error
from sortkey.cli.progress import Bars
from sortkey.cli.services import add_service_argument, service_with, settings_of
from sortkey.model.costs.explain import AS_OF, REGION
from sortkey.model.costs.monthly_cost import DAYS, CostLine, Usage, monthly_cost
from sortkey.model.errors import ModelError
from sortkey.model.tables.provision import tables_of
from sortkey.server.usual_mix import CannotMeasure, UsualMix, measure
from sortkey.services.interface import BadSettings, ServiceDefinition

NOT_INCLUDED: Final = (
    "Lambda, containers and the API in front of them",
    "data that leaves a region, and logs",
    "reads of streams: free for Lambda; sortkey follow polls them",
    "batch jobs, loads and recounts",
    "tax, discounts, and what is free for small accounts",
)


def add_arguments(command: Parser) -> None:
    add_service_argument(command)
    command.add_argument("--per-day", metavar="N", type=_positive, required=True, help="requests a day, of all kinds")
    command.add_argument("--items", metavar="N", type=_positive, help="stored items (as many as the demonstration has)")
    command.add_argument("--regions", metavar="N", type=_positive, help="regions that have the tables (as declared)")
    command.add_argument(
        "--recovery",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="point-in-time recovery (on by default, as in sortkey template)",
    )
    add_config_argument(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on, such as 1000000")
    return number


def run(arguments: argparse.Namespace) -> int:
    try:
        definition = service_with(
            arguments.service,
            lambda each: each.usual_requests,
            "{name!r} has no estimate: its definition names no usual_requests; those that have one: {others}",
        )
        settings = settings_of(arguments.config, definition.name)
        with Bars("cost") as bars:
            progress = bars.part(f"loading the demonstration data of {definition.name}", "items")
            mix = asyncio.run(measure(definition, settings, progress))
        estimate = _estimate(arguments, definition, settings, mix)
    except (BadSettings, CannotMeasure) as error:
        return print_error("cost", str(error))
    except ModelError as error:
        return print_error("cost", str(error))
    if arguments.json:
        sys.stdout.write(orjson.dumps(estimate.as_json(), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        estimate.show(Console(soft_wrap=True, highlight=False))
    return 0


def _estimate(
    arguments: argparse.Namespace, definition: ServiceDefinition, settings: Mapping[str, Any], mix: UsualMix
) -> Estimate:
    tables = tables_of(definition.tables(settings))
    regions = arguments.regions or max([1, *(len(table.settings.replicas) for table in tables)])
    items = arguments.items or mix.stored.items
    grown = items / mix.stored.items if mix.stored.items else 0.0
    requests = arguments.per_day * DAYS
    used = Usage(
        read_units=requests * sum(each.share * each.units.read for each in mix.requests),
        write_units=requests * sum(each.share * each.units.write for each in mix.requests),
        later_read_units=requests * sum(each.share * each.later.read for each in mix.requests),
        later_write_units=requests * sum(each.share * each.later.write for each in mix.requests),
        schedules=requests * sum(each.share * each.schedules for each in mix.requests),
        stored_bytes=mix.stored.stored_bytes * grown,
        recoverable_bytes=mix.stored.recoverable_bytes * grown if arguments.recovery else 0.0,
    )
    provisioned = [table.name for table in tables if table.settings.provisioned is not None]
    lines = monthly_cost(used, regions)
    return Estimate(definition.name, arguments.per_day, regions, items, mix, lines, provisioned)


@dataclass(frozen=True)
class Estimate:
    service: str
    per_day: int
    regions: int
    items: int
    mix: UsualMix
    lines: list[CostLine]
    provisioned: list[str]
    """Tables that are not paid on demand."""

    @property
    def dollars(self) -> float:
        return sum(line.dollars for line in self.lines)

    @property
    def not_included(self) -> list[str]:
        declared = [f"that {', '.join(self.provisioned)} is declared as provisioned"] if self.provisioned else []
        return [*NOT_INCLUDED, *declared]

    def as_json(self) -> dict[str, Any]:
        requests = [
            {
                "name": each.name,
                "perDay": self.per_day * each.share,
                "readUnits": each.units.read,
                "writeUnits": each.units.write,
                "laterReadUnits": each.later.read,
                "laterWriteUnits": each.later.write,
                "schedules": each.schedules,
            }
            for each in self.mix.requests
        ]
        lines = [
            {"what": line.what, "quantity": line.quantity, "unit": line.unit, "dollars": line.dollars}
            for line in self.lines
        ]
        return {
            "service": self.service,
            "perDay": self.per_day,
            "days": DAYS,
            "items": self.items,
            "regions": self.regions,
            "prices": {"region": REGION, "since": AS_OF, "currency": "USD"},
            "requests": requests,
            "lines": lines,
            "dollarsPerMonth": self.dollars,
            "notIncluded": self.not_included,
        }

    def show(self, console: Console) -> None:
        kinds = Grid(title=f"{self.service}: {self.per_day:,} requests a day", title_justify="left")
        kinds.add_column("request")
        for heading in ("a day", "reads", "writes", "later reads", "later writes"):
            kinds.add_column(heading, justify="right")
        for each in self.mix.requests:
            units = (each.units.read, each.units.write, each.later.read, each.later.write)
            kinds.add_row(each.name, f"{self.per_day * each.share:,.0f}", *(f"{unit:,.2f}" for unit in units))
        console.print(kinds)
        bill = Grid(title=f"a month of {DAYS} days, {self.items:,} items, {_regions(self.regions)}", show_footer=True)
        bill.title_justify = "left"
        bill.add_column("what", footer="a month")
        bill.add_column("quantity", justify="right")
        bill.add_column("USD", justify="right", footer=f"{self.dollars:,.2f}")
        for line in self.lines:
            bill.add_row(line.what, f"{_number(line.quantity)} {line.unit}", f"{line.dollars:,.2f}")
        console.print(bill)
        console.print(f"On-demand list prices of {REGION}, since {AS_OF}; other regions cost up to twice as much.")
        console.print("Units are measured on the demonstration data. Later: by feeds and timers, one change at a time;")
        console.print("batches cost less. Not included:")
        for missing in self.not_included:
            console.print(f"  - {missing}")


def _regions(number: int) -> str:
    return "1 region" if number == 1 else f"{number} regions"


def _number(quantity: float) -> str:
    return f"{quantity:,.3f}" if quantity < 100 else f"{quantity:,.0f}"
