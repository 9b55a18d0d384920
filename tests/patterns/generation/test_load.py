"""Loads: all at once or not at all, whatever happens to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from itertools import count
from unittest.mock import patch

import pytest

import sortkey as sk
from sortkey.model.maintenance import load as store_load
from sortkey.patterns.generation import load as load_module
from tests.patterns.generation.persons import AS_OF, PEOPLE, Person, as_of, days, persons, run, stored

pytestmark = pytest.mark.every_store


def test_a_day_of_loads(store: str) -> None:
    async def test(db: sk.AsyncSession) -> None:
        assert await days(db) == [None, None]
        first = await PEOPLE.load(db, persons(1), as_of=as_of(1))
        assert (first.rows, first.as_of) == (2, as_of(1))
        assert await days(db) == [1, 1]

        load = await PEOPLE.begin(db, as_of=as_of(2))
        await load.write(persons(2, ("ada",)))
        assert await days(db) == [1, 1]
        await load.publish()
        assert await days(db) == [2, None]

        assert (await PEOPLE.roll_back(db)).id == first.id
        assert await days(db) == [1, 1]
        with pytest.raises(
            sk.patterns.NoEarlierGeneration, match=r"no generation of generation-persons\.Person is kept"
        ):
            await PEOPLE.roll_back(db)

    run(test, store)


def test_a_load_that_fails_changes_nothing_that_is_served() -> None:
    def broken() -> Iterator[Person]:
        yield from persons(2)
        raise OSError("the file ends here")

    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        with pytest.raises(sk.LoadError, match="after 2 items: OSError: the file ends here") as raised:
            await PEOPLE.load(db, broken(), as_of=as_of(2))
        assert "what is served has not changed" in raised.value.__notes__[0]
        assert await days(db) == [1, 1]

    run(test)


def test_a_wrong_item_is_named() -> None:
    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(sk.LoadError, match="after 1 items: TypeError: expected a Person, got 'bob'"):
            await PEOPLE.load(db, [*persons(1, ("ada",)), "bob"], as_of=as_of(1))  # type: ignore[list-item]

    run(test)


def test_items_may_come_from_an_async_iterator() -> None:
    async def source() -> AsyncIterator[Person]:
        for each in persons(1):
            yield each

    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, source(), as_of=as_of(1))
        assert await days(db) == [1, 1]

    run(test)


# Whoever publishes last, readers must not go back in time.
def test_of_two_loads_at_once_the_later_as_of_wins() -> None:
    async def test(db: sk.AsyncSession) -> None:
        older, newer = await PEOPLE.begin(db, as_of=as_of(1)), await PEOPLE.begin(db, as_of=as_of(2))
        await newer.write(persons(2))
        await older.write(persons(1))
        await newer.publish()
        with pytest.raises(sk.patterns.Superseded, match=r"served as of 2026-05-18.*, which is later than 2026-05-17"):
            await older.publish()
        assert await days(db) == [2, 2]
        with pytest.raises(sk.patterns.Superseded, match="To serve an older one, roll back first"):
            await PEOPLE.begin(db, as_of=as_of(1))

    run(test)


def test_a_load_with_the_same_as_of_corrects_the_one_before() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        await PEOPLE.load(db, persons(7), as_of=as_of(1))
        assert await days(db) == [7, 7]

    run(test)


# Whoever runs the same load twice wants the one before to be served again, not its twin.
def test_a_load_of_the_same_source_does_not_replace_what_a_rollback_serves() -> None:
    async def test(db: sk.AsyncSession) -> None:
        first = await PEOPLE.load(db, persons(1), as_of=as_of(1), source="gold/1")
        for resume in (True, False):
            twin = await PEOPLE.begin(db, as_of=as_of(2), source="gold/2", resume=resume)
            await twin.write(persons(2))
            await twin.publish()
        assert await days(db) == [2, 2]
        assert (await PEOPLE.roll_back(db)).id == first.id
        assert await days(db) == [1, 1]

    run(test)


# A correction is another load, although its as-of is the same.
def test_a_load_of_another_source_can_be_rolled_back() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1), source="gold/1")
        await PEOPLE.load(db, persons(7), as_of=as_of(1), source="gold/1 mended")
        await PEOPLE.roll_back(db)
        assert await days(db) == [1, 1]

    run(test)


def test_a_load_that_is_not_to_be_resumed_begins_anew() -> None:
    async def test(db: sk.AsyncSession) -> None:
        first = await PEOPLE.begin(db, as_of=as_of(1), source="gold/1")
        second = await PEOPLE.begin(db, as_of=as_of(1), source="gold/1", resume=False)
        assert first.id != second.id
        assert (await PEOPLE.begin(db, as_of=as_of(1), source="gold/1")).id in (first.id, second.id)

    run(test)


def test_an_unfinished_load_of_the_same_source_is_resumed() -> None:
    names = [f"p{number:03}" for number in range(50)]

    def interrupted() -> Iterator[Person]:
        yield from persons(1, names[:25])
        raise OSError("the file ends here")

    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(sk.LoadError):
            await PEOPLE.load(db, interrupted(), as_of=as_of(1), source="gold/1")
        seen: list[sk.LoadResult] = []
        served = await PEOPLE.load(db, persons(1, names), as_of=as_of(1), source="gold/1", progress=seen.append)
        assert (seen[-1].items, seen[-1].position) == (25, 50)
        assert await stored(db) == {served.id: served.rows} == {served.id: 50}

    run(test)


# What was written up to the last note is not written again after a kill.
def test_a_load_notes_how_far_it_is() -> None:
    noted: list[int] = []

    async def test(db: sk.AsyncSession) -> None:
        load = await PEOPLE.begin(db, as_of=as_of(1), source="gold/1")

        async def source() -> AsyncIterator[Person]:
            for name in (f"p{number:02}" for number in range(64)):
                yield Person(person=name, day=1)
                (generation,) = await PEOPLE._book(db).generations()
                noted.append(generation.rows)

        await load.write(source())

    with patch.object(load_module, "NOTED", 8), patch.object(store_load, "COMMIT_ROWS", 8):
        run(test)
    assert noted == sorted(noted)
    assert len(set(noted)) > 1


@pytest.mark.parametrize(("day", "source"), [(1, "gold/2"), (2, "gold/1"), (1, None)])
def test_a_load_of_another_source_or_as_of_starts_anew(day: int, source: str | None) -> None:
    async def test(db: sk.AsyncSession) -> None:
        first = await PEOPLE.begin(db, as_of=as_of(1), source="gold/1")
        assert (await PEOPLE.begin(db, as_of=as_of(1), source="gold/1")).id == first.id
        assert (await PEOPLE.begin(db, as_of=as_of(day), source=source)).id != first.id

    run(test)


def test_a_source_that_has_become_shorter_is_rejected() -> None:
    async def test(db: sk.AsyncSession) -> None:
        first = await PEOPLE.begin(db, as_of=as_of(1), source="gold/1")
        await first.write(persons(1))
        with pytest.raises(ValueError, match=r"after=2, but the source has only 1 items"):
            await PEOPLE.load(db, persons(1, ("ada",)), as_of=as_of(1), source="gold/1")

    run(test)


def test_two_processes_may_load_the_same_source() -> None:
    async def test(db: sk.AsyncSession) -> None:
        first, second = [await PEOPLE.begin(db, as_of=as_of(1), source="gold/1") for _ in range(2)]
        await first.write(persons(1))
        served = await first.publish()
        await second.write(persons(1))
        assert await second.publish() == served
        assert await stored(db) == {served.id: 2}

    run(test)


# Otherwise the slower process would undo the rollback.
def test_a_generation_that_was_rolled_back_is_not_published_again() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await PEOPLE.load(db, persons(1), as_of=as_of(1))
        first, second = [await PEOPLE.begin(db, as_of=as_of(2), source="gold/2") for _ in range(2)]
        await first.write(persons(2))
        await first.publish()
        await PEOPLE.roll_back(db)
        await second.write(persons(2))
        with pytest.raises(sk.patterns.Superseded, match="was published before and is no longer served"):
            await second.publish()
        assert await days(db) == [1, 1]

    run(test)


def test_processes_may_share_a_load() -> None:
    async def test(db: sk.AsyncSession) -> None:
        load = await PEOPLE.begin(db, as_of=as_of(1))
        shares = [await (await PEOPLE.join(db, load.id)).write_share(persons(1, (name,))) for name in ("ada", "bob")]
        served = await load.publish(rows=sum(shares))
        assert (served.rows, await days(db)) == (2, [1, 1])
        with pytest.raises(sk.patterns.Superseded, match="there is no generation 'other'"):
            await PEOPLE.join(db, "other")

    run(test)


def test_a_discarded_load_cannot_be_published() -> None:
    async def test(db: sk.AsyncSession) -> None:
        load = await PEOPLE.begin(db, as_of=as_of(1))
        await load.write(persons(1))
        await load.discard()
        with pytest.raises(sk.patterns.Superseded, match="was discarded, so it cannot be published"):
            await load.publish()
        with pytest.raises(sk.patterns.Superseded, match="was discarded, so its load cannot go on"):
            await load.write(persons(1))

    run(test)


# A load of hours must not go on for nothing.
def test_a_load_that_is_discarded_meanwhile_stops_at_its_next_note() -> None:
    endless = (Person(person=f"p{number}", day=1) for number in count())

    async def test(db: sk.AsyncSession) -> None:
        load = await PEOPLE.begin(db, as_of=as_of(1))
        await load.discard()
        with pytest.raises(sk.patterns.Superseded, match="its load cannot go on"):
            await load.write(endless)
        with pytest.raises(sk.patterns.Superseded, match="its load cannot go on"):
            await load.write_share(endless)

    with patch.object(load_module, "NOTED", 8):
        run(test)


def test_an_as_of_needs_a_zone() -> None:
    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(ValueError, match="as_of is a datetime with a time zone"):
            await PEOPLE.load(db, persons(1), as_of=datetime(2026, 5, 16))  # noqa: DTZ001
        with pytest.raises(ValueError, match="as_of is a datetime with a time zone, not '2026-05-16T00:00:00Z'"):
            await PEOPLE.load(db, persons(1), as_of="2026-05-16T00:00:00Z")  # type: ignore[arg-type]

    run(test)


def test_generations_need_an_open_session() -> None:
    with sk.connect("memory:") as db, pytest.raises(TypeError, match=r"need an open session, of sk\.async_connect"):
        PEOPLE.reader(db)  # type: ignore[arg-type]


def test_an_id_begins_with_the_as_of() -> None:
    async def test(db: sk.AsyncSession) -> None:
        assert (await PEOPLE.begin(db, as_of=AS_OF)).id.startswith("20260516T000000Z-")

    run(test)
