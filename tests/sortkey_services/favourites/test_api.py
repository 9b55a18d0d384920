"""The service over HTTP, as docs/services/favourites.md describes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.favourites.service_definition import FAVOURITES
from tests.server.calling import Answer, Ask, asking, call

Send = Callable[[str, str], Awaitable[Answer]]
Count = Callable[[], Awaitable[None]]


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Send, Count]]:
    """The service in memory, made as the command line makes it."""
    async with sk.async_connect("memory:", tables=FAVOURITES.tables({})) as session:
        service = FAVOURITES.make(session, {})
        await service.start()
        front = app_of([service])
        async with sk.feeds.Follower(session, service.feeds) as follower:
            yield (lambda method, path: call(front, method, path)), follower.caught_up


def with_service(use: Callable[[Send, Count], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with serving() as (send, count):
            await use(send, count)

    asyncio.run(whole())


@asynccontextmanager
async def serving_nobody() -> AsyncIterator[Send]:
    async with serving() as (send, _):
        yield send


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    with asking(serving_nobody()) as ask:
        yield ask


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
        assert top.keys() == {"window", "restaurants", "pageInfo"}
        assert top["window"] == "ALL_TIME"
        assert top["restaurants"] == [{"restaurant": "r1", "count": 2}, {"restaurant": "r2", "count": 1}]
        assert (top["pageInfo"]["hasNextPage"], top["pageInfo"]["hasPreviousPage"]) == (False, False)

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
        ("/restaurants/top?limit=x", "limit"),
        ("/restaurants/top?after=x", "cursor"),
        ("/restaurants/top?before=x", "cursor"),
        ("/restaurants/top?after=x&before=x", "use after or before, not both"),
        ("/restaurants/top?first=10", "first"),
        (f"/favourites/{'x' * 257}", "user: must have 1 to 256 bytes, not 257"),
        (f"/restaurants/{'x' * 257}/fans", "restaurant: must have 1 to 256 bytes, not 257"),
        (f"/favourites/ada/{'x' * 257}", "restaurant: must have 1 to 256 bytes, not 257"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(ask: Ask, path: str, said: str) -> None:
    answer = ask("GET", path)
    assert answer.status == 400
    assert said in answer.error["message"]


def test_the_cursor_goes_through_the_whole_top_list_and_back() -> None:
    async def use(send: Send, count: Count) -> None:
        for number in range(25):
            await send("PUT", f"/favourites/ada/r{number:02}")
        await send("PUT", "/favourites/bob/r24")
        await count()
        expected = [("r24", 2), *((f"r{number:02}", 1) for number in range(24))]
        path, found, pages = "/restaurants/top?limit=10", [], []
        while True:
            answer = (await send("GET", path)).json()
            pages.append([(each["restaurant"], each["count"]) for each in answer["restaurants"]])
            found += pages[-1]
            info = answer["pageInfo"]
            if not info["hasNextPage"]:
                break
            path = f"/restaurants/top?limit=10&after={quote(info['endCursor'])}"
        assert found == expected
        assert [len(page) for page in pages] == [10, 10, 5]
        back = (await send("GET", f"/restaurants/top?limit=10&before={quote(info['startCursor'])}")).json()
        assert [(each["restaurant"], each["count"]) for each in back["restaurants"]] == pages[1]
        assert back["pageInfo"]["hasPreviousPage"] is True

    with_service(use)


# The list of a day is another list, and so is that of a user.
def test_a_cursor_of_a_top_list_is_for_this_list_and_as_it_was_given() -> None:
    async def use(send: Send, count: Count) -> None:
        for number in range(3):
            await send("PUT", f"/favourites/ada/r{number}")
        await count()
        cursor = (await send("GET", "/restaurants/top?limit=1")).json()["pageInfo"]["endCursor"]
        assert (await send("GET", f"/restaurants/top?limit=2&after={quote(cursor)}")).status == 200
        middle = len(cursor) // 2
        changed = cursor[:middle] + ("A" if cursor[middle] != "A" else "B") + cursor[middle + 1 :]
        of_user = (await send("GET", "/favourites/ada?first=1")).json()["pageInfo"]["endCursor"]
        for path, wrong in (
            ("/restaurants/top?", changed),
            ("/restaurants/top?", cursor[:-2]),
            ("/restaurants/top?", of_user),
            ("/restaurants/top?window=2026&", cursor),
            ("/favourites/ada?", cursor),
        ):
            answer = await send("GET", f"{path}after={quote(wrong)}")
            assert (answer.status, "cursor" in answer.error["message"]) == (400, True)

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
