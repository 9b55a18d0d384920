"""Writes that need a second request when the row is not what most rows are: nobody was quicker, so nothing pauses.

Only a write that lost a race pauses before the next attempt, so that the writers do not lose it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.model.calls.steps import Pacing


class Task(sk.Item, table="planned-tasks", version=2):
    id: str
    status: str = "OPEN"
    rank: int = 0

    key = sk.Key("T#{id}")


@Task.upgrade(1)
def same_fields(old: dict[str, Any]) -> dict[str, Any]:
    return old


class Animal(sk.Item, table="planned-animals", tag=True):
    id: str
    place: str = "zoo"
    weight: int = 1

    key = sk.Key("A#{id}")
    by_place = sk.Index("gsi1", "P#{place}", "{weight}")


class Bird(Animal, tag="bird"):
    wings: int = 2


class Offer(sk.Item):
    price: int
    updated: int


class Product(sk.Item, table="planned-products"):
    id: str
    seen: int | None = None
    created: Annotated[datetime | None, sk.created] = None

    offers = sk.Entries(Offer, "offer:")
    key = sk.Key("P#{id}")


class Paused:
    """A session that counts its pauses, and takes no time for them."""

    def __init__(self) -> None:
        self.pauses = 0
        self.db = sk.connect("memory:", tables=[Task, Animal, Product], pacing=Pacing(chance=self._chance))
        self.db.create_tables()

    def _chance(self) -> float:
        self.pauses += 1
        return 0.0


@pytest.fixture
def paused() -> Iterator[Paused]:
    paused = Paused()
    with paused.db:
        yield paused


ONE = Task.key(id="1")
OLD = {"pk": {"S": "T#1"}, "id": {"S": "1"}}


def old_task(db: sk.Session) -> None:
    db.client.put_item(TableName=Task.__table__.name, Item=OLD)


def bird(db: sk.Session) -> None:
    db.put(Bird(id="1"))


def product(db: sk.Session) -> None:
    key = {"pk": {"S": "P#1"}}
    db.client.put_item(TableName=Product.__table__.name, Item={**key, "id": {"S": "1"}, "seen": {"NULL": True}})


def transact(add: Callable[[sk.Transaction], None]) -> Callable[[sk.Session], object]:
    def write(db: sk.Session) -> None:
        made = sk.Transaction()
        add(made)
        db.transact(made)

    return write


def put_offer(db: sk.Session) -> object:
    offer = Offer(price=1, updated=1)
    changes = [sk.F(Product.seen).add(1)]
    return db.put_entry(Product.key(id="1"), Product.offers, "a", offer, newer_by="updated", changes=changes)


Row = Callable[[sk.Session], None]
Write = Callable[[sk.Session], object]
SECOND_REQUESTS: dict[str, tuple[Row, Write]] = {
    "update of an old version": (old_task, lambda db: db.update(ONE, {"status": "DONE"})),
    "update of an old version on a condition": (
        old_task,
        lambda db: db.update(ONE, {"status": "DONE"}, where={"rank": 0}),
    ),
    "delete of an old version": (old_task, lambda db: db.delete(ONE, where={"rank": 0})),
    "newer put over an old version": (old_task, lambda db: db.put(Task(id="1", rank=1), newer_by="rank")),
    "upsert of an old version": (old_task, lambda db: db.upsert(ONE, [sk.F(Task.rank).add(1)])),
    "transaction with old versions": (
        old_task,
        transact(lambda made: made.update(ONE, {"status": "DONE"}, where={"rank": 0})),
    ),
    "update of a subclass": (bird, lambda db: db.update(Animal.key(id="1"), {"place": "sea"})),
    "delete of a subclass": (bird, lambda db: db.delete(Animal.key(id="1"), where={"weight": 1})),
    "transaction with a subclass": (bird, transact(lambda made: made.update(Animal.key(id="1"), {"place": "sea"}))),
    "entry beside a NULL": (product, put_offer),
    "upsert of a new item": (lambda _: None, lambda db: db.upsert(ONE, [sk.F(Task.rank).add(1)])),
    "entry of a new item": (lambda _: None, put_offer),
}


@pytest.mark.parametrize(("row", "write"), SECOND_REQUESTS.values(), ids=SECOND_REQUESTS)
def test_a_second_request_comes_at_once(paused: Paused, row: Row, write: Write) -> None:
    row(paused.db)
    write(paused.db)
    assert paused.pauses == 0


@pytest.mark.parametrize("races", [1, 3])
@pytest.mark.parametrize("write", ["update", "transaction"])
def test_each_lost_race_pauses(paused: Paused, write: str, races: int) -> None:
    db = paused.db
    old_task(db)
    name = "_call_unparsed" if write == "update" else "_call"
    call = getattr(db.client, name)
    failures = []

    def race(operation: str, *members: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = call(operation, *members)
            return answer
        except ClientError:
            failures.append(operation)
            if len(failures) <= races:
                db.client.put_item(TableName=Task.__table__.name, Item={**OLD, "rank": {"N": str(len(failures))}})
            raise

    done: dict[str, Callable[[], object]] = {"update": lambda: db.update(ONE, {"status": "DONE"})}
    done["transaction"] = lambda: transact(lambda made: made.update(ONE, {"status": "DONE"}))(db)
    with patch.object(db.client, name, race):
        done[write]()
    assert db.get(ONE) == Task(id="1", status="DONE", rank=races)
    # The first failure was a question.
    assert (len(failures), paused.pauses) == (races + 1, races)
