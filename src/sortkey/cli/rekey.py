"""`sortkey rekey`: takes items to another key design while they are used. See docs/guides/rekeying.md.

sortkey rekey start boosts --config to-v2.toml       write the new rows; goes on if it was stopped
sortkey rekey status boosts --config to-v2.toml      where it is, what shadow reads have found, who follows
sortkey rekey switch boosts --config to-v2.toml      compare, then read the new design
sortkey rekey back boosts --config to-v2.toml        read the old design again
sortkey rekey finish boosts --config to-v2.toml      write the new design, and remove the old rows
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import (
    NoModule,
    Parser,
    add_config_argument,
    add_store_argument,
    import_user_module,
    print_error,
    rate,
)
from sortkey.cli.progress import Bars
from sortkey.cli.services import add_service_argument, existing_store, service_with, settings_of
from sortkey.feeds.follower import Follower
from sortkey.feeds.rekeying import rekey_feeds
from sortkey.feeds.shards.leases import NOBODY, ShardLease
from sortkey.model.errors import ModelError
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect
from sortkey.patterns.rekeying.declaration import Rekey
from sortkey.services.interface import BadSettings
from sortkey.storage import StorageError

NAME: Final = "rekey"
ACTIONS: Final = ("start", "status", "check", "switch", "back", "finish")
LOOKS: Final = 12
LOOK_SECONDS: Final = 0.5
"""Between two looks at the leases: together longer than a follower takes to renew them."""


class NotConfirmed(Exception):
    """The person at the terminal does not want it."""


class Chosen(NamedTuple):
    rekey: Rekey
    tables: Sequence[type[Item] | Table]
    settings: Mapping[str, Any]
    follow: str
    """How to follow the changes, in words."""


def add_arguments(command: Parser) -> None:
    command.add_argument("action", metavar="ACTION", choices=ACTIONS, help=", ".join(ACTIONS))
    add_service_argument(command)
    command.add_argument("--name", metavar="NAME", help="which re-keying, if the service has several")
    add_store_argument(command)
    add_config_argument(command)
    command.add_argument("--rate", metavar="UNITS", type=rate, help="read at most so many units a second")
    command.add_argument("--dry-run", action="store_true", help="finish: only compare, and count the old rows")
    command.add_argument("--yes", action="store_true", help="finish: do not ask")


def run(arguments: argparse.Namespace) -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    try:
        chosen = _chosen(arguments)
        store = existing_store(arguments.store, "has no items: no other process can write to it")
        if arguments.action == "finish" and not (arguments.dry_run or arguments.yes or sys.stdin.isatty()):
            raise BadSettings("finish needs a person at a terminal who confirms it, --yes, or --dry-run")
        return asyncio.run(_run(arguments, chosen, store))
    except BadSettings as error:
        return print_error(NAME, str(error))
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        print_error(NAME, " ".join(str(error).split()))
        return 1
    except NotConfirmed:
        return print_error(NAME, "nothing was changed")
    except KeyboardInterrupt:
        print_error(NAME, "interrupted; the same command goes on")
        return 1


def _chosen(arguments: argparse.Namespace) -> Chosen:
    place: str = arguments.service
    found = _declared(place)
    if found is not None:
        return Chosen(found, found.tables, {}, "run its feeds in your program (sk.feeds.rekey_feeds)")
    definition = service_with(
        place, lambda each: each.rekeys is not None, "the service {name} has no re-keyings; those that have: {others}"
    )
    settings = settings_of(arguments.config, definition.name)
    assert definition.rekeys is not None
    rekeys = {each.name: each for each in definition.rekeys(settings)}
    if not rekeys:
        raise BadSettings(f"the service {definition.name} has no re-keying with these settings; see its page")
    if arguments.name is None and len(rekeys) > 1:
        names = ", ".join(rekeys)
        raise BadSettings(f"the service {definition.name} has several re-keyings; choose one by --name: {names}")
    name = arguments.name or next(iter(rekeys))
    if name not in rekeys:
        raise BadSettings(f"the service {definition.name} has no re-keying {name!r}; it has {', '.join(rekeys)}")
    return Chosen(rekeys[name], definition.tables(settings), settings, f"run sortkey serve or follow {place}")


def _declared(place: str) -> Rekey | None:
    """A re-keying of a module; None if the place is another."""
    module_name, mark, name = place.partition(":")
    if not mark:
        return None
    try:
        found = getattr(import_user_module(module_name), name, None)
    except NoModule as error:
        raise BadSettings(str(error)) from None
    return found if isinstance(found, Rekey) else None


async def _run(arguments: argparse.Namespace, chosen: Chosen, store: str) -> int:
    async with async_connect(store, tables=[*chosen.tables, *chosen.rekey.tables]) as session:
        work = Work(session, chosen, arguments)
        actions: dict[str, Callable[[], Awaitable[int]]] = {
            "start": work.start,
            "status": work.status,
            "check": work.check,
            "switch": work.switch,
            "back": work.back,
            "finish": work.finish,
        }
        return await actions[arguments.action]()


class Work:
    def __init__(self, session: AsyncSession, chosen: Chosen, arguments: argparse.Namespace) -> None:
        self._session = session
        self._rekey = chosen.rekey
        self._follow = chosen.follow
        self._rate: float | None = arguments.rate
        self._only_counts: bool = arguments.dry_run
        self._asks: bool = not arguments.yes
        self._feeds = rekey_feeds(chosen.rekey, session)

    async def start(self) -> int:
        await self._rekey.create_tables(self._session)
        async with AsyncExitStack() as stack:
            follower = await stack.enter_async_context(Follower(self._session, self._feeds))
            bars = stack.enter_context(Bars(NAME))
            await self._rekey.start(self._session, rate=self._rate, progress=bars.part("writing the new rows", "items"))
            await follower.caught_up()
        return await self.status()

    async def status(self) -> int:
        status = await self._rekey.status(self._session)
        _print(str(status))
        if status.flag is not None and status.flag.phase != "FINISHED":
            _print(f"  followers     {await self._followers()}")
        return 0

    async def check(self) -> int:
        with Bars(NAME) as bars:
            found = await self._rekey.check(
                self._session, rate=self._rate, progress=bars.part("comparing both designs", "items")
            )
        _print(str(found))
        return 1 if found.different else 0

    async def switch(self) -> int:
        # Else it would wait for feeds of tables that nobody has made.
        status = await self._rekey.status(self._session)
        if status.flag is None:
            raise BadSettings(f"{status} in this store; sortkey rekey start begins it")
        followed = await self._followers()
        async with AsyncExitStack() as stack:
            follower = await stack.enter_async_context(Follower(self._session, self._feeds))
            bars = stack.enter_context(Bars(NAME))
            await follower.caught_up()
            found = await self._rekey.switch(
                self._session, rate=self._rate, progress=bars.part("comparing both designs", "items")
            )
        _print(str(found))
        if found.different:
            _print("programs still read the old design")
            return 1
        _print("programs read the new design within a second, and go on writing the old one")
        if followed == _NOBODY:
            print_error(NAME, f"nobody follows the changes, so the new rows get old: {self._follow}")
        return 0

    async def back(self) -> int:
        await self._rekey.back(self._session)
        _print("programs read the old design within a second")
        return 0

    async def finish(self) -> int:
        count = await self._rekey.remove_old(self._session)
        if self._only_counts:
            result = await self.check()
            _print(f"would remove {count}")
            return result
        if self._asks:
            self._confirm(f"Write the new design for ever, and remove {count}?")
        async with AsyncExitStack() as stack:
            follower = await stack.enter_async_context(Follower(self._session, self._feeds))
            bars = stack.enter_context(Bars(NAME))
            await follower.caught_up()
            found = await self._rekey.finish(
                self._session,
                caught_up=follower.caught_up,
                rate=self._rate,
                progress=bars.part("comparing both designs", "items"),
            )
        if found.different:
            _print(f"{found}\nprograms still write the old design")
            return 1
        _print("programs write the new design")
        removed = await self._rekey.remove_old(self._session, dry_run=False)
        _print(f"removed {removed}")
        return 1 if removed.kept else 0

    def _confirm(self, question: str) -> None:
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise NotConfirmed

    async def _followers(self) -> str:
        """How many processes renew their leases."""
        before = await self._renewals()
        seen: set[str] = set()
        for _ in range(LOOKS if before else 0):
            await asyncio.sleep(LOOK_SECONDS)
            seen |= {owner for owner, counter in await self._renewals() if (owner, counter) not in before}
            if seen >= {owner for owner, _ in before}:
                break
        return f"{len(seen)} processes" if len(seen) > 1 else ("one process" if seen else _NOBODY)

    async def _renewals(self) -> set[tuple[str, int]]:
        tables = await self._session.diff_tables(ShardLease)
        if tables:
            return set()
        return {
            (lease.owner, lease.counter)
            for feed in self._feeds
            async for lease in self._session.iterate(ShardLease.key(feed=feed.name), consistent=True)
            if lease.owner != NOBODY
        }


_NOBODY: Final = "nobody"


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
