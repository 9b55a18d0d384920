"""From v1 to another design: the new rows answer as v1 does, and programs write what the flag says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.patterns.rekeying import reader
from sortkey_services.boosts.design import LookupQuery
from sortkey_services.boosts.model import RETENTION_SECONDS, BoostRow
from sortkey_services.boosts.service import DESIGNS, BoostsService
from sortkey_services.boosts.service_definition import BOOSTS
from sortkey_services.boosts.v1 import Shard, V1Campaign
from tests.sortkey_services.boosts.campaigns import DISTRICTS, MONDAY_LUNCH, NOW, SETTINGS, event

EVENTS = [
    event(1, "everywhere", "p1"),
    event(2, "here", "p1", areas=DISTRICTS[:2], score=3.0),
    event(3, "monday", "p2", days_of_week=frozenset({"Monday"}), time_slots=frozenset({"lunch"})),
    event(4, "sunday", "p2", days_of_week=frozenset({"Sunday"})),
    event(5, "over", "p3"),
    event(6, "over", "p3", status="ENDED"),
    event(7, "moved", "p4", areas=DISTRICTS[:1]),
    event(8, "moved", "p4", areas=DISTRICTS[1:]),
]
PARTNERS = [f"p{number}" for number in range(1, 6)]

To = Literal["v2", "manifest"]


def moving(test: Callable[[BoostsService, sk.AsyncSession], Awaitable[None]], to: To = "v2") -> None:
    """Runs a test with a service of v1 on its way, and its feeds."""
    settings = msgspec.structs.replace(SETTINGS, design="v1", moving_to=to)

    async def run() -> None:
        tables = BOOSTS.tables({"design": "v1", "moving_to": to})
        async with sk.async_connect("memory:", tables=tables) as db:
            service = BoostsService(db, settings, ManualClock(NOW))
            await service.start()
            async with service.maintenance():
                await test(service, db)

    asyncio.run(run())


async def answers(service: BoostsService, db: sk.AsyncSession, design: Literal["v1", "v2", "manifest"]) -> list[object]:
    """What a design answers by itself."""
    market, alone = service.market("de"), DESIGNS[design](db, ManualClock(NOW))
    slots = market.timetable.day_slots(MONDAY_LUNCH)
    found: list[object] = [await alone.lookup(market, LookupQuery(area, PARTNERS, slots)) for area in DISTRICTS]
    return found + [await alone.campaigns_of(market, partner) for partner in PARTNERS]


@pytest.mark.parametrize("to", ["v2", "manifest"])
def test_the_new_design_answers_as_the_old_one(to: To) -> None:
    async def test(service: BoostsService, db: sk.AsyncSession) -> None:
        rekey = next(iter(BOOSTS.rekeys({"design": "v1", "moving_to": to}))) if BOOSTS.rekeys else None
        assert rekey is not None
        await service.design.set_delivery_areas(service.market("de"), dict.fromkeys(PARTNERS, DISTRICTS))
        await service.apply("de", EVENTS[:5])
        async with sk.feeds.Follower(db, service.feeds) as follower:
            await rekey.start(db)
            # One by one, so that the feed sees each.
            for each in EVENTS[5:]:
                await service.apply("de", [each])
                await follower.caught_up()
                assert await answers(service, db, to) == await answers(service, db, "v1")
            found = await rekey.check(db)
            assert (found.behind, found.different) == (0, 0)

    moving(test, to)


# V2's rows go on from where v1's ended: an older event is stale, a newer one replaces what was derived.
def test_programs_write_the_new_design_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "RENEW", 0.02)

    async def test(service: BoostsService, db: sk.AsyncSession) -> None:
        rekey = service.design.rekey  # type: ignore[attr-defined]
        await service.apply("de", EVENTS)
        async with sk.feeds.Follower(db, service.feeds) as follower:
            await rekey.start(db)
            assert (await rekey.switch(db)).different == 0
            await service.apply("de", [event(9, "late", "p5")])
            await follower.caught_up()
            before = await answers(service, db, "v1")
            assert await answers(service, db, "v2") == before
            waiting = asyncio.create_task(rekey.finish(db, caught_up=follower.caught_up))
            await waiting
        removed = await rekey.remove_old(db, dry_run=False)
        assert removed.rows > 0
        assert removed.kept == 0
        assert [each async for each in db.scan(V1Campaign)] == []
        assert [each async for each in db.scan(Shard)] == []
        assert await answers(service, db, "v2") == before
        results = await service.apply("de", [event(8, "moved", "p4"), event(10, "moved", "p4", areas=DISTRICTS[:1])])
        assert [each.stale for each in results] == [True, False]
        assert [each.area for each in await service.campaigns_of("de", "p4")] == [DISTRICTS[0]]
        assert [each async for each in db.scan(V1Campaign)] == []
        rows = {each.area async for each in db.scan(BoostRow) if each.partner == "p4" and not all_over(each)}
        assert rows == {"*", DISTRICTS[0]}

    moving(test)


def all_over(row: BoostRow) -> bool:
    return all(each.status == "ENDED" for each in row.campaigns.values())


# Kept for as long as in v1, so that a late event is stale in both.
def test_an_ended_campaign_expires_when_it_would_have() -> None:
    async def test(service: BoostsService, db: sk.AsyncSession) -> None:
        await service.apply("de", [event(1), event(2, status="ENDED")])
        await service.design.rekey.start(db)  # type: ignore[attr-defined]
        (row,) = [each async for each in db.scan(BoostRow)]
        assert row.expires == int(NOW) + RETENTION_SECONDS
        assert row.campaigns["c1"].until == row.expires

    moving(test)


# A table of v1 from before it had a stream.
@pytest.mark.usefixtures("brief_polls")
def test_a_table_without_a_stream_gets_it() -> None:
    async def test() -> None:
        settings = msgspec.structs.replace(SETTINGS, design="v1")
        async with sk.async_connect("memory:", tables=[V1Campaign, Shard]) as db:
            await BoostsService(db, settings).start()
            await db.client.update_table(TableName="boosts_v1_campaigns", StreamSpecification={"StreamEnabled": False})
            service = BoostsService(db, settings)
            await service.start()
            assert await db.diff_tables(V1Campaign) == []

    asyncio.run(test())


def test_only_v1_moves() -> None:
    with pytest.raises(sk.services.BadSettings, match='only design = "v1" can move'):
        BOOSTS.tables({"design": "v2", "moving_to": "manifest"})


def test_a_service_that_does_not_move_has_no_feeds() -> None:
    async def test() -> None:
        async with sk.async_connect("memory:") as db:
            service = BoostsService(db, SETTINGS)
            assert list(service.feeds) == []
            assert await service.samples() == {}

    asyncio.run(test())
