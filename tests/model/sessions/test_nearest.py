"""`db.nearest`: searches of the vector indexes of a class."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk

DISHES = sk.Table("nearest-dishes")


class Dish(sk.Item, table=DISHES):
    name: str
    kind: str | None = None
    heat: int = 0
    price: Decimal = Decimal(1)
    taste: sk.Vector | None = None
    smell: tuple[Decimal, ...] | None = None

    key = sk.Key("DISH#{name}", "DISH")
    similar = sk.VectorIndex("by_taste", "taste", dimensions=3, partition="kind", filters=["heat"])
    smelling = sk.VectorIndex("by_smell", "smell", dimensions=2, distance="EUCLIDEAN", projection=["price"])
    keys = sk.VectorIndex("keys", "smell", dimensions=2, distance="DOT_PRODUCT", projection="KEYS_ONLY")


class Drink(sk.Item, table=DISHES):
    drink: str
    smell: list[Decimal]
    price: Decimal = Decimal(2)

    key = sk.Key("DRINK#{drink}", "DRINK")
    smelling = sk.VectorIndex("by_smell", "smell", dimensions=2, distance="EUCLIDEAN", projection=["price"])


@pytest.fixture(autouse=True)
def dishes(db: sk.Session) -> None:
    if not db.capabilities.vectors:
        pytest.skip(f"{db.capabilities.store} has no vector indexes")
    db.create_tables(DISHES)
    for number in range(6):
        db.put(
            Dish(
                name=f"soup {number}",
                kind="soup",
                heat=number % 2,
                taste=[1.0, float(number), 0.1],
                smell=(Decimal(number), Decimal("0.5")),
            )
        )
    db.put(Dish(name="cake", kind="cake", taste=[1.0, 0.0, 0.1]))
    db.put(Dish(name="stray", taste=[1.0, 0.0, 0.1]))


def names(found: list[sk.Neighbour[Any]]) -> list[str]:
    return [each.item.name for each in found]


def test_the_most_similar_come_first_with_their_scores(db: sk.Session) -> None:
    found = db.nearest(Dish.similar(kind="soup"), [1, 2, 0.1], 3)
    assert names(found) == ["soup 2", "soup 3", "soup 4"]
    assert found[0].score == pytest.approx(0.0)
    assert found[0].score < found[1].score < found[2].score


def test_filters_are_optional(db: sk.Session) -> None:
    assert names(db.nearest(Dish.similar(kind="soup", heat=1), [1, 0, 0], 2)) == ["soup 1", "soup 3"]


def test_an_item_leads_to_those_like_it(db: sk.Session) -> None:
    soup = db.get(Dish.key(name="soup 4"))
    assert soup is not None
    assert soup.taste is not None
    assert names(db.nearest(soup.similar, soup.taste, 2)) == ["soup 4", "soup 5"]


def test_items_are_partial_and_can_be_read_whole(db: sk.Session) -> None:
    (found,) = db.nearest(Dish.similar(kind="cake"), [1, 0, 0], 1)
    assert sk.is_partial(found.item)
    assert (found.item.heat, found.item.price, found.item.smell) == (0, Decimal(1), None)
    with pytest.raises(sk.PartialItem, match=r"Dish\.taste cannot be read from a partial item"):
        _ = found.item.taste
    (whole,) = db.nearest(Dish.similar(kind="cake"), [1, 0, 0], 1, whole=True)
    assert whole.item == db.get(Dish.key(name="cake"))


def test_an_index_has_the_fields_that_it_projects(db: sk.Session) -> None:
    found = db.nearest(Dish.smelling(), (3, 0.5), 1)[0]
    assert (found.item.name, found.item.price, found.score) == ("soup 3", Decimal(1), 0.0)
    with pytest.raises(sk.PartialItem):
        _ = found.item.heat
    best = db.nearest(Dish.keys(), [1, 0], 1)[0]
    assert (best.item.name, best.score) == ("soup 5", 5.0)


def test_rows_of_other_classes_are_left_out(db: sk.Session) -> None:
    db.put(Drink(drink="tea", smell=[Decimal(3), Decimal("0.5")]))
    assert names(db.nearest(Dish.smelling(), [3, 0.5], 2)) == ["soup 3"]
    assert [each.item.drink for each in db.nearest(Drink.smelling(), [3, 0.5], 2)] == ["tea"]


def test_the_meter_counts_searches(db: sk.Session) -> None:
    db.nearest(Dish.similar(kind="soup"), [1, 0, 0], 4)
    reading = db.meter.reading("Dish.similar")
    assert (reading.calls, reading.rows_read, reading.rows_returned) == (1, 4, 4)


def test_explains_the_request_and_its_cost(db: sk.Session) -> None:
    explained = db.explain(Dish.similar(kind="soup", heat=1), rows=5, row_bytes=200)
    assert explained.request == {
        "TableName": "nearest-dishes",
        "IndexName": "by_taste",
        "TopK": 5,
        "SearchConditionExpression": "#v0 = :v0 AND #v1 = :v1",
        "ExpressionAttributeNames": {"#v0": "kind", "#v1": "heat"},
        "ExpressionAttributeValues": {":v0": {"S": "soup"}, ":v1": {"N": "1"}},
    }
    assert (explained.operation, explained.index, explained.examined) == ("SearchVectors", "by_taste", 17.6 * 3 + 1000)
    assert "by_taste: 3 dimensions" in str(explained)


def test_tables_are_compared_with_their_declaration(db: sk.Session) -> None:
    assert db.create_tables(DISHES) == []
    assert db.diff_tables(DISHES) == []


@pytest.mark.usefixtures("brief_polls")
def test_an_index_is_added_to_an_existing_table(db: sk.Session) -> None:
    assert db.add_vector_index(Dish.similar) is False
    db.client.update_table(TableName=DISHES.name, VectorIndexUpdates=[{"Delete": {"IndexName": "by_taste"}}])
    assert db.diff_tables(DISHES) == ["table nearest-dishes: index by_taste does not exist"]
    assert db.add_vector_index(Dish.similar) is True
    assert names(db.nearest(Dish.similar(kind="soup"), [1, 2, 0.1], 1)) == ["soup 2"]


@pytest.mark.parametrize(
    ("vector", "k", "error", "message"),
    [
        ([1, 2], 3, ValueError, "Dish.similar has 3 dimensions, but the vector has 2"),
        ([1, 2, 3], 0, ValueError, "k is a number from 1 to 100, not 0"),
        ([1, 2, 3], 101, ValueError, "k is a number from 1 to 100, not 101"),
    ],
)
def test_wrong_searches(db: sk.Session, vector: list[float], k: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        db.nearest(Dish.similar(kind="soup"), vector, k)


def test_a_key_is_no_path_of_a_vector_index(db: sk.Session) -> None:
    with pytest.raises(TypeError, match="expected a path of a vector index"):
        db.nearest(Dish.key(name="cake"), [1, 2, 3])  # type: ignore[arg-type]
