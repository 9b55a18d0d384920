"""`sortkey explain`: an access path from its text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
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


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A store with the table `shop` and its index `by_city`."""
    key = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "seq", "KeyType": "RANGE"}]
    city = [{"AttributeName": "city", "KeyType": "HASH"}, {"AttributeName": "seq", "KeyType": "RANGE"}]
    with sk.client(tmp_path) as client:
        client.create_table(
            TableName="shop",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in (("id", "S"), ("seq", "N"), ("city", "S"))
            ],
            KeySchema=key,
            GlobalSecondaryIndexes=[
                {"IndexName": "by_city", "KeySchema": city, "Projection": {"ProjectionType": "ALL"}}
            ],
            BillingMode="PAY_PER_REQUEST",
        )
    return str(tmp_path)


# What a statement becomes, as a request that somebody would have written.
@pytest.mark.parametrize(
    ("statement", "parts"),
    [
        ("SELECT * FROM shop WHERE seq = 1 AND id = ?", ["GetItem", '"id": {']),
        (
            "SELECT v FROM shop WHERE id = 'a' AND seq > 1 AND n IS MISSING ORDER BY seq DESC",
            [
                "Query",
                '"id = :0 AND seq > :1"',
                '"FilterExpression": "attribute_not_exists(n)"',
                '"ScanIndexForward": false',
            ],
        ),
        (
            "SELECT * FROM \"shop\".\"by_city\" WHERE city IN ['a', 'b'] AND begins_with(m[0].status, ?)",
            [
                "Query",
                '"IndexName": "by_city"',
                '"city = :0"',
                '"begins_with(m[0].#0, :2)"',
                "requests  2, one to each",
            ],
        ),
        (
            "SELECT * FROM shop WHERE id > 'a' OR NOT n BETWEEN 1 AND size(l)",
            ["Scan", '"id > :0 OR NOT n BETWEEN :1 AND size(l)"'],
        ),
        ("INSERT INTO shop VALUE {'id': 'a', 'seq': 1}", ["PutItem", '"attribute_not_exists(id)"']),
        (
            "UPDATE shop SET a = a+1, t = set_add(t, <<'x'>>) REMOVE b WHERE id = 'a' AND seq = 1 RETURNING ALL NEW *",
            ["UpdateItem", '"SET a = a + :0 ADD t :1 REMOVE b"', '"attribute_exists(id)"', '"ReturnValues": "ALL_NEW"'],
        ),
        (
            "DELETE FROM shop WHERE id = 'a' AND seq = 1 AND n IN [1, 2]",
            ["DeleteItem", '"attribute_not_exists(id) OR n IN (:2, :3)"'],
        ),
        ("EXISTS(SELECT * FROM shop WHERE id = 'a' AND seq = 1 AND n < 5)", ["ConditionCheck", "AND n < :2"]),
    ],
)
def test_statements(folder: str, statement: str, parts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--statement", statement, "--store", folder]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{statement}\n{parts[0]} ")
    for part in parts:
        assert part in shown


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT", "well formed"),
        ("SELECT * FROM nothere", "not found"),
        ('SELECT * FROM "shop"."nope"', "The table does not have the specified index: nope"),
        ("DELETE FROM shop", "mandatory equality"),
    ],
)
def test_statements_that_become_nothing(
    folder: str, statement: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--statement", statement, "--store", folder]) == 2
    assert expected in capsys.readouterr().err


def test_a_statement_makes_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--statement", "SELECT * FROM shop", "--store", str(tmp_path / "none")]) == 2
    assert "there is no store" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
