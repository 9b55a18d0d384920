"""`sortkey dead-letters`: what a service's feeds, timers and worker gave up: listed, shown, sent again or dropped.

    sortkey dead-letters SERVICE --store dynamodb://eu-west-1               list those of change feeds and timers
    sortkey dead-letters SERVICE --retry --reason KeyPartError --dry-run    what would be sent again
    sortkey dead-letters SERVICE --kafka HOST:9092 --topic T --drop --yes   drop those of the worker's topic

`feeds/resend/` says what sending again means.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import Parser, add_config_argument, add_store_argument, print_error
from sortkey.cli.progress import Bars
from sortkey.cli.services import add_service_argument, existing_store, service_named, settings_of
from sortkey.extras import installed_by
from sortkey.feeds.resend.letters import Action, Dealt, Outcome, Stopped, UnknownLetters, Wanted
from sortkey.feeds.resend.store_letters import StoreLetters
from sortkey.model.errors import ModelError
from sortkey.model.sessions.connect import async_connect
from sortkey.services.interface import BadSettings, ServiceDefinition
from sortkey.storage import StorageError

NAME: Final = "dead-letters"
KAFKA_SECONDS: Final = 10.0
"""For an answer of the broker."""
_SHOWN: Final = 160
"""Characters of a reason in a list."""
_AGE: Final = re.compile(r"(\d+)([smhd])", re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DOING: Final = {Action.RETRY: "send again", Action.DROP: "drop"}
_DONE: Final = {Outcome.SENT: "sent again", Outcome.DROPPED: "dropped"}


class NotConfirmed(Exception):
    """The person at the terminal does not want it."""


class Deal:
    """What the command does with letters, and prints of them: lists on standard output, the rest on standard error."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.wanted = Wanted(
            arguments.feeds, arguments.ids, arguments.reason, arguments.since, arguments.until, arguments.limit
        )
        self.action: Action | None = None if arguments.dry_run else arguments.action
        self._asked_for: Action | None = arguments.action
        self.asks = self.action is not None and not arguments.yes
        """Whether a person is to be asked first."""
        self._json: bool = arguments.json
        self.progress = Bars(NAME)
        self._bar = self.progress.part(f"{arguments.action}", "letters") if self.action and not self._json else None
        self._total = 0
        self._outcomes: Counter[Outcome] = Counter()
        self._sources: Counter[str] = Counter()

    @property
    def has_begun(self) -> bool:
        return self._outcomes.total() > 0

    def ask(self, number: int) -> None:
        """Raises NotConfirmed."""
        assert self.action is not None
        self._total = number
        if number:
            sys.stderr.write(f"{_DOING[self.action].capitalize()} {letters(number)}? [y/N] ")
            sys.stderr.flush()
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise NotConfirmed

    def show(self, dealt: Dealt) -> None:
        self._outcomes[dealt.outcome] += 1
        self._sources[dealt.letter.source] += 1
        if self._json:
            sys.stdout.write(json_line(dealt))
        elif dealt.outcome is Outcome.LISTED:
            sys.stdout.write(page(dealt) if self.wanted.ids and self._asked_for is None else f"{line(dealt)}\n")
        elif dealt.outcome is Outcome.FAILED:
            self.progress.note(f"{dealt.letter.id} failed: {one_line(dealt.reason)}")
        if self._bar is not None:
            self._bar(self._outcomes.total(), self._total)

    def summarise(self) -> int:
        """Prints the numbers. Returns the exit code: 1 if a letter failed, or one that was named is not there."""
        missing = len({*self.wanted.ids}) - self._outcomes.total() if self.wanted.ids else 0
        parts = [f"{_DONE[each]} {letters(self._outcomes[each])}" for each in _DONE if self._outcomes[each]]
        if self._outcomes[Outcome.FAILED]:
            parts.append(f"{letters(self._outcomes[Outcome.FAILED])} failed and stay")
        if self._outcomes[Outcome.GONE]:
            parts.append(f"{letters(self._outcomes[Outcome.GONE])} were gone already")
        if self.action is None:
            by = ", ".join(f"{source} {number}" for source, number in self._sources.items())
            would = "" if self._asked_for is None else f"would {_DOING[self._asked_for]} "
            parts.append(f"{would}{letters(self._outcomes[Outcome.LISTED])}{f': {by}' if by else ''}")
        elif not parts:
            parts.append("there are no such dead letters")
        if missing:
            parts.append(f"{missing} of the ids are not there")
        # Scripts read the lines of JSON.
        (sys.stderr if self._json else sys.stdout).write("; ".join(parts) + "\n")
        return 1 if self._outcomes[Outcome.FAILED] or missing else 0


def letters(number: int) -> str:
    return f"{number:,} dead letter{'s' if number != 1 else ''}"


def line(dealt: Dealt) -> str:
    letter = dealt.letter
    return f"{letter.id}  {letter.at:%Y-%m-%dT%H:%M:%SZ}  {one_line(letter.reason)}"


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def page(dealt: Dealt) -> str:
    """All of a letter, for people."""
    found = {"id": dealt.letter.id, "at": dealt.letter.at, "reason": dealt.letter.reason, **dealt.letter.content}
    return msgspec.json.format(msgspec.json.encode(found)).decode() + "\n"


def json_line(dealt: Dealt) -> str:
    letter, outcome, reason = dealt
    found = {"id": letter.id, "at": letter.at, "reason": letter.reason, **letter.content, "outcome": outcome}
    if reason:
        found["error"] = reason
    return msgspec.json.encode(found).decode() + "\n"


