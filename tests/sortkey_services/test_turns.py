"""Every service's heaviest requests, and the feeds behind them, leave the loop to others again and again.

The requests are smaller than the largest legal ones, and still many times as much as a turn may do: what is done in
slices does as much in a turn whatever its size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.feeds.follower import Follower
from sortkey.graphql.endpoint import GraphQLEndpoint, GraphQLRequest
from sortkey.services.pages import sized_page
from sortkey_services.boosts.event import CampaignEvent
from sortkey_services.boosts.service import BoostsService
from sortkey_services.boosts.tenants import Settings
from sortkey_services.favourites.model import Favourite
from sortkey_services.favourites.service import FavouritesService
from sortkey_services.goals.model import views
from sortkey_services.goals.service import GoalsService
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.schema import SCHEMA
from sortkey_services.pricing.service import PricingService
from sortkey_services.pricing.service import Settings as PricingSettings
from sortkey_services.social.model import Follow, User
from sortkey_services.social.service import SocialService
from tests.graphql.bookshop import SIZES, Caller
from tests.sortkey_services.goals.persons import AS_OF, NOW, deposit, person
from tests.turns import MOST_CALLS, Turns

CHANGES = 1_000

pytestmark = pytest.mark.slow
START = datetime(2026, 8, 24, tzinfo=UTC)

Use = Callable[[sk.AsyncSession, Turns], Coroutine[Any, Any, None]]


def most_calls(use: Use) -> int:
    """Between two turns of what is counted, which does much more in all."""

    async def whole() -> Turns:
        turns = Turns()
        async with sk.async_connect("memory:") as session:
            await use(session, turns)
        return turns

    turns = asyncio.run(whole())
    assert turns.calls > 2 * MOST_CALLS, f"{turns.calls} calls are too few to tell"
    return turns.most


def changes(amount: str = "1.25") -> list[dict[str, object]]:
    return [{"store": f"s{number % 3}", "product": f"p{number}", "amount": amount} for number in range(CHANGES)]


def test_prices_that_change_at_once() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        pricing = PricingService(session)
        await pricing.start()
        assert len(await turns.count(pricing.change_prices(changes()))) == CHANGES
        assert len(await turns.count(pricing.change_prices(changes("2.50")))) == CHANGES

    assert most_calls(use) < MOST_CALLS


# The time zones of all stores are read first.
def test_prices_that_change_at_local_times() -> None:
    local = [
        {"store": f"s{number}", "product": "p", "amount": 1, "effectiveAt": "2030-01-01T00:00:00"}
        for number in range(CHANGES)
    ]

    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        pricing = PricingService(session, PricingSettings(time_zone="Europe/Berlin"))
        await pricing.start()
        assert len(await turns.count(pricing.change_prices(local))) == CHANGES

    assert most_calls(use) < MOST_CALLS


def test_prices_that_change_by_graphql() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        pricing = PricingService(session)
        await pricing.start()
        endpoint = GraphQLEndpoint(SCHEMA._schema, pricing, SIZES)
        query = "mutation($changes: [PriceChangeInput!]!) { changePrices(changes: $changes) { ids } }"
        request = GraphQLRequest(query, variables={"changes": changes()})
        # Parsed before: a document is parsed once.
        await endpoint.answer(GraphQLRequest(query, variables={"changes": []}), Caller())
        answer = await turns.count(endpoint.answer(request, Caller()))
        assert answer.errors is msgspec.UNSET
        wrong = GraphQLRequest(query, variables={"changes": [*changes(), {"store": "s", "product": "", "amount": 1}]})
        assert (await turns.count(endpoint.answer(wrong, Caller()))).errors is not msgspec.UNSET

    assert most_calls(use) < MOST_CALLS


def test_changes_that_become_permanent() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        clock = ManualClock(START.timestamp())

        async def passes(seconds: float) -> None:
            clock.advance(seconds)

        pricing = PricingService(session, clock=clock, sleep=passes)
        await pricing.start()
        made = await pricing.change_prices(changes())
        clock.advance(5)
        applied = 0
        for store in ("s0", "s1", "s2"):
            applied += await turns.count(pricing.apply_due(store, made[0].effective_at))
        assert applied == CHANGES

    assert most_calls(use) < MOST_CALLS


# The timers follow the changes: what they read and set for a thousand of them is done in parts, too.
def test_timers_of_many_changes() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        pricing = PricingService(session)
        await pricing.start()
        later = (datetime.now(UTC) + timedelta(days=1)).isoformat()

        async def followed() -> None:
            async with Follower(session, pricing.feeds) as follower:
                await follower.caught_up()

        await pricing.change_prices([{**change, "effectiveAt": later} for change in changes()])
        await turns.count(followed())

    assert most_calls(use) < MOST_CALLS


def test_a_page_of_prices() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        pricing = PricingService(session)
        await pricing.start()
        await pricing.change_prices([{**change, "store": "s"} for change in changes()])
        for _ in range(5):
            page = await turns.count(pricing.base_prices("s", page_request(first=2048)))
            assert len(page) == CHANGES

    assert most_calls(use) < MOST_CALLS


def campaign(number: int, partner: str, areas: tuple[str, ...]) -> CampaignEvent:
    return CampaignEvent(
        event_id=f"e{number}",
        campaign_id=f"c{number}",
        partner_id=partner,
        areas=areas,
        score=1.5,
        days_of_week=frozenset({"Monday"}),
        time_slots=frozenset({"lunch"}),
        status="ACTIVE",
        updated_at=START,
        tenant="de",
    )


def test_campaigns() -> None:
    areas = tuple(f"A{number}" for number in range(50))
    spread = [campaign(number, f"p{number}", areas) for number in range(20)]
    of_one = [campaign(number, "q", ("*",)) for number in range(100)]

    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        boosts = BoostsService(session, Settings())
        await boosts.start()
        for events in (spread, of_one):
            answer = await turns.count(boosts.apply_events("de", events))
            assert answer.applied == len(events)
        again = [sk.feeds.Message(msgspec.json.encode(event)) for event in spread]
        assert await turns.count(boosts.consume(again)) == []

    assert most_calls(use) < MOST_CALLS


def test_deposits() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        goals = GoalsService(session, clock=ManualClock(NOW.timestamp()))
        await goals.start()
        await views.load(session, [person(f"p{number}") for number in range(500)], as_of=AS_OF)
        events = [
            deposit(str(Decimal(number)), timedelta(seconds=number + 1), event=f"e{number}", to=f"p{number % 500}")
            for number in range(CHANGES)
        ]
        assert (await turns.count(goals.apply(events))).applied == CHANGES

    assert most_calls(use) < MOST_CALLS


# The feed counts a thousand marks; then a page shows them.
def test_favourites() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        favourites = FavouritesService(session)
        await favourites.start()
        marks = [Favourite(user=f"u{number}", restaurant=f"r{number % 40}", since=START) for number in range(CHANGES)]
        await session.load(marks)

        async def followed() -> None:
            async with Follower(session, favourites.feeds) as follower:
                await follower.caught_up()

        await turns.count(followed())

    assert most_calls(use) < MOST_CALLS


def test_follows_of_a_hub() -> None:
    async def use(session: sk.AsyncSession, turns: Turns) -> None:
        social = SocialService(session)
        await social.start()
        others = [f"u{number}" for number in range(400)]
        await session.load(
            [
                User(user="hub", name="Hub", city="Rome"),
                *(Follow(user="hub", followed=other, since=START) for other in others),
                *(Follow(user=other, followed="hub", since=START) for other in others),
            ]
        )
        for _ in range(4):
            page = sized_page(1000, None, None, None, default=50, most=1000)
            found = await turns.count(social.mutuals.page("hub", page))
            assert len(found.items) == 400

    assert most_calls(use) < MOST_CALLS
