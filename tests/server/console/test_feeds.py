"""Change feeds, dead letters and timers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import sortkey as sk
from sortkey.feeds.shards.lease_runner import Sightings
from sortkey.feeds.shards.leases import FEEDS, ShardLease
from sortkey.server.console import feeds
from tests.server.console.consoles import SHOP, Opened, Order, run


class Printer:
    """Prints orders, if it can."""

    def __init__(self) -> None:
        self.broken = True
        self.printed: list[int] = []

    async def print(self, changes: Sequence[sk.Change[Order]]) -> None:
        for change in changes:
            if change.new is not None:
                if self.broken and change.new.number == 13:
                    raise ValueError("paper jam")
                self.printed.append(change.new.number)

    def feed(self) -> sk.feeds.ChangeFeed[Any]:
        return sk.feeds.ChangeFeed("printer", Order, self.print, attempts=1)


async def never(due: Any) -> None:
    raise AssertionError(due)


SENDING = sk.patterns.schedule("sending", Order, at="placed")


async def until_dead(shop: Opened) -> dict[str, Any]:
    """The feed, once it has given up a change."""
    async with asyncio.timeout(30):
        while True:
            (feed, *_) = (await shop.page.call("feeds"))["feeds"]
            if feed["dead"]:
                return dict(feed)
            await asyncio.sleep(0.05)


def test_a_dead_letter_is_shown_sent_again_and_gone() -> None:
    printer = Printer()

    async def use(shop: Opened) -> None:
        for number in (12, 13, 14):
            await shop.session.put(Order(customer="ada", number=number))
        feed = await until_dead(shop)
        assert (feed["service"], feed["table"], feed["following"]) == ("shop", SHOP.name, True)
        (shard,) = feed["shards"]
        assert (shard["here"], shard["state"]) == (True, "open")
        found = await shop.page.call("letters", service="shop")
        (letter,) = found["letters"]
        assert ("paper jam" in letter["reason"], letter["kind"], found["next"]) == (True, "change", None)
        assert letter["record"]["dynamodb"]["NewImage"]["customer"] == {"S": "ada"}
        assert (await shop.page.call("letters", service="shop", reason="toner"))["letters"] == []
        act = {"service": "shop", "ids": [letter["id"]]}
        failed = await shop.page.call("letters/act", **act, action="retry")
        assert [each["outcome"] for each in failed["results"]] == ["failed"]
        printer.broken = False
        sent = await shop.page.call("letters/act", **act, action="retry")
        assert [each["outcome"] for each in sent["results"]] == ["sent"]
        # At least once: what shared a batch with the letter came again.
        assert (set(printer.printed), printer.printed[-1]) == ({12, 13, 14}, 13)
        assert (await shop.page.call("letters", service="shop"))["letters"] == []

    run(use, feeds=[printer.feed()])


def test_a_letter_is_dropped_and_other_ids_are_errors() -> None:
    async def use(shop: Opened) -> None:
        await shop.session.put(Order(customer="ada", number=13))
        await until_dead(shop)
        (letter,) = (await shop.page.call("letters", service="shop"))["letters"]
        act = {"service": "shop", "ids": [letter["id"]], "action": "drop"}
        assert (await shop.page.call("letters/act", **act))["results"][0]["outcome"] == "dropped"
        for wrong in ({**act, "ids": ["nonsense"]}, {**act, "ids": []}, {**act, "action": "burn"}):
            assert (await shop.page.post("letters/act", wrong)).status == 400
        assert (await shop.page.post("letters/act", {**act, "service": "none"})).status == 404
        assert (await shop.page.post("letters", {"service": "shop", "after": 7})).status == 400

    run(use, feeds=[Printer().feed()])


def test_what_is_wrong_with_a_feed_is_a_finding() -> None:
    async def use(shop: Opened) -> None:
        await shop.session.put(Order(customer="ada", number=13))
        await until_dead(shop)
        wrong = (await shop.page.call("overview"))["findings"]
        assert any(each["subject"] == "feed printer" and "given up 1 " in each["found"] for each in wrong)

    run(use, feeds=[Printer().feed()])


async def feed_of(shop: Opened) -> dict[str, Any]:
    (feed,) = (await shop.page.call("feeds"))["feeds"]
    return dict(feed)


# The console of a server that does not follow: how far behind a feed is, it reads from the stream.
def test_a_feed_of_other_processes_is_as_far_behind_as_its_oldest_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "LOOK_SECONDS", 0.05)
    printer = Printer()
    printer.broken = False
    feed = printer.feed()

    async def use(shop: Opened) -> None:
        await shop.session.put(Order(customer="ada", number=1))
        shown = await feed_of(shop)
        assert (shown["unfollowed"], shown["lagSeconds"], shown["following"]) == (1, None, False)
        begin = "Run 'sortkey follow shop', or this server without --no-follow."
        assert shown["lagText"] == f"Nobody follows its shard. {begin}"
        async with sk.feeds.Follower(shop.session, [feed]) as follower:
            await follower.caught_up()
            shown = await feed_of(shop)
            assert (shown["unfollowed"], shown["shards"][0]["owner"]) == (0, follower.id)
        # It has given its lease up.
        shown = await feed_of(shop)
        assert (shown["unfollowed"], shown["lagSeconds"]) == (1, 0.0)
        await shop.session.put(Order(customer="ada", number=2))
        async with asyncio.timeout(30):
            while not (shown := await feed_of(shop))["lagSeconds"]:
                await asyncio.sleep(0.05)
        assert shown["lagText"] == f"Nobody follows its shard. {begin}"
        wrong = (await shop.page.call("overview"))["findings"]
        assert any(each["subject"] == "feed printer" and begin in each["found"] for each in wrong)

    run(use, feeds=[feed], follows=False)


# kill -9 leaves the follower's name in the lease.
def test_a_follower_that_was_killed_is_not_taken_for_one_that_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(shop: Opened) -> None:
        shard = (await feed_of(shop))["shards"][0]
        lease = ShardLease(feed="printer", stream=shard["stream"], shard=shard["shard"], owner="killed")
        await shop.session.create_tables(FEEDS)
        await shop.session.put(lease)
        shown = await feed_of(shop)
        assert (shown["unfollowed"], shown["lagText"]) == (0, "Another process follows it.")
        monkeypatch.setattr(Sightings, "expired", lambda _, leases, __: set(leases))
        shown = await feed_of(shop)
        assert (shown["unfollowed"], shown["shards"][0]["silent"]) == (1, True)
        assert shown["lagText"].startswith("Nobody follows its shard: its follower has stopped. Run ")

    run(use, feeds=[Printer().feed()], follows=False)


def test_timers_are_shown_before_they_are_due() -> None:
    later = datetime.now(UTC) + timedelta(days=2)

    async def use(shop: Opened) -> None:
        await shop.session.put(Order(customer="ada", number=1, placed=later))
        async with asyncio.timeout(30):
            while not (due := (await shop.page.call("timers"))["timers"]):
                await asyncio.sleep(0.05)
        (timer,) = due
        assert (timer["schedule"], timer["service"], timer["overdue"]) == ("sending", "shop", False)
        assert timer["group"]["customer"] == "ada"
        of = {name: timer[name] for name in ("service", "schedule", "occurrence", "at")}
        (item,) = (await shop.page.call("timers/items", **of))["items"]
        assert (item["class"], item["fields"]["number"]) == ("Order", "1")
        assert (await shop.page.call("timers/items", **{**of, "at": "2026-01-01T00:00:00Z"}))["items"] == []
        assert (await shop.page.post("timers/items", {**of, "at": "2026-01-01T00:00:00"})).status == 400
        assert (await shop.page.post("timers/items", {**of, "schedule": "other"})).status == 404
        assert (await shop.page.call("timers", days=1))["timers"] == []
        assert (await shop.page.call("timers", schedule="other"))["timers"] == []
        overview = await shop.page.call("overview")
        assert overview["timers"][0]["schedule"] == "sending"

    run(use, feeds=[sk.feeds.Timers(SENDING, never)])
