"""The rules that events are enriched with: renewed while events come, and kept while the database is away."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sortkey_services.goals.rules import CurrentRules, Rule, Rules, RulesError
from sortkey_services.goals.rules_database import write_rules
from sortkey_services.goals.service import Settings
from tests.sortkey_services.goals.conftest import Service
from tests.sortkey_services.goals.persons import BONDS, HOUR, SAVINGS, deposit

R = TypeVar("R")

DAY = date(2026, 5, 15)
PATIENCE = 60.0
"""However busy the machine is."""


def rules(rate: str) -> Rules:
    return Rules([Rule(SAVINGS, "GOLD", Decimal(rate), date(2026, 1, 1), None)])


class Database:
    """Rules that change, and a database that may be away."""

    def __init__(self) -> None:
        self.rate = "0.01"
        self.away = False
        self.reads = 0
        self.now = 0.0

    def read(self) -> Rules:
        self.reads += 1
        if self.away:
            raise RulesError("the rules cannot be read: connection refused")
        return rules(self.rate)


def rate_of(known: Rules | None) -> str | None:
    return None if known is None else str(known.rate(SAVINGS, "GOLD", DAY))


def test_rules_are_remembered_and_renewed() -> None:
    database = Database()

    async def test() -> None:
        current = CurrentRules(database.read, 5.0, PATIENCE, lambda: database.now)
        assert [rate_of(await current.get()) for _ in range(3)] == ["0.01"] * 3
        database.rate = "0.02"
        database.now = 4.9
        assert rate_of(await current.get()) == "0.01"
        database.now = 5.0
        assert rate_of(await current.get()) == "0.02"
        assert database.reads == 2

    asyncio.run(test())


def test_a_database_that_is_away_leaves_the_rules_as_they_were(caplog: pytest.LogCaptureFixture) -> None:
    database = Database()

    async def test() -> None:
        current = CurrentRules(database.read, 5.0, PATIENCE, lambda: database.now)
        database.away = True
        assert await current.get() is None
        assert await current.get() is None
        assert database.reads == 1, "it is not asked again with every event"
        database.now, database.away = 5.0, False
        while await current.get() is None:
            await asyncio.sleep(0)
        assert (rate_of(await current.get()), database.reads) == ("0.01", 2)
        database.now, database.away = 10.0, True
        assert rate_of(await current.get()) == "0.01"

    with caplog.at_level(logging.WARNING):
        asyncio.run(test())
    assert [record.message.partition("; ")[2] for record in caplog.records] == [
        "events get the rates of the last batch",
        "events get the rules as they were read before",
    ]


# A database that hangs must not hold up the deposits.
def test_an_event_does_not_wait_for_a_database_that_hangs() -> None:
    answers = threading.Event()

    def read() -> Rules:
        assert answers.wait(60)
        return rules("0.05")

    async def test() -> None:
        current = CurrentRules(read, 0.001, 0.01)
        assert await current.get() is None
        answers.set()
        while await current.get() is None:
            await asyncio.sleep(0)
        assert rate_of(await current.get()) == "0.05"

    asyncio.run(test())


def at_once(call: Coroutine[Any, Any, R]) -> R:
    """What a call returns, if it waits for nothing."""
    try:
        call.send(None)
    except StopIteration as returned:
        result: R = returned.value
        return result
    raise AssertionError("it waits")


# One wait for each outage: the stream must go on at its pace.
def test_while_the_database_hangs_only_the_first_event_waits() -> None:
    answers = threading.Event()
    answers.set()
    now = [0.0]

    def read() -> Rules:
        assert answers.wait(60)
        return rules("0.05")

    async def test() -> None:
        current = CurrentRules(read, 5.0, 0.01, lambda: now[0])
        while await current.get() is None:
            await asyncio.sleep(0)
        answers.clear()
        now[0] = 5.0
        assert rate_of(await current.get()) == "0.05"
        assert [rate_of(at_once(current.get())) for _ in range(3)] == ["0.05"] * 3
        answers.set()

    asyncio.run(test())


def test_a_rule_that_changes_takes_effect_without_a_restart(service: Service, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/rules.db"
    write_rules(url, rules("0.21"))
    service.restart(Settings(rules=url, refresh_seconds=1e-9, patience_seconds=PATIENCE))
    service.apply(deposit(event="e1"))
    assert service.rates() == ["0.21", "0.12"]
    write_rules(url, rules("0.22"))
    service.apply(deposit(after=2 * HOUR, event="e2"), deposit(goal=BONDS))
    assert service.rates() == ["0.22", "0.12"], "the rules have none for bonds, so the batch's stays"
