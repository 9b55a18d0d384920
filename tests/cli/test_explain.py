"""`sortkey explain`: an access path from its text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Literal
from uuid import UUID

import pytest

import sortkey as sk
from sortkey.cli.explain import path_of
from sortkey.cli.main import main
from tests.model.sessions.shop import Order

SHOP = "tests.model.sessions.shop"


def test_it_shows_request_index_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{SHOP}:Order.by_status(status='OPEN')", "--rows", "100", "--row-bytes", "400"]) == 0
    shown = capsys.readouterr().out
    for part in ("Query", '"IndexName": "gsi1"', '"STATUS#OPEN"', "5 read units", "$0.62 a million"):
        assert part in shown


def test_ranges() -> None:
    assert path_of(f"{SHOP}:Order.key(customer='ada').between(1, 5)") == Order.key(customer="ada").between(1, 5)


# A key without values is queried with its fields' names as values: that also shows the request.
def test_a_key_that_is_not_called() -> None:
    assert path_of(f"{SHOP}:Order.key") == Order.key(customer="customer")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Visit(sk.Item, table="explained-visits"):
    id: UUID
    colour: Colour
    size: Literal["S", "L"]
    day: date
    at: datetime
    price: Decimal
    count: int

    key = sk.Key("{id}#{colour}", "{day}#{at}")
    by_size = sk.Index("gsi1", "{size}#{colour}", "{price}#{count:06}")


ID = UUID(int=7)
HERE = __name__
VISIT = Visit.key(id=ID, colour=Colour.BLUE)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"Visit.key(id='{ID}', colour='blue')", VISIT),
        (f"Visit.key(id=UUID('{ID}'), colour='BLUE')", VISIT),
        (f"Visit.key(id='{ID.hex}', colour=Colour.BLUE)", VISIT),
        (f"Visit.key(id='{ID}', colour='blue').after('2026-01-04')", VISIT.after(date(2026, 1, 4))),
        (f"Visit.key(id='{ID}', colour='blue').after(date(2026, 1, 4))", VISIT.after(date(2026, 1, 4))),
        (
            f"Visit.key(id='{ID}', colour='blue', day='2026-01-04').before('2026-01-04T10:00:00')",
            Visit.key(id=ID, colour=Colour.BLUE, day=date(2026, 1, 4)).before(datetime(2026, 1, 4, 10, tzinfo=UTC)),
        ),
        (
            f"Visit.key(id='{ID}', colour='blue', day='2026-01-04', at=datetime(2026, 1, 4, 10, tzinfo=UTC))",
            Visit.key(id=ID, colour=Colour.BLUE, day=date(2026, 1, 4), at=datetime(2026, 1, 4, 10, tzinfo=UTC)),
        ),
        (
            "Visit.by_size(size='L', colour='RED', price='12.50').between('1', 5)",
            Visit.by_size(size="L", colour=Colour.RED, price=Decimal("12.50")).between(1, 5),
        ),
        ("Visit.key", Visit.key(id=UUID(int=1), colour=Colour.RED)),
        ("Visit.by_size", Visit.by_size(size="S", colour=Colour.RED)),
    ],
)
def test_values_of_every_type(text: str, path: sk.AccessPath[Visit]) -> None:
    assert path_of(f"{HERE}:{text}") == path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HERE}:Visit.key(id='7', colour='red')", "id: '7' is not a UUID"),
        (f"{HERE}:Visit.key(id=UUID(7), colour='red')", "UUID(7): "),
        (f"{HERE}:Visit.key(id='{ID}', colour='green')", "colour: 'green' is not one of"),
        (f"{HERE}:Visit.key(id='{ID}', colour=Colour.GREEN)", "GREEN"),
        (f"{HERE}:Visit.key(id='{ID}', colour=Visit.key)", "is not a literal"),
        ("nonsense", "not MODULE:PATH"),
        ("no_such_module:Order.key", "no module 'no_such_module'"),
        (f"{SHOP}:Nothing.key", "Nothing"),
        (f"{SHOP}:Order.key(", "is not an access path"),
        (f"{SHOP}:Order.key(customer=print())", "is not a literal"),
        (f"{SHOP}:order(1)", "is not a key, an index or a range"),
        (f"{SHOP}:1 + 1", "is not an access path"),
        (f"{SHOP}:SHOP", "it is a Table"),
        (f"{SHOP}:Order", "an access path, such as Order.key; it is a class"),
        (f"{SHOP}:Order.key(number=1)", "needs customer"),
    ],
)
def test_other_texts_give_one_line(text: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", text]) == 2
    message = capsys.readouterr().err
    assert message.startswith("sortkey explain: ")
    assert expected in message
    assert message.count("\n") == 1
