"""Mistakes in a declaration are rejected at import."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

import sortkey as sk
from tests.patterns.rekeying.users import BY_CITY, CITIES, USERS, User, UserInCity, in_cities, run


class Unfollowed(sk.Item, table="rekeyed-unfollowed"):
    user: str
    key = sk.Key("USER#{user}")


class Counted(sk.Item, table="rekeyed-counted"):
    user: str
    revision: Annotated[int, sk.version] = 0
    key = sk.Key("USER#{user}")


def nothing(_: Any) -> Iterator[sk.Item]:
    return iter(())


def test_old_items_need_a_stream() -> None:
    with pytest.raises(sk.DeclarationError, match=r'sk\.Table\("rekeyed-unfollowed", stream="KEYS_ONLY"\)'):
        sk.patterns.rekey("x", Unfollowed, nothing, to=UserInCity)


# A row that the old design and the new one share would be both the truth and what follows from it.
def test_the_new_items_are_of_other_classes() -> None:
    with pytest.raises(sk.DeclarationError, match="User is a class of the old design and of the new one"):
        sk.patterns.rekey("x", User, nothing, to=User)


def test_a_class_that_counts_its_writes_is_no_target() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Counted\.revision counts the writes"):
        sk.patterns.rekey("x", User, nothing, to=Counted)


@pytest.mark.parametrize("by", [["user"], ["team", "points"], ["points"]])
def test_a_group_has_the_first_fields_of_the_key(by: list[str]) -> None:
    with pytest.raises(sk.DeclarationError, match="the first fields of the key of User, at least those of its part"):
        sk.patterns.rekey("x", User, nothing, to=UserInCity, by=by)


def test_several_classes_need_a_group() -> None:
    with pytest.raises(sk.DeclarationError, match="several classes need by="):
        sk.patterns.rekey("x", [User, Unfollowed], nothing, to=UserInCity)  # type: ignore[call-overload]


def test_the_tables_are_those_of_both_designs_and_of_the_flag() -> None:
    assert [table.name for table in BY_CITY.tables] == [USERS.name, CITIES.name, "sortkey-rekeys"]


def test_shadow_is_a_share() -> None:
    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(ValueError, match="from 0 to 1, not 5"):
            BY_CITY.reader(db, shadow=5)

    run(test)


def test_the_function_makes_what_was_declared() -> None:
    def wrong(user: User) -> Iterator[sk.Item]:
        yield Unfollowed(user=user.user)

    wrongly = sk.patterns.rekey("wrong", User, wrong, to=UserInCity)

    async def test(db: sk.AsyncSession) -> None:
        await db.put(User(team="a", user="u"))
        with pytest.raises(TypeError, match="the new items are of UserInCity, as declared, not Unfollowed"):
            await wrongly.start(db)

    run(test)


@pytest.mark.slow
def test_a_store_without_transactions_is_refused() -> None:
    async def test(db: sk.AsyncSession) -> None:
        with pytest.raises(sk.Unsupported, match="re-keying users-by-city"):
            BY_CITY.writer(db)

    async def opened() -> None:
        async with sk.async_connect("http://127.0.0.1:9?store=alternator") as db:
            await test(db)

    asyncio.run(opened())


def test_in_cities_is_a_function_of_its_user() -> None:
    user = User(team="a", user="u", cities=["x", "y"], points=3)
    assert [each.city for each in in_cities(user)] == ["x", "y"]
