"""Which leases a follower takes and asks for."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from sortkey.feeds.shards.lease_runner import LeasePlan, Sightings, plan
from sortkey.feeds.shards.leases import NOBODY, ShardKey, ShardLease


def key(name: str) -> ShardKey:
    return ShardKey("stream", name)


def leases(owners: Mapping[str, str]) -> dict[ShardKey, ShardLease]:
    """By shard; the owner may be followed by the one that asks for the lease."""
    made = {}
    for name, owner in owners.items():
        has, _, wants = owner.partition(" for ")
        made[key(name)] = ShardLease(feed="f", stream="stream", shard=name, owner=has, wanted_by=wants)
    return made


def decide(owners: Mapping[str, str], dead: str = "", unleased: str = "") -> tuple[str, str | None]:
    """What `me` takes and asks for; owners in `dead` no longer renew."""
    known = leases(owners)
    expired = {each for each, lease in known.items() if lease.owner == NOBODY or lease.owner in dead}
    decided = plan("me", [*known, *map(key, unleased)], known, expired)
    return "".join(each.shard for each in decided.take), None if decided.ask is None else decided.ask.shard


def test_a_single_follower_takes_everything() -> None:
    assert decide({}, unleased="abc") == ("abc", None)
    assert decide({"a": "me", "b": NOBODY}, unleased="c") == ("bc", None)


def test_free_shards_are_taken_up_to_the_share() -> None:
    assert decide({"a": "other"}, unleased="bcd") == ("bc", None)
    assert decide({"a": "other", "b": "me", "c": "me"}, unleased="de") == ("d", None)


def test_the_leases_of_a_dead_follower_are_free() -> None:
    assert decide({"a": "dead", "b": "dead", "c": "other", "d": "me"}, dead="dead") == ("a", None)
    assert decide({"a": "dead", "b": "dead"}, dead="dead") == ("ab", None)


def test_a_newcomer_asks_for_one_lease_at_a_time() -> None:
    assert decide({"a": "other", "b": "other", "c": "other", "d": "other"}) == ("", "a")
    assert decide({"a": "other for me", "b": "other", "c": "other", "d": "other"}) == ("", None)
    assert decide({"a": "other", "b": "other", "c": "other", "d": "me"}) == ("", "a")
    assert decide({"a": "other", "b": "other", "c": "me", "d": "me"}) == ("", None)


# Two newcomers would otherwise ask for the same one.
def test_a_lease_that_another_asks_for_is_left_alone() -> None:
    assert decide({"a": "other for third", "b": "other", "c": "other"}) == ("", "b")


def test_the_one_with_the_most_is_asked() -> None:
    assert decide({"a": "few", "b": "many", "c": "many", "d": "many"}) == ("", "b")


# With more followers than shards, some wait for another to die.
def test_a_follower_without_a_share_waits() -> None:
    assert decide({"a": "other"}) == ("", None)
    assert decide({"a": "one", "b": "two"}) == ("", None)


FOLLOWERS = ("f1", "f2", "f3")


@given(st.lists(st.sampled_from([*FOLLOWERS, NOBODY]), min_size=1, max_size=12))
def test_followers_come_to_equal_shares_and_stay_there(owners: list[str]) -> None:
    held = {key(str(number)): owner for number, owner in enumerate(owners)}

    def decision(me: str) -> LeasePlan:
        known = leases({each.shard: owner for each, owner in held.items()})
        return plan(me, list(held), known, {each for each, owner in held.items() if owner == NOBODY})

    for _ in range(2 * len(owners) + 2):
        for me in FOLLOWERS:
            decided = decision(me)
            for each in [*decided.take, *([] if decided.ask is None else [decided.ask])]:
                held[each] = me
    shares = [list(held.values()).count(me) for me in FOLLOWERS]
    assert sum(shares) == len(owners)
    assert max(shares) - min(shares) <= 1 or len(owners) < len(FOLLOWERS)
    assert all(decision(me) == LeasePlan([], None) for me in FOLLOWERS)


# Only this follower's own clock counts, and only from when it saw the lease.
def test_a_lease_expires_when_its_counter_stands_still() -> None:
    sightings = Sightings(10.0)
    lease = ShardLease(feed="f", stream="stream", shard="a", owner="other", counter=3)
    seen = {key("a"): lease}
    assert sightings.expired(seen, 100.0) == set()
    assert sightings.expired(seen, 109.9) == set()
    assert sightings.expired(seen, 110.0) == {key("a")}
    lease.counter = 4
    assert sightings.expired(seen, 111.0) == set()
    assert sightings.expired(seen, 120.9) == set()
    assert sightings.expired(seen, 121.0) == {key("a")}
    lease.owner = NOBODY
    assert sightings.expired(seen, 121.1) == {key("a")}
