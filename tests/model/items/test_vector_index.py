"""Declarations of vector indexes, and the mistakes that are visible at import."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk


def declare(**indexes: sk.VectorIndex) -> type[sk.Item]:
    class Dish(sk.Item, table=sk.Table("vector-dishes")):
        name: str
        kind: str = "soup"
        parts: list[str] = sk.field(default_factory=list)
        note: dict[str, str] = sk.field(default_factory=dict)
        taste: sk.Vector | None = None

        key = sk.Key("DISH#{name}")
        locals().update(indexes)

    return Dish


def index(**members: Any) -> sk.VectorIndex:
    declared: dict[str, Any] = {"index": "by_taste", "vector": "taste", "dimensions": 3}
    return sk.VectorIndex(**declared | members)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: index(index="x"), "the name of an index has 3 to 255"),
        (lambda: index(dimensions=0), "dimensions is a number from 1 to 4096, not 0"),
        (lambda: index(distance="NEAR"), "distance is one of COSINE, EUCLIDEAN, DOT_PRODUCT, not 'NEAR'"),
        (lambda: index(partition="kind", filters=["kind"]), "its partition or one of its filters only once"),
        (lambda: index(filters=[f"f{number}" for number in range(19)]), "at most 18 filters"),
        (lambda: index(projection="SOME"), "the projection must be 'ALL', 'KEYS_ONLY' or a list of fields"),
        (
            lambda: declare(similar=index(vector="tast")),
            "Dish.similar: there is no field 'tast'; did you mean 'taste'?",
        ),
        (lambda: declare(similar=index(vector="kind")), "kind is stored as S, but a vector is a list of numbers"),
        (lambda: declare(similar=index(filters=["parts"])), "parts is stored as L; a search compares text"),
        (lambda: declare(similar=index(projection=["colour"])), "there is no field 'colour'"),
    ],
)
def test_mistakes(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(sk.DeclarationError) as caught:
        make()
    assert message in str(caught.value)


def test_a_table_with_a_vector_index_is_paid_on_demand() -> None:
    with pytest.raises(sk.DeclarationError, match="a table with vector indexes is paid on demand"):

        class Dish(sk.Item, table=sk.Table("provisioned-dishes", provisioned=(5, 5))):
            name: str
            taste: sk.Vector

            key = sk.Key("DISH#{name}")
            similar = sk.VectorIndex("by_taste", "taste", dimensions=3)


def test_classes_in_one_index_declare_the_same() -> None:
    dishes = sk.Table("shared-dishes")

    class Dish(sk.Item, table=dishes):
        name: str
        taste: list[Decimal]

        key = sk.Key("DISH#{name}")
        similar = sk.VectorIndex("by_taste", "taste", dimensions=3)

    with pytest.raises(sk.DeclarationError, match="are the vector index by_taste and differ"):

        class Drink(sk.Item, table=dishes):
            name: str
            taste: list[Decimal]

            key = sk.Key("DRINK#{name}")
            similar = sk.VectorIndex("by_taste", "taste", dimensions=4)


def test_a_path_has_the_partition_and_only_fields_of_the_index() -> None:
    similar: Any = declare(similar=index(partition="kind")).similar  # type: ignore[attr-defined]
    assert repr(similar(kind="soup")) == "Dish.similar(kind='soup')"
    with pytest.raises(sk.NoAccessPath, match=r"Dish\.similar needs kind, its partition"):
        similar()
    with pytest.raises(sk.NoAccessPath, match=r"Dish\.similar cannot be searched by name; a search may give kind"):
        similar(kind="soup", name="x")
    with pytest.raises(TypeError, match="takes its fields by name"):
        similar("soup")


def test_a_vector_may_be_any_sequence_of_numbers() -> None:
    similar: Any = declare(similar=index()).similar  # type: ignore[attr-defined]
    wanted = [{"N": "1.0"}, {"N": "0.5"}, {"N": "-2.0"}]
    assert similar().request((1, Decimal("0.5"), -2), 3)["SearchVector"] == wanted
    numpy = pytest.importorskip("numpy")
    assert similar().request(numpy.array([1, 0.5, -2], "f4"), 3)["SearchVector"] == wanted
