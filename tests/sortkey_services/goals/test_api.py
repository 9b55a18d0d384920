"""The service over HTTP, as docs/services/goals.md describes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from math import inf
from typing import Any

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.goals import service_definition
from sortkey_services.goals.event import MAX_EVENTS
from sortkey_services.goals.model import views
from tests.server.calling import Answer, Ask, asking, call
from tests.sortkey_services.goals.persons import AS_OF, BONDS, SAVINGS, person

EVENT: dict[str, Any] = {
    "eventId": "event-uuid-123",
    "personId": "ana",
    "goalId": SAVINGS,
    "currentBalance": 370.00,
    "status": "PENDING_CONFIRMATION",
    "updatedAt": "2100-05-15T14:23:00Z",
}

Send = Callable[..., Awaitable[Answer]]


@asynccontextmanager
async def serving() -> AsyncIterator[Send]:
    """The service in memory, made as the command line makes it, with one person."""
    async with sk.async_connect("memory:", tables=service_definition.GOALS.tables({})) as session:
        # The events are of the year 2100, so that none is too old.
        service = service_definition.GOALS.make(session, {"max_ahead_seconds": inf})
        await service.start()
        await views.load(session, [person()], as_of=AS_OF)
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


def test_a_person_as_the_batch_computed_it() -> None:
    async def use(send: Send) -> None:
        answer = await send("GET", "/goals/ana")
        assert (answer.status, answer.json()) == (
            200,
            {
                "personId": "ana",
                "name": "Ana Silva",
                "preferences": {"notifications": True, "language": "pt-BR"},
                "goals": [
                    {
                        "goalId": SAVINGS,
                        "month": "2100-05",
                        "targetAmount": 500.0,
                        "savedAmount": 320.0,
                        "status": "IN_PROGRESS",
                        "specialRate": 0.08,
                        "chosen": False,
                    },
                    {
                        "goalId": BONDS,
                        "month": "2100-05",
                        "targetAmount": 1500.0,
                        "savedAmount": 0.0,
                        "status": "NOT_STARTED",
                        "specialRate": 0.12,
                        "chosen": False,
                    },
                ],
                "lastUpdated": "2100-05-15T03:00:00Z",
                "asOf": "2100-05-15T00:00:00Z",
            },
        )
        answer = await send("GET", "/goals/nobody")
        assert (answer.status, answer.error["message"]) == (404, "there is no person 'nobody'")

    with_service(use)


def test_events_are_applied_or_stale() -> None:
    async def use(send: Send) -> None:
        answer = await send("POST", "/goals/events", EVENT)
        assert (answer.status, answer.json()) == (202, {"applied": 1, "stale": 0})
        old = EVENT | {"goalId": BONDS, "updatedAt": "2100-05-15T02:00:00+02:00"}
        answer = await send("POST", "/goals/events", [EVENT, old, EVENT | {"goalId": BONDS, "currentBalance": "1.50"}])
        assert (answer.status, answer.json()) == (202, {"applied": 1, "stale": 2})
        goals = (await send("GET", "/goals/ana")).json()["goals"]
        assert [(goal["savedAmount"], goal["status"]) for goal in goals] == [
            (370.0, "PENDING_CONFIRMATION"),
            (1.5, "PENDING_CONFIRMATION"),
        ]
        answer = await send(
            "POST", "/goals/events", EVENT | {"status": "REJECTED", "updatedAt": "2100-05-15T15:00:00Z"}
        )
        assert answer.json() == {"applied": 1, "stale": 0}
        assert (await send("GET", "/goals/ana")).json()["goals"][0]["savedAmount"] == 320.0

    with_service(use)


@pytest.mark.parametrize(
    ("body", "message", "details"),
    [
        (EVENT | {"month": "may"}, "month: must be a month", ["month: must be a month such as 2026-05, not 'may'"]),
        ([EVENT, EVENT | {"goalId": "YACHT"}], "[1].goalId: there is no goal 'YACHT'; the goals are", None),
        (
            [EVENT, EVENT | {"currentBalance": 1.234}],
            "not a deposit event: [1].currentBalance: must be an amount",
            None,
        ),
        (EVENT | {"updatedAt": "2100-05-15"}, "Invalid RFC3339 encoded datetime", None),
        ([], "", None),
        ([EVENT] * (MAX_EVENTS + 1), "", None),
        ({}, "Object missing required field `eventId`", None),
    ],
)
def test_a_bad_request_applies_nothing(ask: Ask, body: object, message: str, details: list[str] | None) -> None:
    answer = ask("POST", "/goals/events", body)
    assert answer.status == 400
    assert message in answer.error["message"]
    if details is not None:
        assert [each["message"] for each in answer.error["details"]] == details
    assert ask("GET", "/goals/ana").json()["goals"][0]["savedAmount"] == 320.0


# The app has shown 320.
def test_a_rejection_leaves_the_deposit_beside_it() -> None:
    async def use(send: Send) -> None:
        events = [
            EVENT,
            EVENT | {"eventId": "e2", "currentBalance": 400, "updatedAt": "2100-05-15T14:24:00Z"},
            EVENT | {"eventId": "e3", "status": "REJECTED", "updatedAt": "2100-05-15T14:25:00Z"},
        ]
        for event in events:
            assert (await send("POST", "/goals/events", event)).json() == {"applied": 1, "stale": 0}
        goal = (await send("GET", "/goals/ana")).json()["goals"][0]
        assert (goal["savedAmount"], goal["status"], goal["month"]) == (370.0, "PENDING_CONFIRMATION", "2100-05")

    with_service(use)


def test_choices() -> None:
    path = f"/goals/ana/choices/{SAVINGS}"

    async def use(send: Send) -> None:
        answer = await send("PUT", path)
        chosen = answer.json()
        assert answer.status == 200
        assert chosen.pop("since")
        assert chosen == {"personId": "ana", "goalId": SAVINGS, "chosen": True}
        assert [goal["chosen"] for goal in (await send("GET", "/goals/ana")).json()["goals"]] == [True, False]
        for _ in range(2):
            answer = await send("DELETE", path)
            assert (answer.status, answer.json()) == (200, {"personId": "ana", "goalId": SAVINGS, "chosen": False})
        assert [goal["chosen"] for goal in (await send("GET", "/goals/ana")).json()["goals"]] == [False, False]
        for method in ("PUT", "DELETE"):
            for unknown in ("/goals/ana/choices/YACHT", f"/goals/bob/choices/{SAVINGS}"):
                assert (await send(method, unknown)).status == 404

    with_service(use)


# The contract's example has a number; clients are made from this.
def test_the_documentation_says_that_a_balance_is_a_number_or_a_text() -> None:
    async def use(send: Send) -> None:
        event = (await send("GET", "/openapi.json")).json()["components"]["schemas"]["DepositEvent"]
        types = [each["type"] for each in event["properties"]["currentBalance"]["oneOf"]]
        assert sorted(types) == ["null", "number", "string"]

    with_service(use)


def test_metrics_tell_what_is_served() -> None:
    async def use(send: Send) -> None:
        lines = (await send("GET", "/metrics")).body.decode().splitlines()
        assert "sortkey_goals_persons 1" in lines
        assert "# TYPE sortkey_goals_persons gauge" in lines
        assert f"sortkey_goals_as_of_timestamp_seconds {int(AS_OF.timestamp())}" in lines

    with_service(use)
