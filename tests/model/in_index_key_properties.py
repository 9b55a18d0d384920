"""Fields that only index keys hold, beside a program that writes the keys: whatever both do, an item shows what its key
says, conditions find what items show, the row has no attribute of the fields, and an audit finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import sortkey as sk
from tests.model.test_in_index_key import Customer, move

CITIES = ["Rome", "Bonn", "Sao Paulo"]
PLANS = ["A", "b#c"]
Model = dict[str, Any]
Step = Callable[[sk.Session, Model], None]


def put(changes: Model) -> Step:
    def run(db: sk.Session, model: Model) -> None:
        model |= changes
        db.put(sk.replace(read(db), **changes))

    return run


def update(changes: Model) -> Step:
    def run(db: sk.Session, model: Model) -> None:
        model |= changes
        assert shown(db.update(Customer.key(id="1"), changes)) == model

    return run


def other_program(city: str) -> Step:
    def run(db: sk.Session, model: Model) -> None:
        model["city"] = city
        move(db, city)

    return run


INDEXED = st.just({"plan": None, "score": None}) | st.fixed_dictionaries(
    {"plan": st.sampled_from(PLANS), "score": st.integers(-2, 2)}
)
CHANGES = st.one_of(
    st.fixed_dictionaries({"city": st.sampled_from(CITIES)}),
    st.fixed_dictionaries({"name": st.sampled_from(["Ada", "Eve"])}),
    INDEXED,
)
STEPS = st.lists(
    CHANGES.map(put) | CHANGES.map(update) | st.sampled_from(CITIES).map(other_program), min_size=1, max_size=5
)
CONDITIONS: list[tuple[Any, Callable[[Model], bool]]] = [
    (sk.F(Customer.city) == "Rome", lambda item: item["city"] == "Rome"),
    (sk.F(Customer.city) != "Rome", lambda item: item["city"] != "Rome"),
    (sk.F(Customer.city).is_in("Bonn", "Sao Paulo"), lambda item: item["city"] != "Rome"),
    ({"plan": "b#c"}, lambda item: item["plan"] == "b#c"),
    ({"plan": None}, lambda item: item["plan"] is None),
    (sk.F(Customer.plan) != "A", lambda item: item["plan"] != "A"),
    (sk.F(Customer.score).exists(), lambda item: item["score"] is not None),
    (sk.F(Customer.score) >= 1, lambda item: item["score"] is not None and item["score"] >= 1),
    (sk.F(Customer.score) != 1, lambda item: item["score"] != 1),
]


def read(db: sk.Session) -> Customer:
    item = db.get(Customer.key(id="1"))
    assert item is not None
    return item


def shown(item: Customer) -> Model:
    return {name: getattr(item, name) for name in ("name", "city", "plan", "score")}


def test_items_show_what_their_index_keys_say() -> None:
    with sk.connect("memory:", tables=[Customer]) as db:
        db.create_tables()

        @settings(max_examples=25)
        @given(STEPS)
        def check(steps: list[Step]) -> None:
            model: Model = {"name": "Ada", "city": "Rome", "plan": None, "score": None}
            db.put(Customer(id="1", **model))
            for step in steps:
                step(db, model)
                assert shown(read(db)) == model
            for where, holds in CONDITIONS:
                assert db.count(Customer.key(id="1"), where=where) == holds(model), where
                assert len(list(db.scan(Customer, where=where))) == holds(model), where
            (row,) = db.scan_rows(Customer)
            assert row.keys().isdisjoint({"city", "plan", "score"})
            assert [each.city for each in db.iterate(Customer.by_city(city=model["city"]))] == [model["city"]]
            assert db.audit(Customer, repair=True).fine == 1

        check()
