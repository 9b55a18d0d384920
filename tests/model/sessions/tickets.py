"""Tickets, whose indexes are declared by fields: several attributes of every type in one key."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import sortkey as sk
from sortkey.client.stores import EMBEDDED
from sortkey.model.sessions.connect import options
from sortkey.model.sessions.runners import Runner

TICKETS = sk.Table("tickets")
START = datetime(2026, 8, 24, tzinfo=UTC)


class Status(Enum):
    OPEN = "open"
    DONE = "done"


class Ticket(sk.Item, table=TICKETS):
    id: str
    tenant: str = "acme"
    status: Status = Status.OPEN
    priority: int = 0
    created: datetime = START
    team: str = "a"
    seal: bytes = b"\x01"
    cost: Decimal | None = None
    owner: str | None = None
    visits: int = 0

    key = sk.Key("TICKET#{id}", "TICKET")
    by_status = sk.Index("by_status", ("tenant", "status"), ("priority", "created", "id"))
    by_owner = sk.Index("by_owner", ("owner",), ("cost", "team"))
    by_team = sk.Index("by_team", ("tenant",), ("team", "seal"), projection="KEYS_ONLY")


class Note(sk.Item, table=TICKETS):
    """Shares an index of fields with tickets."""

    note: str
    tenant: str
    team: str
    seal: bytes

    key = sk.Key("NOTE#{note}", "NOTE")
    by_team = sk.Index("by_team", ("tenant",), ("team", "seal"), projection="KEYS_ONLY")


def ticket(number: int, **fields: Any) -> Ticket:
    return Ticket(id=f"t{number}", **fields)


def ids(tickets: Any) -> list[str]:
    return [each.id for each in tickets]


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def connect_joined(*tables: sk.Table | type[sk.Item]) -> sk.Session:
    """A store in memory that is taken for one whose index keys have one attribute each."""
    settings = options(tables, "secret", None)
    lacking = replace(EMBEDDED, multi_attribute_index_keys=False)
    session = sk.Session(Runner(sk.client("memory:"), settings.context(lacking), None), settings.tables)
    session.create_tables()
    return session
