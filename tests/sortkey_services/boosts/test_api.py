"""The service over HTTP, as docs/services/boosts.md describes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.boosts import service_definition
from sortkey_services.boosts.event import MAX_EVENTS
from sortkey_services.boosts.service import MAX_PARTNERS
from tests.server.calling import Answer, Ask, asking, call

EVENT: dict[str, Any] = {
    "eventId": "e1",
    "campaignId": "c1",
    "partnerId": "10740321",
    "areas": ["BER-01"],
    "score": 1.8,
    "daysOfWeek": ["Monday"],
    "timeSlots": ["lunch"],
    "status": "ACTIVE",
    "updatedAt": "2026-08-24T12:00:00+02:00",
}
ASKED: dict[str, Any] = {"district": "BER-01", "partnerIds": ["1", "10740321"], "at": "2026-08-24T12:30:00+02:00"}

Send = Callable[..., Awaitable[Answer]]


@asynccontextmanager
async def serving() -> AsyncIterator[Send]:
    """The service in memory, made as the command line makes it."""
    async with sk.async_connect("memory:", tables=service_definition.BOOSTS.tables({})) as session:
        service = service_definition.BOOSTS.make(session, {})
        await service.start()
        front = app_of([service])

        async def send(method: str, path: str, body: object = None) -> Answer:
            return await call(front, method, path, body)

        yield send


def with_service(use: Callable[[Send], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with serving() as send:
            await use(send)

    asyncio.run(whole())


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    with asking(serving()) as ask:
        yield ask


def test_campaigns_are_taken_and_looked_up() -> None:
    async def use(send: Send) -> None:
        answer = await send("POST", "/boosts/de/campaigns", EVENT)
        assert (answer.status, answer.json()) == (202, {"applied": 1, "stale": 0})
        answer = await send("POST", "/boosts/de/campaigns", [EVENT, EVENT | {"eventId": "e2", "campaignId": "c2"}])
        assert (answer.status, answer.json()) == (202, {"applied": 1, "stale": 1})
        answer = await send("POST", "/boosts/de/lookup", ASKED)
        boost = {"partnerId": "10740321", "score": 1.8, "campaignId": "c1", "area": "BER-01"}
        assert (answer.status, answer.json()) == (200, {"boosts": [boost]})

    with_service(use)


def test_a_partner_s_campaigns() -> None:
    async def use(send: Send) -> None:
        await send("POST", "/boosts/de/campaigns", EVENT)
        answer = await send("GET", "/boosts/de/partners/10740321")
        assert answer.json() == {
            "partnerId": "10740321",
            "campaigns": [
                {
                    "campaignId": "c1",
                    "area": "BER-01",
                    "score": 1.8,
                    "daysOfWeek": ["Monday"],
                    "timeSlots": ["lunch"],
                    "status": "ACTIVE",
                    "updatedAt": "2026-08-24T10:00:00.000000Z",
                    "eventId": "e1",
                }
            ],
        }
        assert (await send("GET", "/boosts/de/partners/1")).status == 404
        # Longer than any id: the store would reject the key.
        assert (await send("GET", f"/boosts/de/partners/{'1' * 3000}")).status == 404

    with_service(use)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"partnerIds": []}, "partnerIds"),
        ({"partnerIds": ["x"] * (MAX_PARTNERS + 1)}, "partnerIds"),
        ({"partnerIds": ["x", 7]}, "partnerIds[1]"),
        ({"partnerIds": [""]}, "partnerIds[0]"),
        ({"district": "\U0010ffff"}, "district: contains an unprintable character"),
        ({"district": None}, "district: required, since de is a zoned market"),
        ({"district": "A#B"}, "district: an area must not contain `#`"),
        ({"at": "2026-08-24T12:30:00"}, "at: "),
        ({"at": "0001-01-01T00:00:00+02:00"}, "at: out of range"),
    ],
)
def test_a_lookup_that_cannot_be_answered_says_why(ask: Ask, changes: dict[str, Any], said: str) -> None:
    answer = ask("POST", "/boosts/de/lookup", ASKED | changes)
    assert answer.status == 400
    assert said in answer.error["message"]


def test_a_thousand_partners_are_not_too_many() -> None:
    async def use(send: Send) -> None:
        await send("POST", "/boosts/de/campaigns", EVENT)
        partners = [*map(str, range(MAX_PARTNERS - 1)), "10740321"]
        answer = await send("POST", "/boosts/de/lookup", ASKED | {"partnerIds": partners})
        assert len(answer.json()["boosts"]) == 1

    with_service(use)


def test_a_wildcard_market_needs_no_district() -> None:
    async def use(send: Send) -> None:
        await send("POST", "/boosts/tr/campaigns", EVENT | {"areas": ["*"]})
        answer = await send(
            "POST", "/boosts/tr/lookup", {"partnerIds": ["10740321"], "at": "2026-08-24T12:30:00+03:00"}
        )
        assert [each["area"] for each in answer.json()["boosts"]] == ["*"]

    with_service(use)


# All of a list is checked before any of it is done.
@pytest.mark.parametrize(
    ("changes", "details"),
    [
        ({"score": 0}, ["[1].score"]),
        ({"score": -1, "status": "PAUSED"}, None),
        ({"areas": ["*", "BER-01"], "eventId": ""}, ["[1].eventId: ", "[1].areas: "]),
        ({"tenant": "tr"}, ["[1].tenant: "]),
    ],
)
def test_a_list_with_a_bad_event_changes_nothing(ask: Ask, changes: dict[str, Any], details: list[str] | None) -> None:
    answer = ask("POST", "/boosts/de/campaigns", [EVENT, EVENT | changes])
    assert answer.status == 400
    if details is not None:
        told = [f"{each.get('field', '')}{each['message']}" for each in answer.error["details"]]
        assert [text.startswith(detail) for text, detail in zip(told, details, strict=True)] == [True] * len(details)
    assert ask("GET", "/boosts/de/partners/10740321").status == 404


def test_what_no_market_can_have_is_rejected() -> None:
    async def use(send: Send) -> None:
        assert (await send("POST", "/boosts/xx/campaigns", EVENT)).status == 404
        assert (await send("POST", "/boosts/xx/lookup", ASKED)).status == 404
        assert (await send("GET", "/boosts/xx/partners/1")).status == 404
        answer = await send("POST", "/boosts/tr/campaigns", EVENT)
        assert (answer.status, "wildcard market" in answer.error["message"]) == (400, True)
        answer = await send("POST", "/boosts/de/campaigns", [EVENT] * (MAX_EVENTS + 1))
        assert answer.status == 400

    with_service(use)


# The others of the list are there: a client that sends it again loses nothing.
def test_a_partner_with_too_many_campaigns_is_named() -> None:
    async def use(send: Send) -> None:
        areas = [f"A{number}" for number in range(400)]
        many = [EVENT | {"campaignId": campaign, "areas": areas} for campaign in ("a", "b")]
        answer = await send("POST", "/boosts/de/campaigns", [*many, EVENT | {"partnerId": "2"}])
        assert answer.status == 400
        assert "none of the 3 events was applied: [1]: partner 10740321 would have 802" in answer.error["message"]
        assert (await send("GET", "/boosts/de/partners/2")).status == 404

    with_service(use)


# It reads the whole market, which no client should cause.
def test_the_designs_are_compared_for_the_console_alone() -> None:
    async def use() -> None:
        async with sk.async_connect("memory:", tables=service_definition.BOOSTS.tables({})) as session:
            service = service_definition.BOOSTS.make(session, {})
            await service.start()
            served, shown = app_of([service]), app_of([service], for_console=True)
            assert (await call(shown, "POST", "/boosts/de/campaigns", EVENT)).status == 202
            assert (await call(served, "POST", "/boosts/de/lookup/designs", ASKED)).status == 404
            answer = (await call(shown, "POST", "/boosts/de/lookup/designs", ASKED)).json()
            assert (answer["partners"], answer["agree"]) == (1, True)
            # V2 reads the partner's main row besides that of the district.
            read = {each["design"]: each["partnersRead"] for each in answer["designs"]}
            assert read == {"v2": 2, "v1": 1, "manifest": 1}

    asyncio.run(use())
