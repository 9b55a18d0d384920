"""The service over HTTP, as docs/services/social.md describes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import quote

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.social.service_definition import SOCIAL
from tests.server.calling import Answer, Ask, asking, call


class Send(Protocol):
    def __call__(self, method: str, path: str, body: object = None) -> Awaitable[Answer]: ...


Count = Callable[[], Awaitable[None]]
ORDER = {"customer": "ada", "status": "PENDING", "placed": "2026-08-24", "total": 19.9}


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Send, Count]]:
    """The service in memory, made as the command line makes it."""
    async with sk.async_connect("memory:", tables=SOCIAL.tables({})) as session:
        service = SOCIAL.make(session, {})
        await service.start()
        front = app_of([service])

        def send(method: str, path: str, body: object = None) -> Awaitable[Answer]:
            return call(front, method, path, body)

        async with sk.feeds.Follower(session, service.feeds) as follower:
            yield send, follower.caught_up


def with_service(use: Callable[[Send, Count], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with serving() as (send, count):
            await use(send, count)

    asyncio.run(whole())


@asynccontextmanager
async def serving_ada() -> AsyncIterator[Send]:
    async with serving() as (send, _):
        await users(send, "ada")
        yield send


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    with asking(serving_ada()) as ask:
        yield ask


async def put(send: Send, path: str, body: object = None) -> Any:
    answer = await send("PUT", path, body)
    assert answer.status == 200, answer.body
    return answer.json()


async def users(send: Send, *users: str) -> None:
    for user in users:
        await put(send, f"/social/users/{user}", {"name": user.title(), "city": "NYC"})


def test_users_have_a_name_a_city_and_counts() -> None:
    async def use(send: Send, count: Count) -> None:
        assert await put(send, "/social/users/ada", {"name": "Ada", "city": "London"}) == {
            "user": "ada", "name": "Ada", "city": "London", "following": 0, "followers": 0,
        }  # fmt: skip
        await users(send, "bob", "cleo")
        await put(send, "/social/users/ada/follows/bob")
        await count()
        assert (await send("GET", "/social/users/ada")).json()["following"] == 1
        page = (await send("GET", "/social/users?city=NYC")).json()
        assert page["items"] == [
            {"user": "bob", "name": "Bob", "city": "NYC", "following": 0, "followers": 1},
            {"user": "cleo", "name": "Cleo", "city": "NYC", "following": 0, "followers": 0},
        ]

    with_service(use)


def test_follows_are_put_asked_and_deleted() -> None:
    async def use(send: Send, _: Count) -> None:
        await users(send, "ada", "bob")
        path = "/social/users/ada/follows/bob"
        assert (await send("GET", path)).json() == {"follows": False}
        assert (await put(send, path)).keys() == {"follows", "since"}
        assert (await send("GET", path)).json()["follows"] is True
        deleted = await send("DELETE", path)
        assert (deleted.status, deleted.json()) == (200, {"follows": False})

    with_service(use)


def test_lists_of_follows_are_pages() -> None:
    async def use(send: Send, _: Count) -> None:
        await users(send, "ada", "bob", "cleo")
        for path in ("ada/follows/bob", "ada/follows/cleo", "cleo/follows/ada"):
            await put(send, f"/social/users/{path}")
        first = (await send("GET", "/social/users/ada/following?first=1")).json()
        assert [each["user"] for each in first["items"]] == ["bob"]
        assert first["items"][0].keys() == {"user", "since"}
        cursor = quote(first["pageInfo"]["endCursor"])
        second = (await send("GET", f"/social/users/ada/following?first=1&after={cursor}")).json()
        assert [each["user"] for each in second["items"]] == ["cleo"]
        for name in ("followers", "mutuals"):
            answer = (await send("GET", f"/social/users/ada/{name}")).json()
            assert [each["user"] for each in answer["items"]] == ["cleo"]
            assert answer["pageInfo"].keys() == {"hasNextPage", "hasPreviousPage", "startCursor", "endCursor"}
            assert (await send("GET", f"/social/users/ada/{name}?after={cursor}")).status == 400
        explained = (await send("GET", "/social/users/ada/mutuals/explain")).json()
        assert explained.keys() == {"chosen", "other"}
        assert explained["chosen"].keys() == {"plan", "path", "edges", "units"}

    with_service(use)


def test_a_user_has_up_to_a_hundred_pins() -> None:
    async def use(send: Send, _: Count) -> None:
        await users(send, "ada")
        pins = "/social/users/ada/pins"
        assert (await send("GET", pins)).json() == {"pins": []}
        assert await put(send, f"{pins}/p1") == {"outcome": "added", "size": 1}
        assert await put(send, f"{pins}/p1") == {"outcome": "present", "size": 1}
        assert (await send("DELETE", f"{pins}/p2")).json() == {"outcome": "absent", "size": 1}
        for number in range(99):
            await put(send, f"{pins}/more{number}")
        full = await send("PUT", f"{pins}/p2")
        assert (full.status, full.error["code"]) == (409, "full")
        assert await put(send, f"{pins}/p1") == {"outcome": "present", "size": 100}
        # Pins stay when the profile is put again.
        await users(send, "ada")
        deleted = await send("DELETE", f"{pins}/p1")
        assert (deleted.status, deleted.json()) == (200, {"outcome": "removed", "size": 99})
        assert await put(send, f"{pins}/p2") == {"outcome": "added", "size": 100}
        assert (await send("GET", pins)).json() == {"pins": sorted(["p2", *(f"more{n}" for n in range(99))])}

    with_service(use)


def test_orders_are_answered_as_they_were_put() -> None:
    async def use(send: Send, _: Count) -> None:
        assert await put(send, "/social/orders/o1", ORDER) == {"order": "o1", **ORDER}
        assert await put(send, "/social/orders/o2", {**ORDER, "total": "7.10"}) == {
            "order": "o2",
            **ORDER,
            "total": 7.1,
        }
        assert (await send("GET", "/social/orders/o1")).json() == {"order": "o1", **ORDER}
        questions = (
            "/social/orders?status=PENDING&from=2026-08-24&to=2026-08-24",
            "/social/orders?status=PENDING",
            "/social/customers/ada/orders?on=2026-08-24",
            "/social/customers/ada/orders?month=2026-08",
            "/social/customers/ada/orders?from=2026-01&to=2026-08",
        )
        for question in questions:
            page = (await send("GET", question)).json()
            assert [each["order"] for each in page["items"]] == ["o1", "o2"]
            assert page["items"][0] == {"order": "o1", **ORDER}

    with_service(use)


def test_products_are_listed_by_category() -> None:
    async def use(send: Send, _: Count) -> None:
        radio = {"name": "Radio", "category": "electronics"}
        assert await put(send, "/social/products/p1", radio) == {"product": "p1", **radio}
        await put(send, "/social/products/p2", {"name": "Novel", "category": "books"})
        assert (await send("GET", "/social/products/p1")).json() == {"product": "p1", **radio}
        page = (await send("GET", "/social/products?category=electronics")).json()
        assert page["items"] == [{"product": "p1", **radio}]
        await put(send, "/social/products/p1", {"name": "Radio", "category": "kitchen"})
        assert (await send("GET", "/social/products?category=electronics")).json()["items"] == []

    with_service(use)


def test_points_make_a_leaderboard() -> None:
    async def use(send: Send, count: Count) -> None:
        chess = "/social/leaderboards/chess"
        one = await send("POST", f"{chess}/scores", {"player": "ada", "points": 70, "eventId": "e1"})
        assert (one.status, one.json()) == (202, {"accepted": 1, "repeated": 0})
        more = [{"player": "ada", "points": 70, "eventId": "e1"}, {"player": "bob", "points": 70}]
        several = await send("POST", f"{chess}/scores", [*more, {"player": "cleo", "points": 12}])
        assert (several.status, several.json()) == (202, {"accepted": 2, "repeated": 1})
        # The scores follow the events, and the rest follows the scores.
        await count()
        await count()
        leaders = [{"player": "ada", "points": 70, "rank": 1}, {"player": "bob", "points": 70, "rank": 1}]
        third = {"player": "cleo", "points": 12, "rank": 3}
        assert (await send("GET", f"{chess}/top")).json() == {"players": [*leaders, third]}
        assert (await send("GET", f"{chess}/top?limit=2")).json() == {"players": leaders}
        assert (await send("GET", f"{chess}/players/cleo")).json() == {**third, "exact": True}
        assert (await send("GET", chess)).json() == {"game": "chess", "players": 3, "points": 152}
        assert (await send("GET", "/social/leaderboards/go")).json() == {"game": "go", "players": 0, "points": 0}

    with_service(use)


SCORES = "/social/leaderboards/chess/scores"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/social/users", None, 400, "city"),
        ("GET", "/social/users?city=", None, 400, "city: must have 1 to 256 bytes, not 0"),
        ("GET", "/social/users?city=NYC&first=1001", None, 400, "first: must be from 1 to 1,000"),
        ("PUT", "/social/users/eve", {"name": "Eve"}, 400, "city"),
        ("PUT", "/social/users/eve", {"name": "", "city": "NYC"}, 400, "name: must have 1 to 1024 bytes, not 0"),
        ("PUT", f"/social/users/{'x' * 257}", {"name": "X", "city": "NYC"}, 400, "user: must have 1 to 256 bytes"),
        ("GET", "/social/users/nobody", None, 404, "there is no user 'nobody'"),
        ("PUT", "/social/users/ada/follows/ada", None, 400, "nobody follows oneself"),
        ("PUT", "/social/users/ada/follows/nobody", None, 404, "there is no user 'nobody'"),
        ("GET", "/social/users/nobody/following", None, 404, "there is no user 'nobody'"),
        ("GET", "/social/users/nobody/mutuals", None, 404, "there is no user 'nobody'"),
        ("GET", "/social/users/ada/followers?after=x", None, 400, "cursor"),
        ("PUT", "/social/users/nobody/pins/p1", None, 404, "there is no user 'nobody'"),
        ("DELETE", "/social/users/nobody/pins/p1", None, 404, "there is no user 'nobody'"),
        ("GET", "/social/users/nobody/pins", None, 404, "there is no user 'nobody'"),
        ("PUT", f"/social/users/ada/pins/{'x' * 257}", None, 400, "post: must have 1 to 256 bytes, not 257"),
        ("PUT", "/social/orders/o1", {**ORDER, "placed": "2026-02-30"}, 400, "placed"),
        ("PUT", "/social/orders/o1", {**ORDER, "total": "many"}, 400, "total"),
        ("PUT", "/social/orders/o1", {**ORDER, "total": 0.001}, 400, "total: must be an amount"),
        *(
            ("PUT", "/social/orders/o1", {**ORDER, "total": total}, 400, "total: must be an amount")
            for total in ("1e999999999", "-1e999999999", "1_000", " 5 ", "１２", "-sNaN", "", 1e12, 10**30)
        ),
        ("PUT", "/social/orders/o1", {**ORDER, "customer": "a/b"}, 400, "customer: must not contain /"),
        ("PUT", "/social/orders/o1", {**ORDER, "status": ""}, 400, "status: must have 1 to 256 bytes, not 0"),
        ("GET", "/social/orders/o1", None, 404, "there is no order 'o1'"),
        ("GET", "/social/orders?from=2026-08-01&to=2026-08-31", None, 400, "status"),
        ("GET", "/social/orders?status=P&from=2026-08", None, 400, "from: must be a day such as 2026-08-24"),
        ("GET", "/social/orders?status=P&to=20260824", None, 400, "to: must be a day such as 2026-08-24"),
        ("GET", "/social/orders?status=P&from=2026-08-02&to=2026-08-01", None, 400, "to: must not be before from"),
        ("GET", "/social/customers/ada/orders?on=2026-08", None, 400, "on: must be a day"),
        ("GET", "/social/customers/ada/orders?month=2026-13", None, 400, "month: must be a month such as 2026-08"),
        ("GET", "/social/customers/ada/orders?from=2026-01-01", None, 400, "from: must be a month such as 2026-08"),
        ("GET", "/social/customers/ada/orders?on=2026-08-24&month=2026-08", None, 400, "use one of on, month"),
        ("GET", "/social/customers/ada/orders?from=2026-02&to=2026-01", None, 400, "to: must not be before from"),
        ("GET", "/social/products", None, 400, "category"),
        ("GET", "/social/products/p1", None, 404, "there is no product 'p1'"),
        ("POST", SCORES, {"player": "ada"}, 400, "points"),
        ("POST", SCORES, {"player": "ada", "points": 1.5}, 400, "points"),
        ("POST", SCORES, {"player": "ada", "points": 2**53}, 400, "points: must be from -9,007,199,254,740,991"),
        ("POST", SCORES, {"player": "", "points": 1}, 400, "player: must have 1 to 256 bytes, not 0"),
        (
            "POST",
            SCORES,
            [{"player": "ada", "points": 1}, {"player": "\U0010ffff", "points": 1}],
            400,
            "[1].player: must",
        ),
        ("POST", SCORES, {"player": "ada", "points": 1, "eventId": "\U0010ffff"}, 400, "eventId: must not contain"),
        ("POST", SCORES, [], 400, "length >= 1"),
        ("POST", SCORES, [{"player": "ada", "points": 1}] * 1001, 400, "length <= 1000"),
        ("GET", "/social/leaderboards/chess/top?limit=0", None, 400, "limit: must be from 1 to 1,000, not 0"),
        ("GET", "/social/leaderboards/chess/players/ada", None, 404, "the player 'ada' has no points in 'chess'"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(
    ask: Ask, method: str, path: str, body: object, status: int, said: str
) -> None:
    answer = ask(method, path, body)
    assert (answer.status, said in answer.error["message"]) == (status, True), answer.body
