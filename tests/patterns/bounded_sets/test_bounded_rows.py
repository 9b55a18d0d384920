"""Bounded rows: every outcome with its size, the parent's count, and stores without transactions."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

import sortkey as sk
from tests.patterns.bounded_sets.boards import ADA, ALBUMS, HOLIDAYS, Album, Board, Picture, picture, picture_key

PICTURES = sk.patterns.bounded_rows(Album, "pictures", Picture, limit=2, by={"id": "album"})


def outcomes(*answers: sk.patterns.Bounded) -> list[tuple[str, int]]:
    return [(each.outcome, each.size) for each in answers]


def count(db: sk.Session) -> int:
    album = db.get(HOLIDAYS, consistent=True)
    assert album is not None
    return album.pictures


def test_every_outcome_has_the_size(db: sk.Session) -> None:
    added = [PICTURES.add(db, picture(name)) for name in ("a", "a", "b", "c", "b")]
    assert outcomes(*added) == [("added", 1), ("present", 1), ("added", 2), ("full", 2), ("present", 2)]
    removed = [PICTURES.remove(db, picture_key(name)) for name in ("c", "a", "a", "b", "b")]
    assert outcomes(*removed) == [("absent", 2), ("removed", 1), ("absent", 1), ("removed", 0), ("absent", 0)]
    assert PICTURES.add(db, picture("d")) == sk.patterns.Bounded(outcome="added", size=1)
    assert [each.name for each in db.iterate(Picture.key(album="holidays"))] == ["d"]
    assert count(db) == 1


def test_a_row_that_is_present_stays_as_it_is(memory: sk.Session) -> None:
    PICTURES.add(memory, picture("a", width=1))
    PICTURES.add(memory, picture("a", width=2))
    stored = memory.get(picture_key("a"))
    assert stored is not None
    assert stored.width == 1


def test_without_a_parent_nothing_is_written(db: sk.Session) -> None:
    lost = Picture(album="lost", name="a")
    with pytest.raises(sk.ItemMissing, match=r"Album.key\(id='lost'\) does not exist"):
        PICTURES.add(db, lost)
    with pytest.raises(sk.ItemMissing, match=r"Album.key\(id='lost'\) does not exist"):
        PICTURES.remove(db, Picture.key(album="lost", name="a"))
    assert db.get(Picture.key(album="lost", name="a")) is None
    assert db.get(Album.key(id="lost")) is None


# A row that was put without the pattern is not in the count. Below 0, the count would let in more rows than the limit.
def test_a_count_that_misses_rows_is_an_error(db: sk.Session) -> None:
    db.put(picture("old"))
    missing = (
        r"Album\.key\(id='holidays'\)\.pictures is 0, although Picture\.key\(.*'old'\) is there: .* Count the rows"
    )
    with pytest.raises(sk.ConditionFailed, match=missing):
        PICTURES.remove(db, picture_key("old"))
    assert db.get(picture_key("old"), consistent=True) is not None
    assert count(db) == 0

    db.update(HOLIDAYS, {"pictures": -1})
    with pytest.raises(sk.ConditionFailed, match=r"pictures is -1: .* Count the rows of this Album, and set pictures"):
        PICTURES.add(db, picture("new"))
    assert db.get(picture_key("new"), consistent=True) is None


def test_an_error_after_the_change_says_that_it_was_made(memory: sk.Session) -> None:
    key = {"pk": {"S": "ALBUM#holidays"}, "sk": {"S": "ALBUM"}}
    memory.client.put_item(TableName="bounded-albums", Item={**key, "id": {"S": "holidays"}, "pictures": {"N": "0.5"}})
    with pytest.raises(sk.DecodeError, match=r"'a'\) was added, but its Album cannot be decoded: .*1\.5") as error:
        PICTURES.add(memory, picture("a"))
    assert error.value.written
    assert memory.get(picture_key("a")) is not None


# A change is a transaction and a read; a rejected one is a transaction, and another that reads.
def test_what_a_change_costs(memory: sk.Session) -> None:
    for name in ("a", "a", "b", "c"):
        PICTURES.add(memory, picture(name))
    readings = {reading.path: reading for reading in memory.meter.readings()}
    assert readings["Album.key"].calls == 2
    assert readings["get_many Album, Picture"].calls == 2
    assert (readings["bounded Picture"].calls, readings["bounded Picture"].units) == (2, 8)


def test_an_async_session_awaits_the_answer() -> None:
    async def main() -> list[sk.patterns.Bounded]:
        async with sk.async_connect("memory:", tables=[ALBUMS]) as db:
            await db.create_tables()
            await db.put(Album(id="holidays"))
            return [await PICTURES.add(db, picture("a")), await PICTURES.remove(db, picture_key("a"))]

    assert outcomes(*asyncio.run(main())) == [("added", 1), ("removed", 0)]


# Another writer makes room between the transaction and the read: the change is tried again, and is made.
def test_a_change_that_became_possible_is_made(memory: sk.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        PICTURES.add(memory, picture(name))
    call = memory.client._call

    def call_after_removal(operation: str, members: dict[str, Any]) -> Any:
        if operation == "TransactGetItems":
            monkeypatch.undo()
            PICTURES.remove(memory, picture_key("a"))
        return call(operation, members)

    monkeypatch.setattr(memory.client, "_call", call_after_removal)
    assert PICTURES.add(memory, picture("c")) == sk.patterns.Bounded("added", 2)
    assert [each.name for each in memory.iterate(Picture.key(album="holidays"))] == ["b", "c"]


@pytest.mark.slow
def test_a_store_without_transactions_is_rejected(our_endpoint: str) -> None:
    with (
        sk.connect(f"{our_endpoint}?store=alternator&prefix=bounded-", tables=[Album, Picture]) as db,
        pytest.raises(sk.Unsupported, match=r"bounded rows Picture.* needs transactions, which ScyllaDB Alternator"),
    ):
        PICTURES.add(db, picture("a"))


def test_what_is_no_row_or_path_is_named(memory: sk.Session) -> None:
    with pytest.raises(TypeError, match="takes items of Picture, not Album"):
        PICTURES.add(memory, Album(id="holidays"))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"removes items of Picture, not Board\.key"):
        PICTURES.remove(memory, ADA)  # type: ignore[arg-type]
    with pytest.raises(sk.NoAccessPath, match="it needs name"):
        PICTURES.remove(memory, Picture.key(album="holidays"))


class Expiring(sk.Item, table=sk.Table("bounded-expiring", ttl="until")):
    id: str
    number: int
    until: datetime | None = None
    key = sk.Key("ALBUM#{id}", "{number}")


class Tagged(sk.Item, table=sk.Table("bounded-tagged"), tag=True):
    id: str
    number: int
    key = sk.Key("ALBUM#{id}", "{number}")


class Five(sk.Item, table=sk.Table("bounded-five")):
    id: str
    pictures: int = 5
    key = sk.Key("ALBUM#{id}", "ALBUM")


class Numbered(sk.Item, table=sk.Table("bounded-numbered")):
    id: int
    name: str
    key = sk.Key("ALBUM#{id}", "{name}")


@pytest.mark.parametrize(
    ("parent", "field", "child", "by", "message"),
    [
        (Album, "pics", Picture, {"id": "album"}, r"Album has no field 'pics'; did you mean 'pictures'"),
        (Board, "name", Picture, {"user": "album"}, "Board.name counts rows, so it must be an int"),
        (Numbered, "id", Picture, {}, "Numbered.id is part of the primary key"),
        (
            Five,
            "pictures",
            Picture,
            {"id": "album"},
            "Five.pictures is 5 by default; a parent without rows must count 0",
        ),
        (Album, "pictures", Album, {}, "must be of different classes"),
        (Album, "pictures", Picture, {}, r"the key of Picture has no 'id'.* by=\{\"id\": …\}"),
        (Album, "pictures", Picture, {"ids": "album"}, "by= names 'ids', which is not in the key of Album; did you"),
        (Album, "pictures", Numbered, {}, "Album.id is str, and Numbered.id.* is int"),
        (Album, "pictures", Expiring, {}, "Expiring.until lets rows expire"),
        (Album, "pictures", Tagged, {}, "Tagged has a tag"),
    ],
)
def test_declarations_that_cannot_work_are_rejected(
    parent: type[sk.Item], field: str, child: type[sk.Item], by: dict[str, str], message: str
) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.patterns.bounded_rows(parent, field, child, limit=2, by=by)


def test_the_limit_is_checked() -> None:
    with pytest.raises(sk.DeclarationError, match="the bounded rows of Album: limit= is the largest number"):
        sk.patterns.bounded_rows(Album, "pictures", Picture, limit=0, by={"id": "album"})
