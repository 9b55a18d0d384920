"""`db.put_many`: each item as `db.put` with the same condition, many of them in one commit."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.model.calls.steps import Pacing
from sortkey.model.maintenance.put_many import COMMIT_ROWS, SLICE

PARCELS = sk.Table("put-many-parcels")


class Parcel(sk.Item, table=PARCELS):
    number: int
    place: str = "depot"
    seen: int = 0
    revision: int = 0
    content: bytes = b""

    key = sk.Key("PARCEL#{number}")
    by_place = sk.Index("gsi1", "{place}", "{number:08}")


class Noted(sk.Item, table=PARCELS):
    number: int
    revision: int | None = None
    changed: Annotated[datetime | None, sk.updated] = None

    key = sk.Key("NOTED#{number}")


@pytest.fixture
def parcels(db: sk.Session) -> sk.Session:
    db.create_tables(PARCELS)
    return db


# On every store, with more items than a commit has: the indexes follow, and no item is written twice.
def test_items_whose_condition_is_met_are_put(parcels: sk.Session) -> None:
    count = COMMIT_ROWS + SLICE + 1
    made = [Parcel(number=number) for number in range(count)]
    assert parcels.put_many(iter(made), if_version="revision") == []
    assert {each.revision for each in made} == {1}
    assert [each.number for each in parcels.iterate(Parcel.by_place(place="depot"))] == list(range(count))


def test_items_whose_condition_is_not_met_are_returned(parcels: sk.Session) -> None:
    read = [Parcel(number=number) for number in range(4)]
    parcels.put_many(read)
    for number in (1, 3):
        parcels.update(Parcel.key(number=number), {"revision": 7})
    for each in read:
        each.place = "van"
    left = parcels.put_many(read, if_version="revision")
    assert [each.number for each in left] == [1, 3]
    assert [each.revision for each in read] == [1, 0, 1, 0]
    assert [each.number for each in parcels.iterate(Parcel.by_place(place="van"))] == [0, 2]


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        ({}, [0, 1, 2]),
        ({"if_absent": True}, [2]),
        ({"newer_by": "seen"}, [0, 2]),
        ({"where": {"place": "depot"}}, [1]),
        ({"where": sk.F(Parcel.number) == 1}, [1]),
        ({"if_version": "seen"}, []),
    ],
)
def test_each_item_is_put_as_put_would(parcels: sk.Session, condition: dict[str, object], written: list[int]) -> None:
    stored = [Parcel(number=0, place="van", seen=3), Parcel(number=1, seen=9)]
    new = [Parcel(number=number, place="door", seen=5) for number in range(3)]

    def in_turn() -> list[int]:
        done = []
        for each in new:
            try:
                if parcels.put(sk.replace(each), **condition):  # type: ignore[arg-type]
                    done.append(each.number)
            except sk.ConditionFailed:
                pass
        return done

    parcels.put_many(stored)
    left = parcels.put_many(map(sk.replace, new), **condition)  # type: ignore[arg-type]
    assert [each.number for each in new if each.number not in {item.number for item in left}] == written
    parcels.batch(put=stored, delete=[Parcel.key(number=2)])
    assert in_turn() == written


# A condition of one dict is compiled once; the next item may have another version, or another class.
def test_conditions_of_several_versions_and_classes(parcels: sk.Session) -> None:
    parcels.put_many([Parcel(number=1, revision=4), Parcel(number=2, revision=5), Parcel(number=3, revision=4)])
    noted = Noted(number=1)
    given = [
        Parcel(number=1, revision=4),
        noted,
        Parcel(number=2, revision=5),
        Noted(number=2, revision=3),
        Parcel(number=3, revision=5),
    ]
    assert parcels.put_many(given, if_version="revision") == [given[3], given[4]]
    assert parcels.get(Parcel.key(number=1)) == given[0] == Parcel(number=1, revision=5)
    assert parcels.get(Noted.key(number=1)) == noted
    assert noted.changed is not None
    assert noted.revision == 1


def test_an_item_with_binary(parcels: sk.Session) -> None:
    assert parcels.put_many([Parcel(number=1, content=b"\0\xff")], if_absent=True) == []
    assert parcels.get(Parcel.key(number=1)) == Parcel(number=1, content=b"\0\xff")


def test_nothing_to_put(parcels: sk.Session) -> None:
    assert parcels.put_many([], if_absent=True) == []


def test_what_is_not_an_item(parcels: sk.Session) -> None:
    with pytest.raises(TypeError):
        parcels.put_many(["a"])  # type: ignore[type-var]
    with pytest.raises(TypeError):
        parcels.put_many(Parcel(number=1))  # type: ignore[arg-type]


def test_a_table_that_is_missing(db: sk.Session) -> None:
    with pytest.raises(ClientError, match="ResourceNotFound"):
        db.put_many([Parcel(number=1)], if_absent=True)


# Other tasks go on while many items are encoded: after a few of them, each has its turn.
async def _turns(count: int) -> int:
    turns = 0
    async with sk.async_connect("memory:") as session:
        await session.create_tables(PARCELS)
        putting = asyncio.ensure_future(session.put_many([Parcel(number=number) for number in range(count)]))
        while not putting.done():
            await asyncio.sleep(0)
            turns += 1
        await putting
    return turns


def test_other_tasks_have_their_turn() -> None:
    assert asyncio.run(_turns(20 * SLICE)) >= 20


# A store with faults gets requests, one for each item.
def test_throttled_puts_are_repeated() -> None:
    faults = sk.testing.Faults(seed=1, throttle=0.3)
    with sk.connect("memory:", faults=faults, pacing=Pacing(first_pause=0.0)) as session:
        session.create_tables(PARCELS)
        assert session.put_many([Parcel(number=number) for number in range(100)], if_absent=True) == []
        assert session.count(Parcel.by_place(place="depot")) == 100


# Without a condition, a batch says as much as a request for each item. The last one of a key remains.
def test_puts_without_a_condition_go_in_batches() -> None:
    faults = sk.testing.Faults(seed=1, throttle=0.2, unprocessed=0.2)
    with sk.connect("memory:", faults=faults, pacing=Pacing(first_pause=0.0)) as session:
        session.create_tables(PARCELS)
        items = [Parcel(number=number % 90, seen=number) for number in range(100)]
        assert session.put_many(items) == []
        assert sorted(each.seen for each in session.scan(Parcel)) == list(range(10, 100))
        assert session.meter.reading("put_many Parcel").calls < 30
        assert session.meter.reading("put Parcel").calls == 0


# The error of a batch does not name the item.
def test_an_item_that_the_store_rejects() -> None:
    with sk.connect("memory:", faults=sk.testing.Faults(seed=1)) as session:
        session.create_tables(PARCELS)
        with pytest.raises(sk.ModelError, match=r"Parcel.place"):
            session.put_many([Parcel(number=1), Parcel(number=2, place="x" * 3000)])
        assert session.get(Parcel.key(number=1)) is not None
