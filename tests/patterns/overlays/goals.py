"""Saving goals, which a batch computes, and deposits that it has not seen yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sortkey as sk

PERSONS = sk.Table("overlaid-persons")
PENDING = sk.Table("pending-deposits", ttl="expires")
AS_OF = datetime(2026, 5, 16, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Goal(sk.Item):
    goal: str
    saved: int
    status: str = "IN_PROGRESS"


class Person(sk.Item, table=PERSONS):
    person: str
    as_of: datetime
    goals: list[Goal]
    key = sk.Key("PERSON#{person}")


class Pending(sk.Item, table=PENDING):
    person: str
    goal: str
    balance: int
    updated: datetime
    status: str = "PENDING"
    expires: datetime | None = None
    key = sk.Key("PERSON#{person}", "GOAL#{goal}")


class Note(sk.Item, table=PENDING):
    """Beside the deposits of a person, and no deposit."""

    person: str
    text: str
    key = sk.Key("PERSON#{person}", "NOTE#{text}")


VIEW = sk.patterns.overlay(
    Pending,
    over=Person,
    newer="updated",
    than="as_of",
    part="goals",
    by="goal",
    replace={"saved": "balance", "status": "status"},
    where={"status": "PENDING"},
)
ADA = Person(person="ada", as_of=AS_OF, goals=[Goal(goal="SAVINGS", saved=320), Goal(goal="BONDS", saved=0)])


def pending(balance: int, after: timedelta, goal: str = "SAVINGS", status: str = "PENDING") -> Pending:
    """A deposit so long after the base's as-of."""
    return Pending(person="ada", goal=goal, balance=balance, updated=AS_OF + after, status=status)
