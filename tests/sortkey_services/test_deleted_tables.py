"""Tables that are deleted while a service runs: each request gets 503, whatever the service, and nothing is traced."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey.services.interface import ServiceDefinition
from sortkey_services.boosts.service_definition import BOOSTS
from sortkey_services.favourites.service_definition import FAVOURITES
from sortkey_services.goals.service_definition import GOALS
from sortkey_services.pricing.service_definition import PRICING
from sortkey_services.social.service_definition import SOCIAL
from tests.server.calling import Answer, call

CAMPAIGN = {
    "eventId": "e1",
    "campaignId": "c1",
    "partnerId": "1",
    "areas": ["BER-01"],
    "score": 1.8,
    "daysOfWeek": ["Monday"],
    "timeSlots": ["lunch"],
    "status": "ACTIVE",
    "updatedAt": "2026-08-24T12:00:00+02:00",
}
PRICE = {"store": "s1", "product": "p1", "amount": "1.00"}
QUERY = {"query": '{ price(store: "s1", product: "p1") { amount } }'}
DEPOSIT = {
    "eventId": "e1",
    "personId": "ana",
    "goalId": "g",
    "currentBalance": 1,
    "status": "PENDING_CONFIRMATION",
    "updatedAt": "2026-05-15T14:23:00Z",
}
REQUESTS: list[tuple[ServiceDefinition, str, str, Any]] = [
    (BOOSTS, "POST", "/boosts/de/campaigns", CAMPAIGN),
    (BOOSTS, "POST", "/boosts/de/lookup", {"district": "BER-01", "partnerIds": ["1"]}),
    (BOOSTS, "GET", "/boosts/de/partners/1", None),
    (FAVOURITES, "PUT", "/favourites/ada/r1", None),
    (FAVOURITES, "GET", "/favourites/ada/r1", None),
    (FAVOURITES, "GET", "/restaurants/r1/favourites", None),
    (GOALS, "GET", "/goals/ana", None),
    (GOALS, "POST", "/goals/events", DEPOSIT),
    (PRICING, "POST", "/pricing/changes?requestedBy=ada", [PRICE]),
    (PRICING, "GET", "/pricing/stores/s1/prices", None),
    (SOCIAL, "PUT", "/social/users/ada", {"name": "Ada", "city": "London"}),
    (SOCIAL, "GET", "/social/users/ada", None),
    (SOCIAL, "GET", "/social/users?city=NYC", None),
]


async def called(definition: ServiceDefinition, method: str, path: str, body: Any, *, deleted: bool) -> Answer:
    async with sk.async_connect("memory:", tables=definition.tables({})) as session:
        service = definition.make(session, {})
        await service.start()
        front = app_of([service])
        if deleted:
            for name in (await session.client.list_tables())["TableNames"]:
                await session.client.delete_table(TableName=name)
        return await call(front, method, path, body)


@pytest.mark.parametrize(("definition", "method", "path", "body"), REQUESTS)
def test_a_deleted_table_is_503(
    definition: ServiceDefinition, method: str, path: str, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert asyncio.run(called(definition, method, path, body, deleted=False)).status < 500
    with caplog.at_level(logging.ERROR):
        answer = asyncio.run(called(definition, method, path, body, deleted=True))
    assert (answer.status, answer.error["code"]) == (503, "store_unavailable")
    assert "deleted" in answer.error["message"]
    assert "retry-after" in answer.headers
    (record,) = caplog.records
    assert record.exc_info is None


def test_a_deleted_table_in_graphql(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = asyncio.run(called(PRICING, "POST", "/graphql", QUERY, deleted=True))
    (error,) = answer.json()["errors"]
    assert error["extensions"] == {"code": "STORE_UNAVAILABLE"}
    assert "deleted" in error["message"]
    (record,) = caplog.records
    assert record.exc_info is None
