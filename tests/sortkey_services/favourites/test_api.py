"""The service over HTTP, as docs/services/favourites.md describes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import quote

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.favourites.service_definition import FAVOURITES
from tests.server.calling import Answer, call

Send = Callable[[str, str], Awaitable[Answer]]
Count = Callable[[], Awaitable[None]]


def with_service(use: Callable[[Send, Count], Awaitable[None]]) -> None:
    """Run a test's requests against the service in memory, made as the command line makes it."""

    async def whole() -> None:
        async with sk.async_connect("memory:", tables=FAVOURITES.tables({})) as session:
            service = FAVOURITES.make(session, {})
            await service.start()
            front = app_of([service])
            async with sk.feeds.Follower(session, service.feeds) as follower:
                await use(lambda method, path: call(front, method, path), follower.caught_up)

    asyncio.run(whole())


def test_marks_are_put_asked_and_deleted() -> None:
    async def use(send: Send, _: Count) -> None:
        assert (await send("GET", "/favourites/ada/r1")).json() == {"favourite": False}
        marked = await send("PUT", "/favourites/ada/r1")
        assert marked.status == 200
        assert marked.json().keys() == {"favourite", "since"}
        assert marked.json()["favourite"] is True
        assert marked.json()["since"].endswith("Z")
        for method in ("PUT", "GET"):
            again = await send(method, "/favourites/ada/r1")
            assert (again.status, again.json()) == (200, marked.json())
        for _again in range(2):
            ended = await send("DELETE", "/favourites/ada/r1")
            assert (ended.status, ended.json()) == (200, {"favourite": False})

    with_service(use)


def test_lists_are_pages_in_both_directions() -> None:
    async def use(send: Send, _: Count) -> None:
        for number in range(5):
            await send("PUT", f"/favourites/ada/r{number}")
        first = (await send("GET", "/favourites/ada?first=2")).json()
        assert [each["restaurant"] for each in first["items"]] == ["r4", "r3"]
        assert first["items"][0].keys() == {"restaurant", "since"}
        info = first["pageInfo"]
        assert info.keys() == {"hasNextPage", "hasPreviousPage", "startCursor", "endCursor"}
        assert (info["hasNextPage"], info["hasPreviousPage"]) == (True, False)
        second = (await send("GET", f"/favourites/ada?first=2&after={quote(info['endCursor'])}")).json()
        assert [each["restaurant"] for each in second["items"]] == ["r2", "r1"]
        back = (await send("GET", f"/favourites/ada?last=2&before={quote(second['pageInfo']['startCursor'])}")).json()
        assert back["items"] == first["items"]
        fans = (await send("GET", "/restaurants/r1/fans")).json()
        assert [each["user"] for each in fans["items"]] == ["ada"]

    with_service(use)


def test_counts_and_top_lists_follow() -> None:
    async def use(send: Send, count: Count) -> None:
        nothing = (await send("GET", "/restaurants/r1/favourites")).json()
        assert nothing == {"restaurant": "r1", "window": "ALL_TIME", "count": 0, "updatedAt": None}
        for path in ("ada/r1", "bob/r1", "ada/r2"):
            await send("PUT", f"/favourites/{path}")
        await count()
        counted = (await send("GET", "/restaurants/r1/favourites?window=ALL_TIME")).json()
        assert (counted["restaurant"], counted["window"], counted["count"]) == ("r1", "ALL_TIME", 2)
        assert counted["updatedAt"].endswith("Z")
        top = (await send("GET", "/restaurants/top?window=ALL_TIME&limit=10")).json()
        assert top == {
            "window": "ALL_TIME",
            "restaurants": [{"restaurant": "r1", "count": 2}, {"restaurant": "r2", "count": 1}],
        }

    with_service(use)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/favourites/ada?first=0", "first: must be from 1 to 1,000, not 0"),
        ("/favourites/ada?first=1001", "first: must be from 1 to 1,000, not 1001"),
        ("/favourites/ada?last=-1", "last: must be from 1 to 1,000, not -1"),
        ("/favourites/ada?first=x", "first"),
        ("/favourites/ada?first=1&last=1", "use first and after, or last and before, not both"),
        ("/favourites/ada?after=x", "cursor"),
        ("/restaurants/r1/fans?before=x", "cursor"),
        ("/restaurants/r1/favourites?window=yesterday", "window: must be ALL_TIME"),
        ("/restaurants/top?window=2026-13", "window: must be ALL_TIME"),
        ("/restaurants/top?limit=0", "limit: must be from 1 to 1,000, not 0"),
        ("/restaurants/top?limit=1001", "limit: must be from 1 to 1,000, not 1001"),
        (f"/favourites/{'x' * 257}", "user: must have 1 to 256 bytes, not 257"),
        (f"/restaurants/{'x' * 257}/fans", "restaurant: must have 1 to 256 bytes, not 257"),
        (f"/favourites/ada/{'x' * 257}", "restaurant: must have 1 to 256 bytes, not 257"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(path: str, said: str) -> None:
    async def use(send: Send, _: Count) -> None:
        answer = await send("GET", path)
        assert answer.status == 400
        assert said in answer.error["message"]

    with_service(use)


def test_a_cursor_of_another_list_is_rejected() -> None:
    async def use(send: Send, _: Count) -> None:
        for number in range(3):
            await send("PUT", f"/favourites/ada/r{number}")
        cursor = quote((await send("GET", "/favourites/ada?first=1")).json()["pageInfo"]["endCursor"])
        for path in ("/favourites/bob", "/restaurants/r1/fans"):
            answer = await send("GET", f"{path}?after={cursor}")
            assert answer.status == 400

    with_service(use)
