"""Indexes declared by fields: what they become, and what cannot be declared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from sortkey.model.tables.provision import create_request
from tests.model.sessions.tickets import START, TICKETS, Note, Status, Ticket, ticket


def names_and_types(request: dict[str, Any]) -> dict[str, str]:
    return {each["AttributeName"]: each["AttributeType"] for each in request["AttributeDefinitions"]}


def key_of(request: dict[str, Any], index: str) -> list[tuple[str, str]]:
    (found,) = (each for each in request["GlobalSecondaryIndexes"] if each["IndexName"] == index)
    return [(element["AttributeName"], element["KeyType"]) for element in found["KeySchema"]]


def test_one_declaration_makes_two_kinds_of_table() -> None:
    native = create_request(TICKETS)
    assert key_of(native, "by_status") == [
        ("tenant", "HASH"),
        ("status", "HASH"),
        ("priority", "RANGE"),
        ("created", "RANGE"),
        ("id", "RANGE"),
    ]
    types = names_and_types(native)
    assert (types["status"], types["priority"], types["created"], types["seal"]) == ("S", "N", "S", "B")
    joined = create_request(TICKETS, native=False)
    assert key_of(joined, "by_status") == [("by_statuspk", "HASH"), ("by_statussk", "RANGE")]
    assert names_and_types(joined)["by_statussk"] == "S"


def test_one_declaration_makes_two_kinds_of_row() -> None:
    item = ticket(1, priority=-1)
    schema = schema_of(Ticket)
    assert schema.joined is not None
    row, joined = schema.encode(item), schema.joined.encode(item)
    assert row.keys() - {"pk", "sk"} == {"id", "tenant", "status", "priority", "created", "team", "seal", "visits"}
    assert joined == row | {
        "by_statuspk": {"S": "acme#open"},
        "by_statussk": {"S": "Z8#2026-08-24T00:00:00.000000Z#t1"},
        "by_teampk": {"S": "acme"},
        "by_teamsk": {"S": "a#01"},
    }
    assert schema.decode(joined) == schema.joined.decode(joined) == item


# An index with one attribute in each half is within reach of every store, so there is nothing to glue.
def test_single_fields_are_native_everywhere() -> None:
    class Score(sk.Item, table=sk.Table("scores")):
        game: str
        player: str
        points: int
        key = sk.Key("GAME#{game}", "PLAYER#{player}")
        ranking = sk.Index("ranking", ("game",), ("points",))

    assert schema_of(Score).joined is None
    assert key_of(create_request(Score.__table__, native=False), "ranking") == [("game", "HASH"), ("points", "RANGE")]
    assert Score.ranking(game="g").after(5).request()["ExpressionAttributeNames"] == {"#pk": "game", "#sk": "points"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tenant": "acme"}, "by_status needs status"),
        ({"tenant": "acme", "status": Status.OPEN, "created": START}, "by_status needs priority"),
        ({"tenant": "acme", "status": Status.OPEN, "owner": "ada"}, "by_status does not contain owner"),
    ],
)
def test_no_access_path(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sk.NoAccessPath, match=said):
        Ticket.by_status(**given)


def test_ranges_that_are_not() -> None:
    path = Ticket.by_status(tenant="acme", status=Status.OPEN)
    with pytest.raises(sk.NoAccessPath, match="one range"):
        path.after(1).before(2)
    with pytest.raises(sk.KeyPartError, match="priority: starting needs a string"):
        path.starting("1")
    with pytest.raises(sk.NoAccessPath, match="the sort key is complete"):
        ticket(1).by_status.after("x")


DECLARATIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "both kinds": (lambda: sk.Index("gsi1", ("a", "b"), "{c}"), "fields or templates, not both"),
    "both kinds, turned": (lambda: sk.Index("gsi1", "{a}", ("b", "c")), "fields or templates, not both"),
    "local": (lambda: sk.Index("gsi1", ("a",), ("b", "c"), local=True), "a local index cannot be declared by fields"),
    "no partition": (lambda: sk.Index("gsi1", (), ("b", "c")), "at most 4 partition fields and 4 sort fields"),
    "five": (lambda: sk.Index("gsi1", ("a", "b", "c", "d", "e")), "at most 4 partition fields and 4 sort fields"),
    "a field twice": (lambda: sk.Index("gsi1", ("a", "b"), ("c", "a")), "contains a field twice"),
    "no such field": (lambda: _declared(sk.Index("gsi1", ("a", "b"), ("nome",))), "no field 'nome'; did you mean"),
    "a bool": (lambda: _declared(sk.Index("gsi1", ("a", "flag"))), "flag is stored as BOOL, which a key cannot be"),
    "a list": (lambda: _declared(sk.Index("gsi1", ("a", "tags"))), "tags is stored as L, which a key cannot be"),
    "a float": (lambda: _declared(sk.Index("gsi1", ("a", "b"), ("rough", "amount"))), "float"),
    "a null": (lambda: _declared(sk.Index("gsi1", ("a", "b"), ("nick",))), "nick is stored as NULL when it is None"),
    "a null as named partition key": (
        lambda: _declared(sk.Index("gsi1", "{nick}", "{a}", names=("nick", "ixsk"))),
        "nick is stored as NULL when it is None; make None its default",
    ),
    "a null as named sort key": (
        lambda: _declared(sk.Index("gsi1", "A#{a}", "{nick}", names=("ixpk", "nick"))),
        "nick is stored as NULL when it is None; make None its default",
    ),
    "a null as named sort key of shards": (
        lambda: _declared(
            sk.Index("gsi1", "A#{a}", "{nick}", names=("ixpk", "nick"), shards=sk.Shards(4, by="amount"))
        ),
        "nick is stored as NULL when it is None; make None its default",
    ),
}


def _declared(index: sk.Index) -> type[sk.Item]:
    class Thing(sk.Item, table=sk.Table("things")):
        name: str
        a: str = ""
        b: datetime | None = None
        flag: bool = False
        tags: list[str] = sk.field(default_factory=list)
        rough: Annotated[float, sk.inexact] = 0.5
        nick: str | None = "none yet"
        amount: Decimal = Decimal(0)
        key = sk.Key("THING#{name}")
        by = index

    return Thing


# A template copies the field to an attribute of its own, which an item with None does not have.
def test_a_field_with_another_default_than_none_may_be_in_a_template() -> None:
    _declared(sk.Index("gsi1", "{nick}", "{a}"))


@pytest.mark.parametrize(("declare", "said"), DECLARATIONS.values(), ids=DECLARATIONS)
def test_what_cannot_be_declared(declare: Callable[[], Any], said: str) -> None:
    with pytest.raises(sk.DeclarationError, match=said):
        declare()


# Two classes in one index have to agree on its attributes, on every kind of store.
def test_classes_that_do_not_agree() -> None:
    table = sk.Table("shared")

    class One(sk.Item, table=table):
        one: str
        a: str
        b: int
        key = sk.Key("ONE#{one}")
        by = sk.Index("gsi1", ("a", "b"), names=("ixa", "ixb"))

    with pytest.raises(sk.DeclarationError, match=r"One.by has a \(S\) and b \(N\), ALL"):

        class Two(sk.Item, table=table):
            two: str
            a: str
            b: str
            key = sk.Key("TWO#{two}")
            by = sk.Index("gsi1", ("a", "b"), names=("ixa", "ixb"))

    with pytest.raises(sk.DeclarationError, match=r"One.by has ixa \(S\)"):

        class Three(sk.Item, table=table):
            three: str
            a: str
            b: int
            key = sk.Key("THREE#{three}")
            by = sk.Index("gsi1", ("a", "b"))

    assert [schema.name for schema in table.schemas] == ["One"]
    assert [schema.name for schema in TICKETS.schemas] == [Ticket.__name__, Note.__name__]
