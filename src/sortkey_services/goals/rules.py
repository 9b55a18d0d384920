"""The rules of goals: which special rate a goal has for a tier, and from when until when.

    goal_id           tier  special_rate  valid_from  valid_to
    SAVINGS_ACCOUNT   GOLD  0.08          2026-01-01  2026-07-01
    SAVINGS_ACCOUNT   GOLD  0.09          2026-07-01  NULL

A rule is valid on `valid_from`, and no longer on `valid_to`; NULL is open. The batch and the stream read the same
rules, from a relational database (`rules_database.py`). Nothing here knows a database.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

COLUMNS: Final = ("goal_id", "tier", "special_rate", "valid_from", "valid_to")
_PACKAGES: Final = {"sqlalchemy": ("SQLAlchemy", "batch"), "psycopg": ("psycopg", "postgres")}
"""What a database of rules imports, its distribution, and the extra that installs it."""

_logger = logging.getLogger(__name__)


class RulesError(Exception):
    """The rules cannot be read, or contradict each other. The message is one line and names the rule."""


class Rule(NamedTuple):
    goal: str
    tier: str
    rate: Decimal
    valid_from: date | None = None
    valid_to: date | None = None

    def holds(self, day: date) -> bool:
        return (self.valid_from is None or self.valid_from <= day) and (self.valid_to is None or day < self.valid_to)

    def __str__(self) -> str:
        return f"the rule of {self.goal} for {self.tier} from {self.valid_from or 'ever'} to {self.valid_to or 'ever'}"


class Rules:
    """All rules, checked: at most one holds for a goal and a tier on a day."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_goal_and_tier: dict[tuple[str, str], list[Rule]] = defaultdict(list)
        for rule in self.rules:
            _check(rule)
            self._by_goal_and_tier[rule.goal, rule.tier].append(rule)
        for several in self._by_goal_and_tier.values():
            _check_apart(several)

    @cached_property
    def goals(self) -> frozenset[str]:
        """The goals that exist."""
        return frozenset(rule.goal for rule in self.rules)

    def rate(self, goal: str, tier: str, day: date) -> Decimal | None:
        """The special rate on a day; None if there is no rule for it."""
        for rule in self._by_goal_and_tier.get((goal, tier), ()):
            if rule.holds(day):
                return rule.rate
        return None

    def on(self, day: date) -> list[Rule]:
        """The rules that hold on a day: one for a goal and a tier."""
        return [rule for rule in self.rules if rule.holds(day)]


class RulesSource(Protocol):
    def read(self) -> Rules:
        """All rules, as they are now. Raises RulesError."""
        ...

    def close(self) -> None: ...


def open_rules(url: str) -> RulesSource:
    """The rules at a URL, `sqlite:///FILE` or `postgresql://…`. Raises RulesError."""
    try:
        # Servers without goals need no SQLAlchemy.
        module = import_module("sortkey_services.goals.rules_database")
        source: RulesSource = module.RulesDatabase(url)
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        package, extra = _PACKAGES[error.name]
        raise RulesError(f"{package} is not installed; run: pip install 'sortkey[{extra}]'") from None
    return source


def read_rules(url: str) -> Rules:
    """The rules at a URL, as they are now. Raises RulesError."""
    source = open_rules(url)
    try:
        return source.read()
    finally:
        source.close()


class CurrentRules:
    """The rules that events are enriched with: remembered, and read again while events come. A database that does not
    answer must not hide deposits: the rules that were read last stay in use, and the log says so."""

    def __init__(
        self,
        read: Callable[[], Rules],
        refresh_seconds: float,
        patience_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read` may block; it runs in a thread. An event waits for it no longer than `patience_seconds`."""
        self._read = read
        self._patience_seconds = patience_seconds
        self._refresh_seconds = refresh_seconds
        self._monotonic = monotonic
        self._rules: Rules | None = None
        self._asked: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._is_away = False
        """Whether the database failed, or took too long, when it was asked last: then no event waits for it."""

    async def get(self) -> Rules | None:
        """The rules, at most `refresh_seconds` old if the database answers; None if they could not be read yet. When
        the database is back, the event that finds it still gets what there was."""
        if self._reading is None and (self._asked is None or self._monotonic() - self._asked >= self._refresh_seconds):
            self._asked = self._monotonic()
            self._reading = asyncio.create_task(self._refresh())
        if self._reading is not None and not self._is_away:
            # One that takes longer goes on, and a later event has what it reads.
            done, _ = await asyncio.wait({self._reading}, timeout=self._patience_seconds)
            for read in done:
                read.result()
            if not done:
                self._is_away = True
        return self._rules

    async def _refresh(self) -> None:
        try:
            self._rules = await asyncio.to_thread(self._read)
            self._is_away = False
        except RulesError as error:
            self._is_away = True
            kept = "the rates of the last batch" if self._rules is None else "the rules as they were read before"
            _logger.warning("%s; events get %s", error, kept)
        finally:
            self._reading = None


def rule_of(goal: object, tier: object, rate: object, valid_from: object, valid_to: object) -> Rule:
    """A rule of a database's row. SQLite has no dates and no decimals, so texts and floats are taken, too."""
    if not isinstance(goal, str) or not goal or not isinstance(tier, str) or not tier:
        raise RulesError(f"a rule's goal_id and tier must be texts, not {goal!r} and {tier!r}")
    named = f"the rule of {goal} for {tier}"
    return Rule(
        goal,
        tier,
        _rate(rate, named),
        _day(valid_from, f"{named}: valid_from"),
        _day(valid_to, f"{named}: valid_to"),
    )


def _rate(given: object, named: str) -> Decimal:
    if isinstance(given, (Decimal, int, float, str)) and not isinstance(given, bool):
        try:
            # A float's shortest text is what was written into the database.
            rate = Decimal(str(given))
        except InvalidOperation:
            pass
        else:
            if rate.is_finite():
                return rate.normalize() + 0 if rate else Decimal(0)
    raise RulesError(f"{named}: special_rate must be a number, not {given!r}")


def _day(given: object, named: str) -> date | None:
    match given:
        case None:
            return None
        case datetime():
            return given.date()
        case date():
            return given
        case str():
            try:
                return datetime.fromisoformat(given).date()
            except ValueError:
                pass
    raise RulesError(f"{named} must be a date as 2026-05-31, or NULL, not {given!r}")


def _check(rule: Rule) -> None:
    if not 0 <= rule.rate <= 1:
        raise RulesError(f"{rule}: special_rate must be from 0 to 1 (0.08 is 8 %), not {rule.rate}")
    if rule.valid_from is not None and rule.valid_to is not None and rule.valid_to <= rule.valid_from:
        raise RulesError(f"{rule}: valid_to must be after valid_from; it is the first day on which it no longer holds")


def _check_apart(rules: list[Rule]) -> None:
    ordered = sorted(rules, key=lambda rule: rule.valid_from or date.min)
    for earlier, later in pairwise(ordered):
        if earlier.valid_to is None or later.valid_from is None or later.valid_from < earlier.valid_to:
            raise RulesError(f"{earlier} and the one from {later.valid_from or 'ever'} overlap; one must end first")
