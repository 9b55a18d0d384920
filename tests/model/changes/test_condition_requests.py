"""The table of docs/guides/conditions.md: what the store is asked for by conditions of all kinds.

`WRITE_DOCS=1 pytest …` writes the table; without it, the test compares.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

import sortkey as sk
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.changes.requirements import Requirement
from sortkey.model.items.item import schema_of

PAGE: Final = Path(__file__).parents[3] / "docs" / "guides" / "conditions.md"
BEGIN, END = "<!-- made: requests -->", "<!-- made -->"


class Address(msgspec.Struct):
    street: str
    city: str = "Rome"


class Money(msgspec.Struct):
    amount: Decimal
    currency: str


class Order(sk.Item, table="orders"):
    number: int
    status: str
    total: Decimal
    placed: datetime
    price: Money
    address: Address
    used: int
    limit: int
    ratio: Annotated[float, sk.inexact]
    city: str | None = None
    paid: datetime | None = None
    priority: int = 0
    channel: str = "WEB"
    tags: set[str] = sk.field(default_factory=set)
    notes: list[str] = sk.field(default_factory=list)
    counts: dict[str, int] = sk.field(default_factory=dict)
    took: timedelta | None = None
    seen: Annotated[datetime, sk.stored_as(datetime, also=sk.epoch)] | None = None

    key = sk.Key("ORDER#{number:d}")


NOON: Final = datetime(2026, 8, 24, 12, tzinfo=UTC)
NAMES: Final = {"sk": sk, "Order": Order, "Address": Address, "Money": Money, "Decimal": Decimal, "NOON": NOON} | {
    "timedelta": timedelta
}
CONDITIONS: Final = """
{"status": "PAID"}
{"status": "PAID", "city": "Rome"}
sk.F(Order.status) != "PAID"
sk.F(Order.total) >= 5
sk.F(Order.total) < Decimal("2.50")
sk.F(Order.total).between(5, 10)
sk.F(Order.ratio) < 2.0
sk.F(Order.placed) >= NOON
sk.F(Order.paid) < NOON
sk.F(Order.took) <= timedelta(minutes=1)
sk.F(Order.status).is_in("NEW", "PAID")
~sk.F(Order.status).is_in("NEW", "PAID")
sk.F(Order.status).begins_with("P")
sk.F(Order.status).contains("AI")
sk.F(Order.tags).contains("red")
sk.F(Order.tags).size <= 3
sk.F(Order.notes).contains("late")
{"city": None}
sk.F(Order.city).exists()
sk.F(Order.city) == "Rome"
sk.F(Order.city) != "Rome"
sk.F(Order.priority) == 0
sk.F(Order.priority) >= 1
sk.F(Order.channel) != "WEB"
~(sk.F(Order.priority) >= 1)
sk.F(Order.used) <= sk.F(Order.limit)
(sk.F(Order.total) > 5) & (sk.F(Order.status) == "PAID")
(sk.F(Order.status) == "NEW") | (sk.F(Order.paid).exists())
~((sk.F(Order.status) == "NEW") & (sk.F(Order.total) > 5))
{"address.street": "Via Appia"}
{"address.city": "Rome"}
sk.F(Order.counts)["mon"] > 1
{"price": Money(Decimal("9.90"), "EUR")}
{"seen": NOON}
sk.F(Order.seen) != NOON
""".strip().splitlines()


def expression(where: Any) -> str:
    """The expression of a condition, with its names and values in their places."""
    placeholders = Placeholders()
    text = Requirement(schema_of(Order), where, {}).expression(placeholders)
    request = placeholders.added_to({})
    values = {name: shown(value) for name, value in request.get("ExpressionAttributeValues", {}).items()}
    known = {**request.get("ExpressionAttributeNames", {}), **values}
    return re.sub(r"#n\d+|:v\d+", lambda found: known[found[0]], str(text))


def shown(value: dict[str, Any]) -> str:
    ((tag, content),) = value.items()
    match tag:
        case "S":
            return f'"{content}"'
        case "N":
            return str(content)
        case "NULL":
            return "NULL"
        case "M":
            return f"{{{', '.join(f'{name}: {shown(each)}' for name, each in content.items())}}}"
    return repr(content)


def table() -> str:
    rows = [(source, expression(eval(source, dict(NAMES)))) for source in CONDITIONS]
    made = ["| Condition | Expression |", "|---|---|"]
    made += [f"| `{source.replace('|', chr(92) + '|')}` | `{text}` |" for source, text in rows]
    return "\n".join(made)


def test_the_documentation_shows_the_requests() -> None:
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    made = f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
    if os.environ.get("WRITE_DOCS"):
        PAGE.write_text(made)
    assert page == made
