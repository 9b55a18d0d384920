"""`sortkey recount`: a service's aggregates, counted anew from its tables.

    sortkey recount SERVICE --store dynamodb://eu-west-1                what differs
    sortkey recount SERVICE --store ./data --repair                     correct it

It reads whole tables and a day of their streams, beside live writers and followers. See docs/guides/aggregates.md.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import Parser, add_config_argument, add_store_argument, print_error
from sortkey.cli.audit import ProgressBar
from sortkey.cli.follow import service_with_feeds
from sortkey.cli.services import add_service_argument, existing_store, settings_of
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.resend.store_letters import aggregator_of
from sortkey.feeds.shards.leases import handled_by
from sortkey.feeds.timers.timers import Timers
from sortkey.model.errors import DecodeError, EncodeError, KeyPartError, ModelError
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect
from sortkey.patterns.aggregates.aggregator import Aggregator
from sortkey.patterns.aggregates.recount_repair import RecountReport
from sortkey.services.interface import BadSettings, ServiceDefinition
from sortkey.storage import StorageError


class Recounted(NamedTuple):
    feed: str
    report: RecountReport


def add_arguments(command: Parser) -> None:
    add_service_argument(command)
    add_store_argument(command)
    add_config_argument(command)
    command.add_argument("--repair", action="store_true", help="correct what is wrong")
    command.add_argument("--json", action="store_true", help="print the reports as JSON")


def run(arguments: argparse.Namespace) -> int:
    try:
        definition = service_with_feeds(arguments.service)
        settings = settings_of(arguments.config, definition.name)
        store = existing_store(arguments.store, "has no items: no other process can write to it")
        found = asyncio.run(_recount(definition, settings, store, arguments.repair))
    except BadSettings as error:
        return print_error("recount", str(error))
    except (DecodeError, EncodeError, KeyPartError) as error:
        return print_error("recount", f"an item cannot be counted: {error}")
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error("recount", f"the store {arguments.store} cannot be used: {error}")
    except KeyboardInterrupt:
        return print_error("recount", "interrupted; what was repaired until then stays repaired")
    sys.stdout.write((json_page if arguments.json else page)(found))
    return 0 if all(each.report.is_clean for each in found) else 1


async def _recount(
    definition: ServiceDefinition, settings: Mapping[str, Any], store: str, repair: bool
) -> list[Recounted]:
    async with async_connect(store, tables=definition.tables(settings)) as session:
        feeds = definition.service(session, settings).feeds
        aggregators = [(feed, owner) for feed in _change_feeds(feeds) if (owner := aggregator_of(feed)) is not None]
        if not aggregators:
            raise BadSettings(f"the service {definition.name} has no feed of an aggregate")
        return [await _recounted(session, feed, aggregator, repair) for feed, aggregator in aggregators]


def _change_feeds(feeds: Sequence[ChangeFeed[Any] | Timers[Any]]) -> list[ChangeFeed[Any]]:
    return [feed for feed in feeds if isinstance(feed, ChangeFeed)]


async def _recounted(session: AsyncSession, feed: ChangeFeed[Any], aggregator: Aggregator, repair: bool) -> Recounted:
    # Before the items are read: what they have counted is at least this.
    handled = await handled_by(session, feed.name)
    estimate = await session.explain_scan(feed.table)
    with ProgressBar(feed.name, estimate.rows) as bar:
        report = await aggregator.recount(repair=repair, handled=handled, progress=bar.show)
    return Recounted(feed.name, report)


def json_page(found: Sequence[Recounted]) -> str:
    made = [{"feed": feed, "clean": report.is_clean, **_plain(report)} for feed, report in found]
    return msgspec.json.format(msgspec.json.encode(made, enc_hook=str)).decode() + "\n"


def _plain(report: RecountReport) -> dict[str, Any]:
    return {**asdict(report), "examples": [each._asdict() for each in report.examples]}


def page(found: Sequence[Recounted]) -> str:
    lines = []
    for feed, report in found:
        lines.append(f"{feed}: {report}")
        for group, field, was, should in report.examples:
            shown = " ".join(f"{name}={value!r}" for name, value in group.items())
            lines.append(f"    {shown}: {field} was {was}, should be {should}")
    return "\n".join(lines) + "\n"
