"""Classes with one key, told apart by a tag: every write that tests or deletes an item leaves those of others alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sortkey as sk

FARM = sk.Table("family-farm", transactions=True)


class Cow(sk.Item, table=FARM, tag="cow"):
    id: str
    note: str = ""
    shorn: int = 0
    key = sk.Key("A#{id}")


# It derives from no other class, but its keys are those of a cow.
class Sheep(sk.Item, table=FARM, tag="sheep"):
    id: str
    note: str = ""
    shorn: int = 0
    key = sk.Key("A#{id}")


class Lamb(Sheep, tag="lamb"):
    weeks: int = 0


class Barn(sk.Item, table=FARM, tag="barn"):
    id: str
    key = sk.Key("BARN#{id}")


DOLLY = Sheep(id="1", note="n")


@pytest.fixture
def farm() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[FARM]) as session:
        session.create_tables()
        session.put(DOLLY)
        yield session


@pytest.mark.parametrize("where", [None, {"note": "n"}], ids=["delete", "delete where"])
@pytest.mark.parametrize("other", [Cow, Lamb])
def test_a_delete_leaves_an_item_of_another_class_alone(farm: sk.Session, other: Any, where: Any) -> None:
    with pytest.raises(sk.ConditionFailed, match="the stored item is a Sheep") as found:
        farm.delete(other.key(id="1"), where=where)
    assert found.value.item == DOLLY
    assert farm.get(Sheep.key(id="1")) == DOLLY
    assert farm.delete(other.key(id="2")) is None
    assert farm.delete(Sheep.key(id="1"), where=where) == DOLLY


@pytest.mark.parametrize("other", [Cow, Lamb])
def test_transactions_leave_an_item_of_another_class_alone(farm: sk.Session, other: Any) -> None:
    deletion, check = sk.Transaction(), sk.Transaction()
    deletion.delete(other.key(id="1"))
    check.check(other.key(id="1"), where={"note": "n"})
    for transaction in (deletion, check):
        with pytest.raises(sk.TransactionFailed):
            farm.transact(transaction)
    assert farm.get(Sheep.key(id="1")) == DOLLY
    own = sk.Transaction()
    own.check(Sheep.key(id="1"), where={"note": "n"})
    farm.transact(own)


def test_delete_all_leaves_items_of_another_class_alone(farm: sk.Session) -> None:
    farm.put(Cow(id="2"))
    assert farm.delete_all(Cow, scan=True).items == 1
    assert list(farm.scan(FARM)) == [DOLLY]


# A delete without a condition is one request that cannot fail.
def test_a_class_whose_keys_no_other_has_needs_no_test_of_the_tag() -> None:
    assert Barn.__schema__.required_tags is None
    assert Cow.__schema__.required_tags == ("type", [{"S": "cow"}])
    assert Sheep.__schema__.required_tags == ("type", [{"S": "sheep"}, {"S": "lamb"}])


def test_a_class_that_is_declared_later_may_share_the_key() -> None:
    table = sk.Table("family-later")

    class First(sk.Item, table=table, tag=True):
        id: str
        key = sk.Key("X#{id}")

    assert First.__schema__.required_tags is None

    class Second(sk.Item, table=table, tag=True):
        id: str
        key = sk.Key("X#{id}")

    assert First.__schema__.required_tags == ("type", [{"S": "First"}])


@pytest.mark.parametrize("other", [Cow, Lamb])
def test_a_batch_cannot_delete_what_may_be_of_another_class(farm: sk.Session, other: Any) -> None:
    farm.put(Barn(id="1"))
    with pytest.raises(sk.Unsupported, match=r"key\(id='1'\): an item of another class .* use db.delete"):
        farm.batch(delete=[Barn.key(id="1"), other.key(id="1")])
    assert farm.get(Sheep.key(id="1")) == DOLLY
    assert farm.get(Barn.key(id="1")) == Barn(id="1")
    farm.batch(delete=[Barn.key(id="1")])
    assert farm.get(Barn.key(id="1")) is None


CONDITIONS: dict[str, Any] = {"where": {"note": "n"}, "if_version": "shorn"}


@pytest.mark.parametrize("option", CONDITIONS)
@pytest.mark.parametrize("other", [Cow, Lamb])
def test_a_conditional_put_leaves_an_item_of_another_class_alone(farm: sk.Session, other: Any, option: str) -> None:
    condition = {option: CONDITIONS[option]}
    with pytest.raises(sk.ConditionFailed, match=f"put of {other.__name__}: the stored item is a Sheep") as found:
        farm.put(other(id="1"), **condition)
    assert found.value.item == DOLLY
    transaction = sk.Transaction()
    transaction.put(other(id="1"), **condition)
    with pytest.raises(sk.TransactionFailed):
        farm.transact(transaction)
    assert farm.get(Sheep.key(id="1")) == DOLLY


@pytest.mark.parametrize("other", [Cow, Lamb])
def test_an_item_of_another_class_is_never_older(farm: sk.Session, other: Any) -> None:
    assert not farm.put(other(id="1", note="z"), newer_by="note")
    assert farm.get(Sheep.key(id="1")) == DOLLY
    assert farm.put(other(id="2", note="z"), newer_by="note")


def test_a_conditional_put_replaces_an_item_of_a_subclass(farm: sk.Session) -> None:
    farm.put(Lamb(id="2", note="a"))
    assert farm.put(Sheep(id="2", note="b"), newer_by="note")
    assert farm.put(Sheep(id="2", note="c"), where={"note": "b"})
    assert farm.get(Sheep.key(id="2")) == Sheep(id="2", note="c")
