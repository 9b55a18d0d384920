"""Access paths: the questions that keys answer, the requests they become, and the ones that are rejected."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from tests.model.declared import Follow, Order, Price, Score, User

DAY = datetime(2026, 8, 24, tzinfo=UTC)
PRICE = Price(store="1", product="P", effective=DAY, amount=Decimal(2))


def asked(path: sk.AccessPath[Any]) -> tuple[str, dict[str, Any]]:
    request = path.request()
    expression = request["KeyConditionExpression"]
    for placeholder, name in request["ExpressionAttributeNames"].items():
        expression = expression.replace(placeholder, name)
    values = {name: next(iter(value.values())) for name, value in request["ExpressionAttributeValues"].items()}
    return expression, values


def test_a_prefix_of_the_sort_key() -> None:
    assert Price.key(store="12345", channel="ALL", kind="Base").request() == {
        "TableName": "declared-prices",
        "KeyConditionExpression": "#pk = :pk AND begins_with(#sk, :sk)",
        "ExpressionAttributeNames": {"#pk": "pk", "#sk": "sk"},
        "ExpressionAttributeValues": {":pk": {"S": "STORE#12345"}, ":sk": {"S": "ALL#Base#"}},
    }


def test_an_index() -> None:
    request = Price.by_product(kind="Base", product="P1").request()
    assert request["IndexName"] == "gsi1"
    assert request["KeyConditionExpression"] == "#pk = :pk"
    assert request["ExpressionAttributeNames"] == {"#pk": "gsi1pk"}
    assert request["ExpressionAttributeValues"] == {":pk": {"S": "TYPE#Base#P1"}}


# Both questions of a social graph, from one table.
def test_followers_and_followed() -> None:
    assert asked(Follow.key(user="alice")) == (
        "pk = :pk AND begins_with(sk, :sk)",
        {":pk": "USER#alice", ":sk": "FOLLOWS#"},
    )
    assert asked(Follow.followers(other="bob")) == (
        "gsi1pk = :pk AND begins_with(gsi1sk, :sk)",
        {":pk": "USER#bob", ":sk": "FOLLOWED_BY#"},
    )


def test_a_day_a_month_and_half_a_year() -> None:
    day = Order.key(user="a", year=2026, month=8, day=24)
    assert asked(day)[1][":sk"] == "YEAR#2026#MONTH#08#DAY#24#ORDER#"
    assert asked(Order.key(user="a", year=2026, month=8))[1][":sk"] == "YEAR#2026#MONTH#08#DAY#"
    assert asked(Order.key(user="a", year=2026).between(1, 6)) == (
        "pk = :pk AND sk BETWEEN :low AND :high",
        {":pk": "USER#a", ":low": "YEAR#2026#MONTH#01", ":high": "YEAR#2026#MONTH#06$"},
    )


def test_ranges() -> None:
    prefix = Price.key(store="1", channel="ALL", kind="Base", product="P")
    start, at = "ALL#Base#P#", "2026-08-24T00:00:00.000000Z"
    assert asked(prefix.before(DAY))[1] == {":pk": "STORE#1", ":low": start, ":high": f"{start}{at[:-1]}Y\U0010ffff"}
    assert asked(prefix.after(DAY))[1] == {":pk": "STORE#1", ":low": f"{start}{at}\0", ":high": f"{start}\U0010ffff"}
    assert asked(Price.key(store="1").starting("AL"))[1] == {":pk": "STORE#1", ":sk": "AL"}


def test_ranges_over_the_whole_sort_key_need_one_limit() -> None:
    assert asked(Price.key(store="1").before("M")) == ("pk = :pk AND sk < :sk", {":pk": "STORE#1", ":sk": "M"})
    assert asked(Price.key(store="1").after("M")) == ("pk = :pk AND sk > :sk", {":pk": "STORE#1", ":sk": "M$"})


# A score is a number for DynamoDB too, so its ranges are numeric.
def test_native_sort_keys() -> None:
    assert Score.ranking(game="g").between(5, 10).request()["ExpressionAttributeValues"] == {
        ":pk": {"S": "g"},
        ":low": {"N": "5"},
        ":high": {"N": "10"},
    }
    assert asked(Score.ranking(game="g").after(5)) == ("game = :pk AND score > :sk", {":pk": "g", ":sk": "5"})
    assert asked(Score.ranking(game="g", score=5)) == ("game = :pk AND score = :sk", {":pk": "g", ":sk": "5"})
    assert asked(Score.key(game="g").starting("al")) == (
        "game = :pk AND begins_with(player, :sk)",
        {":pk": "g", ":sk": "al"},
    )


def test_exact_keys() -> None:
    path = Price.key(store="1", channel="ALL", kind="Base", product="P", effective=DAY)
    key = {"pk": {"S": "STORE#1"}, "sk": {"S": "ALL#Base#P#2026-08-24T00:00:00.000000Z"}}
    assert path.is_exact
    assert path.key() == key
    assert PRICE.key == path
    fields = {"store": "1", "channel": "ALL", "kind": "Base", "product": "P", "effective": DAY}
    assert Price.key.layout.key_from_fields(fields) == key
    assert Price.key.parse(key) == fields


# A field in both halves of the key is given once.
def test_a_field_in_both_halves() -> None:
    assert User.key(user="alice").key() == {"pk": {"S": "USER#alice"}, "sk": {"S": "USER#alice"}}


def test_an_index_is_never_exact() -> None:
    path = Price.by_product(kind="Base", product="P", channel="ALL", store="1")
    assert not path.is_exact
    with pytest.raises(sk.NoAccessPath, match="is not one item's primary key"):
        path.key()
    assert path.request()["KeyConditionExpression"] == "#pk = :pk AND #sk = :sk"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Price.key(product="P"), r"key needs .*\. The nearest is Price\.by_product: by_product needs kind"),
        (lambda: Price.key(store="1", kind="Base"), "key needs channel$"),
        (lambda: Price.key(kind="Base", product="P"), r"Price\.by_product\(kind=…, product=…\) answers this"),
        (lambda: Price.key(store="1", amount=Decimal(1)), "key does not contain amount"),
        (lambda: Price.key(stor="1"), "Price has no field 'stor'; did you mean 'store'?"),
        (lambda: Price.key(), "cannot be queried by nothing: key needs store"),
        (lambda: Price.key(store="1").between("a", "b").before("c"), "only one range"),
        (lambda: PRICE.key.between(1, 2), "the sort key is complete"),
        (lambda: User.by_city.of(User(user="a")), "is not in User.by_city: city is None"),
        (lambda: Price.key(store="1").key(), "it needs channel, kind, product, effective"),
    ],
)  # fmt: skip
def test_questions_without_an_answer(ask: Any, message: str) -> None:
    with pytest.raises(sk.NoAccessPath, match=message):
        ask()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Price.key(store=1), "store: expected str, got int 1"),
        (lambda: Price.key(store="1").between("b", "a"), "channel: the range from 'b' to 'a' is empty"),
        (lambda: Score.ranking(game="g").between(2, 1), "score: the range from 2 to 1 is empty"),
        (lambda: Order.key(user="a", year=2026).starting("0"), "month: starting needs a string"),
        (lambda: Score.ranking(game="g").starting("0"), "score: starting needs a string"),
        (lambda: Order.key(user="a", year=12345), "year: 12345 does not fit in 4 digits"),
        (lambda: Score.key(game=""), "game: the key attribute would be empty"),
    ],
)
def test_values_that_cannot_be_asked_for(ask: Any, message: str) -> None:
    with pytest.raises(sk.KeyPartError, match=message):
        ask()


# What a query takes to go on behind a row: all of the table's key, and all of the index's.
def test_the_position_of_a_row() -> None:
    row = schema_of(Price).encode(PRICE)
    path = Price.by_product(kind="Base", product="P")
    assert path.position(row) == {name: row[name] for name in ("pk", "sk", "gsi1pk", "gsi1sk")}
    assert path.position(PRICE) == path.position(row)
    assert Price.key(store="1").position(PRICE) == {name: row[name] for name in ("pk", "sk")}
    with pytest.raises(sk.KeyPartError, match="the row has no 'gsi1pk'"):
        path.position({"pk": row["pk"], "sk": row["sk"]})


def test_a_local_index_has_the_tables_partition() -> None:
    score = Score(game="g", player="a", score=5)
    row = schema_of(Score).encode(score)
    assert row == {"game": {"S": "g"}, "player": {"S": "a"}, "score": {"N": "5"}}
    assert Score.ranking(game="g").position(score) == row


# A range may contain rows of another class, so they are filtered when read.
def test_rows_of_other_classes_are_not_decoded() -> None:
    path = Follow.key(user="alice")
    assert path.decode(schema_of(Follow).encode(Follow(user="alice", other="bob"))) == Follow(user="alice", other="bob")
    assert path.decode(schema_of(User).encode(User(user="alice"))) is None
    assert path.decode({"pk": {"S": "USER#alice"}, "sk": {"S": "strange"}}) is None


def test_a_collection_holds_all_classes_of_a_partition() -> None:
    path = sk.collection(User.key, user="alice")
    items: list[sk.Item] = [
        User(user="alice", city="Bern"),
        Follow(user="alice", other="bob"),
        Order(user="alice", order="o", year=2026, month=8, day=24),
    ]
    assert asked(path) == ("pk = :pk", {":pk": "USER#alice"})
    assert [path.decode(schema_of(type(item)).encode(item)) for item in items] == items
    assert path.decode({"pk": {"S": "USER#alice"}, "sk": {"S": "strange"}}) is None
    assert repr(path) == "collection(User.key, user='alice')"


def test_a_collection_is_a_whole_partition() -> None:
    with pytest.raises(sk.NoAccessPath, match="needs exactly user, not user, other"):
        sk.collection(Follow.key, user="alice", other="bob")
    with pytest.raises(sk.NoAccessPath, match="is a collection of several classes"):
        sk.collection(Follow.key, user="alice").starting("F")


def test_paths_show_how_they_were_asked() -> None:
    assert repr(Price.key(store="1").between("A", "B")) == "Price.key(store='1').between('A', 'B')"
    assert repr(Price.key) == "<Price.key: 'STORE#{store}', '{channel}#{kind}#{product}#{effective}'>"
