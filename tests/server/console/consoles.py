"""A console without sockets, over a small service, and requests to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import sortkey as sk
from sortkey.clock import SystemClock
from sortkey.http.listener import AllowedHosts
from sortkey.http.request_parser import Request
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.server.console.access import Access, OpenAccess, TokenAccess
from sortkey.server.console.console import Console
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.opened import open_console
from sortkey.server.console.sources import RunningService, Sources
from sortkey.server.tokens import KnownTokens
from tests.server.calling import Answer, read

SHOP = sk.Table("shop", stream="NEW_AND_OLD_IMAGES")


class Order(sk.Item, table=SHOP):
    """An order of a customer.

    The first line alone is shown.
    """

    customer: str
    number: int
    status: str = "NEW"
    total: Decimal = Decimal(0)
    placed: datetime | None = None

    key = sk.Key("CUSTOMER#{customer}", "ORDER#{number:06}")
    by_status = sk.Index("by_status", "STATUS#{status}", "{customer}#{number:06}", projection="KEYS_ONLY")


class Score(sk.Item, table="scores"):
    """In a sharded index."""

    game: str
    player: str
    points: int

    key = sk.Key("GAME#{game}", "{player}")
    top = sk.Index("top", "GAME#{game}", "{points:desc}#{player}", shards=sk.Shards(4, by="player"))


class Secret(sk.Item, table="secrets"):
    """Of another service."""

    id: str
    key = sk.Key("{id}")


TABLES = [SHOP, Score.__table__, Secret.__table__]


@dataclass
class Stream:
    """What a page reads of a stream of events."""

    parts: list[bytes] = field(default_factory=list)
    closed: bool = False
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def send(self, part: bytes) -> bool:
        self.parts.append(part)
        self.arrived.set()
        return not self.closed

    def events(self, name: str) -> list[Any]:
        lines = [part.decode().split("\n") for part in self.parts if part.startswith(b"event:")]
        return [json.loads(data.removeprefix("data: ")) for event, data, *_ in lines if event == f"event: {name}"]

    async def event(self, name: str, number: int = 1) -> Any:
        """The event of this name and number, once it has come."""
        async with asyncio.timeout(30):
            while len(self.events(name)) < number:
                self.arrived.clear()
                await self.arrived.wait()
        return self.events(name)[number - 1]


class Page:
    """Calls the console as its page does."""

    def __init__(self, console: Console) -> None:
        self.console = console

    async def send(
        self, method: str, target: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[Answer | None, Stream]:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"host": "localhost", "content-type": "application/json", **(headers or {})}
        named = {name.encode(): value.encode() for name, value in given.items()}
        request = Request(method.encode(), target.encode(), named, content, keep_alive=True)
        assert self.console.serves(request)
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        stream = Stream()

        def begin_stream(head: bytes, farewell: bytes) -> Stream:  # noqa: ARG001
            stream.parts.append(head)
            return stream

        pending: Any = SimpleNamespace(send=answered.set_result, begin_stream=begin_stream, overlaps=True)
        answer = self.console.begin(request, "127.0.0.1", lambda: pending)
        if answer is None and not stream.parts:
            answer = await answered
        return (None if answer is None else read(answer)), stream

    async def get(self, target: str, **headers: str) -> Answer:
        answer, _ = await self.send(
            "GET", target, headers={name.replace("_", "-"): each for name, each in headers.items()}
        )
        assert answer is not None
        return answer

    async def post(self, name: str, body: object = None, **headers: str) -> Answer:
        named = {header.replace("_", "-"): value for header, value in headers.items()}
        answer, _ = await self.send("POST", f"/console/api/{name}", {} if body is None else body, named)
        assert answer is not None
        return answer

    async def call(self, name: str, **body: Any) -> Any:
        """The answer to a request that succeeds."""
        answer = await self.post(name, body)
        assert answer.status == 200, answer
        return answer.json()

    async def live(self, **wanted: Any) -> Stream:
        answer, stream = await self.send("POST", "/console/api/live", wanted)
        assert answer is None, answer
        return stream


@dataclass
class Opened:
    page: Page
    session: AsyncSession


OPEN_ACCESS = OpenAccess(AllowedHosts(), "--tokens")
MakeAccess = Callable[[Declared], Access]


@asynccontextmanager
async def opened(
    url: str = "memory:", access: MakeAccess | None = None, feeds: Sequence[Any] = (), *, follows: bool = True
) -> AsyncIterator[Opened]:
    """The console of a shop, with a follower if it has feeds, unless others follow them."""
    async with sk.async_connect(url, tables=TABLES) as session:
        await session.create_tables(*TABLES)
        services = [
            RunningService("shop", "a shop", [SHOP, Score.__table__], feeds),
            RunningService("vault", "secrets", [Secret.__table__]),
        ]
        follower = sk.feeds.Follower(session, feeds) if feeds and follows else None
        sources = Sources("serve", SystemClock(), url, session.client.database, session, services, follower)
        async with open_console(sources, access or (lambda _: OPEN_ACCESS)) as console:
            if follower is None:
                yield Opened(Page(console), session)
                return
            async with follower:
                yield Opened(Page(console), session)


def run(use: Callable[[Opened], Awaitable[None]], **settings: Any) -> None:
    async def whole() -> None:
        async with opened(**settings) as shop:
            await use(shop)

    asyncio.run(whole())


def with_tokens(known: KnownTokens) -> MakeAccess:
    return lambda declared: TokenAccess(known, declared.service_of)
