"""A re-keying from the start to the end: filled, followed, read, back, finished, and what is refused in between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import sortkey as sk
from sortkey.patterns.rekeying import group_writer, handover, walk
from sortkey.patterns.rekeying import reader as reader_module
from sortkey.patterns.rekeying.group_writer import GroupNote, digest_of
from tests.patterns.rekeying.users import BY_CITY, BY_TEAM, User, UserInCity, expected, new_rows, run, written

ADA = User(team="a", user="ada", cities=["x", "y"], points=1)
BOB = User(team="a", user="bob", cities=["y"], points=2)
CYD = User(team="b", user="cyd", points=4)


class Labels(sk.Item, table="rekeyed-labels"):
    label: str
    names: set[str]
    inner: dict[str, list[set[int]]]

    key = sk.Key("LABEL#{label}")


async def nothing() -> None:
    """Nothing is left to follow."""


def test_a_new_design_is_filled_read_and_finished(store: str) -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.batch(put=[ADA, BOB, CYD])
        async with sk.feeds.Follower(db, sk.feeds.rekey_feeds(BY_TEAM, db)) as follower:
            flag = await BY_TEAM.start(db)
            assert (flag.phase, flag.reads, flag.copied) == ("FOLLOWING", "old", 3)
            assert await new_rows(db) == expected([ADA, BOB, CYD], totals=True)

            await db.update(User.key(team="a", user="ada"), {"cities": ["z"]})
            await db.delete(User.key(team="b", user="cyd"))
            await follower.caught_up()
            ada = sk.replace(ADA, cities=["z"])
            assert await new_rows(db) == expected([ada, BOB], totals=True)

            assert await BY_TEAM.switch(db) == sk.patterns.RekeyCheck(2, 0, 0, ())
            assert await BY_TEAM.reader(db).design() == "new"
            assert (await BY_TEAM.back(db)).reads == "old"
            await BY_TEAM.switch(db)
            await BY_TEAM.finish(db, caught_up=follower.caught_up)
            reader = BY_TEAM.reader(db)
            assert (await reader.design(), await written(reader)) == ("new", "new")
            await db.put(UserInCity(city="z", user="new", points=9))
            await follower.caught_up()
        assert (await BY_TEAM.remove_old(db)).rows == 2
        assert await BY_TEAM.remove_old(db, dry_run=False) == sk.patterns.RekeyRemoval(2, 0, ())
        assert [user async for user in db.scan(User)] == []
        assert [note async for note in db.scan(GroupNote)] == []
        assert await new_rows(db) == {**expected([ada, BOB], totals=True), ("z", "new"): 9}

    run(test, store)


def test_steps_come_in_their_order() -> None:
    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(sk.patterns.RekeyRefused, match="was not started in this store"):
            await BY_CITY.switch(db)
        await BY_CITY.start(db)
        with pytest.raises(sk.patterns.RekeyRefused, match="still read the old design of users-by-city; switch first"):
            await BY_CITY.finish(db, caught_up=nothing)
        with pytest.raises(sk.patterns.RekeyRefused, match="still write the old design"):
            await BY_CITY.remove_old(db, dry_run=False)
        await BY_CITY.switch(db)
        await BY_CITY.finish(db, caught_up=nothing)
        with pytest.raises(sk.patterns.RekeyRefused, match="is finished: programs write the new design"):
            await BY_CITY.back(db)
        with pytest.raises(sk.patterns.RekeyRefused, match="the new rows no longer follow"):
            await BY_CITY.check(db)

    run(test)


# The command may be killed anywhere: what it has read but not noted is read again.
def test_a_backfill_that_fails_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "PART", 2)
    fails_at = [5]

    def in_one_city(user: User) -> Iterator[UserInCity]:
        if user.points == fails_at[0]:
            raise OSError("not now")
        yield UserInCity(city="x", user=user.user, points=user.points)

    failing = sk.patterns.rekey("failing", User, in_one_city, to=UserInCity)

    async def test(db: sk.AsyncSession) -> None:
        await db.batch(put=(User(team="t", user=f"u{number}", points=number) for number in range(9)))
        with pytest.raises(OSError, match="not now"):
            await failing.start(db)
        with pytest.raises(sk.patterns.RekeyRefused, match="the backfill of failing is not complete; start it again"):
            await failing.switch(db)
        status = await failing.status(db)
        assert status.flag is not None
        assert 0 < status.flag.copied < 9
        fails_at[0] = -1
        assert (await failing.start(db)).copied == 9
        assert len(await new_rows(db)) == 9

    run(test)


# Processes have other orders of sets, and compare what others have noted.
def test_a_digest_is_the_same_in_every_process() -> None:
    item = Labels(label="a", names={"x", "y", "z", "w"}, inner={"sets": [{1, 2, 3}]})
    other = Labels(label="a", names={"w", "z", "y", "x"}, inner={"sets": [{3, 2, 1}]})
    assert digest_of(item) == digest_of(other) == "6d66d38b9a0e2cd5"
    assert digest_of(sk.replace(item, names={"x"})) != digest_of(item)


# More rows than a transaction has: in several, each on the condition that nobody else writes the group.
def test_a_group_may_have_many_rows() -> None:
    async def test(db: sk.AsyncSession) -> None:
        many = [f"city{number}" for number in range(350)]
        await db.put(sk.replace(ADA, cities=many))
        await BY_CITY.start(db)
        assert len(await new_rows(db)) == 350
        await db.put(sk.replace(ADA, cities=many[300:], points=7))
        assert (await BY_CITY.check(db)).behind == 1
        assert set((await new_rows(db)).values()) == {7}
        assert len(await new_rows(db)) == 50

    run(test)


def test_two_groups_must_not_have_a_row_in_common() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.put(UserInCity(city="x", user="a-ada", points=100))
        await db.put(ADA)
        with pytest.raises(
            sk.patterns.RekeyConflict, match=r'has the new row UserInCity \["x","a-ada"\], which is there'
        ):
            await BY_CITY.start(db)
        assert await new_rows(db) == {("x", "a-ada"): 100}

    run(test)


# Changes that nobody has followed, such as those of a group that is gone.
def test_a_check_mends_what_the_feed_has_missed() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.batch(put=[ADA, BOB])
        await BY_CITY.start(db)
        await db.delete(User.key(team="a", user="ada"))
        await db.delete(UserInCity.key(city="y", user="a-bob"))
        found = await BY_CITY.check(db)
        assert (found.groups, found.behind, found.different) == (2, 2, 0)
        assert await new_rows(db) == expected([BOB])

    run(test)


# Nothing would ever make the designs equal, so reads do not switch.
def test_a_function_that_does_not_follow_from_its_items_is_found() -> None:
    def unsteady(user: User) -> Iterator[UserInCity]:
        points[0] += 1
        yield UserInCity(city="x", user=user.user, points=points[0])

    points = [0]
    unsteadily = sk.patterns.rekey("unsteady", User, unsteady, to=UserInCity)

    async def test(db: sk.AsyncSession) -> None:
        await db.put(ADA)
        await unsteadily.start(db)
        found = await unsteadily.switch(db)
        assert (found.different, found.examples) == (1, ('["a","ada"]',))
        assert await unsteadily.reader(db).design() == "old"

    run(test)


# A program that does not ask which design to write: its row is in no new row, so it must not be lost.
def test_an_old_row_that_was_written_after_the_handover_is_kept() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await db.batch(put=[ADA, BOB])
        await BY_CITY.start(db)
        await BY_CITY.switch(db)
        await BY_CITY.finish(db, caught_up=nothing)
        await db.update(User.key(team="a", user="bob"), {"points": 50})
        removed = await BY_CITY.remove_old(db, dry_run=False)
        assert (removed.rows, removed.kept, removed.examples) == (1, 1, ('["a","bob"]',))
        assert "1 groups were written after the handover and stay" in str(removed)
        assert [user.user async for user in db.scan(User)] == ["bob"]

    run(test)


def test_a_handover_that_is_stopped_is_given_up() -> None:
    async def stopped() -> None:
        raise ConnectionError("the follower is gone")

    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        await BY_CITY.switch(db)
        with pytest.raises(ConnectionError):
            await BY_CITY.finish(db, caught_up=stopped)
        async with BY_CITY.reader(db) as reader:
            assert await written(reader) == "old"

    run(test)


def test_programs_wait_during_the_handover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "RENEW", 0.02)

    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        await BY_CITY.switch(db)
        release, asked = asyncio.Event(), asyncio.Event()

        async def caught_up() -> None:
            asked.set()
            await release.wait()

        finishing = asyncio.create_task(BY_CITY.finish(db, caught_up=caught_up))
        await asked.wait()
        writing = asyncio.create_task(written(BY_CITY.reader(db)))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not writing.done()
        release.set()
        await finishing
        assert await writing == "new"

    run(test)


# However long it takes: what it writes must be in the new rows, or the old row would be the only one.
@pytest.mark.slow
def test_the_handover_waits_for_writes_under_way() -> None:
    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        await BY_CITY.switch(db)
        waited = asyncio.Event()

        async def caught_up() -> None:
            waited.set()
            await BY_CITY.writer(db).on_changes([change_of(ADA)])

        async with BY_CITY.reader(db) as reader, BY_CITY.reader(db) as other:
            assert await written(other) == "old"
            async with reader.writing() as design:
                assert design == "old"
                finishing = asyncio.create_task(BY_CITY.finish(db, caught_up=caught_up))
                while (await BY_CITY.status(db)).flag.phase != "HANDOVER":  # type: ignore[union-attr]
                    await asyncio.sleep(0)
                await asyncio.sleep(4 * handover.LOOK)
                assert not waited.is_set()
                await db.put(ADA)
            await finishing
            assert await new_rows(db) == expected([ADA])
            assert await written(reader) == await written(other) == "new"
        assert await processes(db) == []

    run(test)


def test_the_handover_does_not_wait_for_the_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "DEAD", 0.05)
    monkeypatch.setattr(handover, "LOOK", 0.01)

    async def test(db: sk.AsyncSession) -> None:
        await BY_CITY.start(db)
        await BY_CITY.switch(db)
        await db.put(handover.WritingProcess(rekey=BY_CITY.name, process="dead", beats=7))
        await BY_CITY.finish(db, caught_up=nothing)
        assert await processes(db) == []

    run(test)


async def processes(db: sk.AsyncSession) -> list[handover.WritingProcess]:
    return [each async for each in db.scan(handover.WritingProcess, consistent=True)]


def change_of(user: User) -> sk.Change[User]:
    return sk.Change("MODIFY", None, user, User.key.of(user).key(), "0", datetime.now(UTC))


def test_the_status_says_where_it_is() -> None:
    async def test(db: sk.AsyncSession) -> None:
        assert str(await BY_CITY.status(db)) == "users-by-city: not started"
        await db.put(ADA)
        await BY_CITY.start(db)
        assert str(await BY_CITY.status(db)).splitlines() == [
            "users-by-city: the new rows follow the old ones",
            "  reads         old design",
            "  writes        old design",
            "  backfill      1 old items read",
            "  shadow reads  0 same, 0 late, 0 different, 0 failed",
        ]
        await BY_CITY.switch(db)
        assert "reads         new design, since 20" in str(await BY_CITY.status(db))

    run(test)


def test_changes_before_the_start_are_left_to_the_backfill() -> None:
    async def test(db: sk.AsyncSession) -> None:
        async with sk.feeds.Follower(db, sk.feeds.rekey_feeds(BY_CITY, db)) as follower:
            await db.put(ADA)
            await follower.caught_up()
            assert await new_rows(db) == {}
            await BY_CITY.start(db)
            assert await new_rows(db) == expected([ADA])

    run(test)


# A transaction that is as large as it may be takes the note, too.
def test_a_transaction_has_room_for_the_note() -> None:
    assert group_writer._WRITES == 99
