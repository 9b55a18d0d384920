"""Who follows whom, in both directions, counted, on every store."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import sortkey as sk
from sortkey.services.pages import page_arguments
from sortkey_services.social.model import FOLLOWERS, FOLLOWING, Follow, FollowCounts, User
from tests.sortkey_services.social.conftest import NOON, Service

pytestmark = pytest.mark.every_store


def following(service: Service, user: str) -> list[str]:
    return [each.followed for each in service.wait(service.social.follows.following(user, page_arguments()))]


def followers(service: Service, user: str) -> list[str]:
    return [each.user for each in service.wait(service.social.follows.followers(user, page_arguments()))]


def test_each_direction_has_the_edge_and_both_users_are_counted(service: Service) -> None:
    service.users("ada", "bob", "cleo")
    service.follow(("ada", "cleo"), ("ada", "bob"), ("bob", "cleo"))
    assert following(service, "ada") == ["bob", "cleo"]
    assert followers(service, "cleo") == ["ada", "bob"]
    assert (following(service, "cleo"), followers(service, "ada")) == ([], [])
    service.count()
    assert {user: service.counts(user) for user in ("ada", "bob", "cleo")} == {
        "ada": (2, 0),
        "bob": (1, 1),
        "cleo": (0, 2),
    }


def test_following_twice_is_one_edge_and_keeps_its_since(service: Service) -> None:
    service.users("ada", "bob")
    service.follow(("ada", "bob"))
    service.clock.advance(3600)
    assert service.wait(service.social.follows.follow("ada", "bob")) == NOON
    assert service.wait(service.social.follows.since("ada", "bob")) == NOON
    assert service.wait(service.social.follows.since("bob", "ada")) is None
    service.count()
    assert service.counts("bob") == (0, 1)


def test_ending_it_takes_it_out_of_both_lists_and_counts_also_twice(service: Service) -> None:
    service.users("ada", "bob")
    service.follow(("ada", "bob"), ("bob", "ada"))
    service.count()
    service.unfollow("ada", "bob")
    service.unfollow("ada", "bob")
    assert (following(service, "ada"), followers(service, "bob")) == ([], [])
    service.count()
    assert (service.counts("ada"), service.counts("bob")) == ((0, 1), (1, 0))


def test_many_at_once_are_counted_once_each(service: Service) -> None:
    fans = [f"fan{number}" for number in range(12)]
    service.users("ada", *fans)

    async def together() -> None:
        follows = service.social.follows
        # Each twice at once, and every other one ends it afterwards.
        since = await asyncio.gather(*(follows.follow(fan, "ada") for fan in (*fans, *fans)))
        assert since[:12] == since[12:]
        await asyncio.gather(*(follows.unfollow(fan, "ada") for fan in (*fans[::2], *fans[::2])))

    service.wait(together())
    assert followers(service, "ada") == sorted(fans[1::2])
    service.count()
    assert service.counts("ada") == (0, 6)


def test_nobody_follows_oneself(service: Service) -> None:
    service.users("ada")
    for call in (service.social.follows.follow, service.social.follows.since, service.social.follows.unfollow):
        with pytest.raises(sk.services.BadRequest, match="nobody follows oneself"):
            service.wait(call("ada", "ada"))


def test_there_are_no_edges_of_users_who_do_not_exist(service: Service) -> None:
    service.users("ada")
    for user, other in (("ada", "nobody"), ("nobody", "ada")):
        with pytest.raises(sk.services.NotFound, match="there is no user 'nobody'"):
            service.follow((user, other))
    with pytest.raises(sk.services.NotFound, match="'nobody'"):
        following(service, "nobody")
    assert followers(service, "ada") == []


def test_ids_may_have_any_characters_but_a_slash(service: Service) -> None:
    texts = ["a#b", "FOLLOWS#", "ü:ß", "日本", "x" * 256]
    with pytest.raises(sk.services.BadRequest, match="user: must not contain /"):
        service.users("a/b")
    for text in texts:
        service.users("ada", text, city=text)
        service.follow(("ada", text), (text, "ada"))
        in_city = service.wait(service.social.users.in_city(text, page_arguments()))
        assert {each.user for each in in_city.items} == {"ada", text}
    assert sorted(following(service, "ada")) == sorted(followers(service, "ada")) == sorted(texts)
    service.count()
    assert {service.counts(text) for text in texts} == {(1, 1)}


# The profile lies in the partition of the user's edges, as in the adjacency list of the textbook.
def test_a_collection_has_the_user_and_all_whom_the_user_follows(service: Service) -> None:
    service.users("ada", "bob", "cleo")
    service.follow(("ada", "bob"), ("ada", "cleo"))

    async def collected() -> list[sk.Item]:
        return [item async for item in service.session.iterate(sk.collection(User.key, user="ada"))]

    rows = service.wait(collected())
    assert [type(row).__name__ for row in rows] == ["Follow", "Follow", "PinBoard", "User"]


def test_a_page_is_one_query_in_each_direction(service: Service) -> None:
    service.users("ada", "bob")
    service.follow(("ada", "bob"), ("bob", "ada"))
    following(service, "ada")
    followers(service, "ada")
    assert service.session.meter.reading(Follow.key).calls >= 1
    assert service.session.meter.reading(Follow.followers).calls == 1
    assert service.session.explain(Follow.followers(followed="ada")).index == "gsi1"


def test_a_changed_profile_moves_to_its_city_and_keeps_the_follows(service: Service) -> None:
    service.users("ada", "bob", "cleo")
    service.follow(("ada", "bob"))
    service.clock.advance(timedelta(days=1).total_seconds())
    service.users("ada", city="Paris")
    service.count()

    async def living(city: str) -> list[str]:
        return [each.user for each in (await service.social.users.in_city(city, page_arguments())).items]

    assert service.wait(living("London")) == ["bob", "cleo"]
    assert service.wait(living("Paris")) == ["ada"]
    assert service.counts("ada") == (1, 0)


def test_counts_that_are_wrong_are_found_and_repaired_one_without_the_other(service: Service) -> None:
    service.users("ada", "bob")
    service.follow(("ada", "bob"), ("bob", "ada"))
    service.count()
    service.wait(service.session.update(FollowCounts.key(user="ada"), [sk.F(FollowCounts.following).add(5)]))
    wrong = [
        service.wait(each.aggregator(service.session).recount(repair=True)).wrong for each in (FOLLOWING, FOLLOWERS)
    ]
    assert wrong == [1, 0]
    assert service.counts("ada") == (1, 1)