def add_arguments(command: Parser) -> None:
    add_service_argument(command)
    action = command.add_mutually_exclusive_group()
    action.add_argument("--retry", dest="action", action="store_const", const=Action.RETRY, help="send them again")
    action.add_argument("--drop", dest="action", action="store_const", const=Action.DROP, help="drop them")
    command.add_argument("--dry-run", action="store_true", help="show which, and do nothing")
    command.add_argument("--yes", action="store_true", help="do not ask; needed where there is no terminal")
    command.add_argument("--json", action="store_true", help="one JSON object a line, with the whole letter")
    command.add_argument(
        "--id", metavar="ID", dest="ids", action="append", default=[], help="this one, shown whole; repeatable"
    )
    command.add_argument(
        "--feed", metavar="NAME", dest="feeds", action="append", default=[], help="of this feed or schedule; repeatable"
    )
    command.add_argument("--reason", metavar="TEXT", default="", help="whose reason contains this")
    command.add_argument(
        "--since", metavar="TIME", type=moment, help="given up since then: ISO 8601, or 30m, 2h, 3d ago"
    )
    command.add_argument("--until", metavar="TIME", type=moment, help="given up before that time")
    command.add_argument("--limit", metavar="N", type=positive, help="the first N")
    add_store_argument(command)
    add_config_argument(command)
    command.add_argument("--kafka", metavar="BOOTSTRAP", help="brokers: the letters of a worker's topic instead")
    command.add_argument("--topic", metavar="T", help="the worker's topic")
    command.add_argument("--dead-letters", metavar="TOPIC", help="the topic of its letters (T.dead-letters)")
    command.add_argument("--group", metavar="G", help="the worker's group (sortkey-SERVICE)")
    command.add_argument("--kafka-config", metavar="FILE", type=Path, help="librdkafka properties, lines of name=value")


def moment(text: str) -> datetime:
    """A time, in UTC unless it says otherwise, or an age."""
    age = _AGE.fullmatch(text)
    try:
        if age is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a time, as 2026-08-24T10:00Z, nor an age, as 2h"
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    if arguments.action is not None and not (arguments.yes or arguments.dry_run or sys.stdin.isatty()):
        return print_error(NAME, "there is no terminal to ask at; give --yes, or --dry-run to see what it would do")
    deal = Deal(arguments)
    try:
        definition = service_named(arguments.service)
        settings = settings_of(arguments.config, definition.name)
        if arguments.kafka is not None:
            run_on_topic(definition, arguments, deal)
        else:
            run_on_store(definition, settings, arguments, deal)
    except (BadSettings, UnknownLetters) as error:
        return print_error(NAME, str(error))
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error(NAME, f"the store {arguments.store} cannot be used: {error}")
    except Stopped as error:
        if deal.has_begun:
            deal.summarise()
        print_error(NAME, f"stopped: {error}; the other letters stay")
        return 1
    except NotConfirmed:
        print_error(NAME, "nothing was done")
        return 1
    except KeyboardInterrupt:
        return print_error(NAME, "interrupted; what was sent or dropped until then stays so, the other letters stay")
    return deal.summarise()


def run_on_store(
    definition: ServiceDefinition, settings: Mapping[str, Any], arguments: argparse.Namespace, deal: Deal
) -> None:
    if arguments.topic is not None or arguments.dead_letters is not None:
        raise BadSettings("--topic and --dead-letters name topics of Kafka; give its brokers by --kafka, too")
    if not definition.has_feeds:
        hint = "; those of its worker are in Kafka: give --kafka and --topic" if definition.takes_messages else ""
        raise BadSettings(
            f"the service {definition.name} has no change feeds, and so no dead letters in the store{hint}"
        )
    store = existing_store(arguments.store, "has no dead letters: no other process can write to it")

    async def work() -> None:
        async with async_connect(store, tables=definition.tables(settings)) as session:
            service = definition.service(session, settings)
            if deal.action is Action.RETRY:
                await service.start()
            letters = StoreLetters(session, service.feeds)
            if deal.asks:
                async with aclosing(letters.walk(deal.wanted, None)) as found:
                    deal.ask(len([None async for _ in found]))
            with deal.progress:
                async with aclosing(letters.walk(deal.wanted, deal.action)) as found:
                    async for dealt in found:
                        deal.show(dealt)

    asyncio.run(work())


def run_on_topic(definition: ServiceDefinition, arguments: argparse.Namespace, deal: Deal) -> None:
    """Needs the extra `kafka`."""
    if arguments.topic is None and arguments.dead_letters is None:
        raise BadSettings("--kafka needs --topic, the worker's topic, or --dead-letters, that of its letters")
    if not definition.takes_messages and arguments.dead_letters is None:
        raise BadSettings(
            f"the service {definition.name} takes no messages of a topic; the letters of its change feeds are in the "
            "store: leave --kafka out"
        )
    with installed_by("kafka"):
        kafka = import_module("sortkey.feeds.kafka.kafka_settings")
        topic_letters = import_module("sortkey.feeds.resend.topic_letters")
    try:
        settings = kafka.KafkaSettings(
            bootstrap=arguments.kafka,
            topic=arguments.topic or "",
            group=arguments.group or f"sortkey-{definition.name}",
            dead_letters=arguments.dead_letters or f"{arguments.topic}{kafka.DEAD_LETTERS_SUFFIX}",
            properties={} if arguments.kafka_config is None else kafka.read_properties(arguments.kafka_config),
        )
        with topic_letters.TopicLetters(settings, KAFKA_SECONDS) as letters:
            if deal.asks:
                deal.ask(sum(1 for _ in letters.walk(deal.wanted, None)))
            with deal.progress:
                for dealt in letters.walk(deal.wanted, deal.action):
                    deal.show(dealt)
    except kafka.KafkaUnusable as error:
        raise BadSettings(str(error)) from error
