"""The app on a socket: answers of its own shape to whatever a client does. The connection has tests of its own."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import cast
from weakref import WeakKeyDictionary, ref

import pytest
import uvloop

from sortkey.http.connection import IDLE_SECONDS, LINGER_SECONDS, REQUEST_SECONDS, STALLED_SECONDS, Connection
from sortkey.http.request_parser import HEAD_BYTES
from sortkey.server.app_server import AppServer
from sortkey.server.exchange import Exchange
from sortkey.server.metrics import Metrics
from sortkey.server.middleware import Middleware
from tests.server.conftest import notes_in_memory
from tests.server.serving import SECONDS

SEARCH = b'{"names": ["a"]}'
POST = b"POST /notes/s/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
ADDRESSES: WeakKeyDictionary[AppServer, tuple[str, int]] = WeakKeyDictionary()


class Client:
    def __init__(self, server: AppServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        status = int((await self._reader.readline()).split()[1])
        headers = {}
        while (line := (await self._reader.readline()).strip()) != b"":
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return status, headers

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        return status, headers, await self._reader.readexactly(int(headers.get("content-length", 0)))

    async def ended(self) -> bool:
        try:
            return await self._reader.read(1) == b""
        except ConnectionResetError:
            return True

    async def seconds_pass(self, number: int) -> None:
        """What the server does once a second, so often."""
        # A request to the end: whatever was sent before it has arrived.
        async with client_of(self._server) as other:
            await other.send(GET)
            await other.answer()
        for _ in range(number):
            self._server.tick += 1
            for each in tuple(self._server._connections):
                each.check()

    def served(self) -> bool:
        """Whether the server still has the connection."""
        return self._served() is not None

    def stalls(self) -> bool:
        """Whether the server waits for this client to read."""
        served = self._served()
        return served is not None and served._stalled

    def _served(self) -> Connection | None:
        own = self._writer.get_extra_info("sockname")
        connections = self._server._connections
        return next((each for each in connections if each._transport.get_extra_info("peername") == own), None)

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def client_of(server: AppServer) -> AsyncIterator[Client]:
    client = Client(server, *await asyncio.open_connection(*ADDRESSES[server]))
    try:
        yield client
    finally:
        client.close()


def with_server(use: Callable[[AppServer], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with notes_in_memory() as (_, app):
            metrics = Metrics()
            server = AppServer(app(metrics=metrics), metrics)
            listening = socket.create_server(("127.0.0.1", 0))
            ADDRESSES[server] = listening.getsockname()
            ready = asyncio.Event()
            serving = asyncio.create_task(server.serve(listening, ready.set))
            await ready.wait()
            try:
                await use(server)
            finally:
                server.stop()
                await serving

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(whole())


# Clients read until the answer is whole, so that one behind the other needs lengths that are right.
def test_requests_one_behind_the_other_on_one_connection() -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            post = POST + b"Content-Length: %d\r\n\r\n" % len(SEARCH) + SEARCH
            await client.send(post + GET + post)
            assert [(await client.answer())[0] for _ in range(3)] == [200, 200, 200]

    with_server(use)


def test_a_chunked_body_and_one_that_asks_first() -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(POST + b"Transfer-Encoding: chunked\r\n\r\n10\r\n" + SEARCH + b"\r\n0\r\n\r\n")
            assert (await client.answer())[0] == 200
            await client.send(POST + b"Expect: 100-continue\r\nContent-Length: 16\r\n\r\n")
            assert (await client.answer())[0] == 100
            await client.send(SEARCH)
            assert (await client.answer())[0] == 200

    with_server(use)


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"GET /\x00 HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA b: c\r\n\r\n"]
)
def test_what_is_not_http_gets_an_error_of_ours(sent: bytes) -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(sent)
            status, headers, body = await client.answer()
            assert (status, headers["content-type"]) == (400, "application/json")
            assert json.loads(body)["error"]["code"] == "invalid_request"
            assert await client.ended()

    with_server(use)


@pytest.mark.parametrize("line", [b"X: " + b"x" * 100, b"X"], ids=["many headers", "one endless header"])
def test_a_head_without_end(line: bytes) -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(b"GET /health HTTP/1.1\r\n")
            end = b"\r\n" if b":" in line else b""
            for _ in range(HEAD_BYTES // 1000 + 200):
                await client.send((line + end) * (1000 // len(line + end)))
            status, _, body = await client.answer()
            assert (status, json.loads(body)["error"]["code"]) == (431, "too_large")
            assert await client.ended()

    with_server(use)


@pytest.mark.parametrize(
    ("sent", "answers", "seconds"),
    [
        (b"", 0, IDLE_SECONDS),
        (GET, 1, IDLE_SECONDS),
        (b"GET /health HTTP/1.1\r\nHo", 0, REQUEST_SECONDS),
        (POST + b"Content-Length: 16\r\n\r\n{", 0, REQUEST_SECONDS),
        (GET + b"GET /hea", 1, REQUEST_SECONDS),
        (POST + b"Content-Length: 99999999\r\n\r\n{", 1, LINGER_SECONDS),
    ],
    ids=[
        "nothing",
        "nothing more",
        "half a head",
        "half a body",
        "half a second head",
        "rest of a rejected one",
    ],
)
def test_clients_that_do_not_go_on_are_left(sent: bytes, answers: int, seconds: int) -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(sent)
            for _ in range(answers):
                await client.answer()
            # The server's own clock ticks meanwhile, so not quite as many.
            await client.seconds_pass(seconds * 5 // 6)
            assert client.served() or seconds == LINGER_SECONDS
            await client.seconds_pass(seconds // 6 + 2)
            if seconds == REQUEST_SECONDS:
                status, _, body = await client.answer()
                assert (status, json.loads(body)["error"]["code"]) == (408, "invalid_request")
                await client.seconds_pass(LINGER_SECONDS + 1)
            assert await client.ended()

    with_server(use)


def test_a_client_that_does_not_take_its_answers_is_left() -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            page = GET.replace(b"/health", b"/docs")
            await client.send(page * 2000)
            while not client.stalls():
                await asyncio.sleep(0)
            await client.seconds_pass(STALLED_SECONDS - 10)
            assert client.served()
            await client.seconds_pass(11)
            async with asyncio.timeout(SECONDS):
                while client.served():
                    # It may have taken a little more meanwhile, as long as there was room on the way.
                    await client.seconds_pass(1)

    with_server(use)


@pytest.mark.parametrize(
    ("head", "connection"),
    [
        (b"GET /health HTTP/1.1\r\n", None),
        (b"GET /health HTTP/1.1\r\nConnection: close\r\n", "close"),
        (b"GET /health HTTP/1.0\r\n", "close"),
        (b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n", "keep-alive"),
    ],
)
def test_a_connection_stays_or_ends_as_the_client_wishes(head: bytes, connection: str | None) -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(head + b"Host: localhost\r\n\r\n")
            status, headers, _ = await client.answer()
            assert (status, headers.get("connection")) == (200, connection)
            if connection == "close":
                assert await client.ended()
            else:
                await client.send(GET)
                assert (await client.answer())[0] == 200

    with_server(use)


def test_the_answer_to_head_has_no_body_and_says_how_long_it_would_be() -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(GET.replace(b"GET", b"HEAD") + GET)
            head = await client.head()
            status, headers, body = await client.answer()
            assert (head[0], head[1]["content-length"]) == (status, headers["content-length"])
            assert len(body) == int(headers["content-length"]) > 0

    with_server(use)


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"/notes/s/%61?", 200),
        (b"/notes/s/%61?x=%62", 400),
        (b"/notes/s/b", 404),
        (b"/notes/s/%FF", 400),
        (b"/notes/s/a?x=%FE", 400),
        ("/notes/s/a?x=é".encode("latin-1"), 400),
        (b"*", 400),
        (b"http://x/health?y", 200),
        (b"HTTP://[::1]", 404),
    ],
)
def test_a_target_is_a_path(target: bytes, status: int) -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            text = b'{"text": "x"}'
            await client.send(
                b"PUT /notes/s/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(text) + text
            )
            assert (await client.answer())[0] == 200
            await client.send(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await client.answer())[0] == status

    with_server(use)


# What is part of a cycle waits for the collector, which hardly ever looks at what has lived for a while. And an
# exception keeps the frames in which it was raised: one that was raised again and again kept those of every time, with
# them the connections, their requests and answers.
@pytest.mark.parametrize(("target", "status"), [(b"/health", 200), (b"/%ff", 400), (b"*", 400)])
def test_nothing_is_left_of_a_closed_connection(target: bytes, status: int) -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(GET)
            await client.answer()
            served = client._served()
            assert served is not None
            left: list[ref[object]] = [ref(served), ref(served._parser), ref(served._handler)]
            del served
            await client.send(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
            assert (await client.answer())[0] == status
            if status == 400:
                assert await client.ended()
        async with client_of(server) as other:
            for _ in range(20):
                # A request to the end: the loop has turned a few times.
                await other.send(GET)
                await other.answer()
            assert [each() for each in left] == [None, None, None]

    gc.collect()
    gc.disable()
    try:
        with_server(use)
    finally:
        gc.enable()


def test_too_many_connections_are_told() -> None:
    async def use(server: AppServer) -> None:
        server._room = 1
        async with client_of(server) as first:
            await first.send(GET)
            await first.answer()
            async with client_of(server) as second:
                status, _, body = await second.answer()
                assert (status, json.loads(body)["error"]["code"]) == (503, "overloaded")
                assert await second.ended()
            await first.send(GET)
            assert (await first.answer())[0] == 200

    with_server(use)


# Seeded nonsense: none of it may be answered by 500, and the server goes on serving.
def test_mutilated_requests_are_never_answered_by_500() -> None:
    whole = POST + b"Content-Length: 16\r\n\r\n" + SEARCH
    random = Random(5)

    def mutilated() -> bytes:
        data = bytearray(whole)
        for _ in range(random.randint(1, 6)):
            place = random.randrange(len(data))
            match random.randrange(3):
                case 0:
                    data[place] = random.randrange(256)
                case 1:
                    del data[place : place + random.randint(1, 20)]
                case _:
                    data[place:place] = random.randbytes(random.randint(1, 20))
        return bytes(data)

    async def use(server: AppServer) -> None:
        statuses: list[int] = []
        for _ in range(300):
            async with client_of(server) as client:
                await client.send(mutilated())
                client._writer.write_eof()
                try:
                    statuses.append((await client.answer())[0])
                except (IndexError, ConnectionError, asyncio.IncompleteReadError):
                    continue  # half a request has no answer
        assert statuses
        assert [status for status in statuses if status >= 500] == []
        async with client_of(server) as client:
            await client.send(whole)
            assert (await client.answer())[0] == 200

    with_server(use)


@pytest.mark.slow
def test_a_stop_answers_what_has_begun_and_closes_the_rest() -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as idle, client_of(server) as busy:
            await idle.send(GET)
            await idle.answer()
            await busy.send(POST + b"Content-Length: 16\r\n\r\n" + SEARCH[:5])
            await busy.seconds_pass(0)
            server.stop()
            assert await idle.ended()
            await busy.send(SEARCH[5:])
            status, headers, body = await busy.answer()
            assert (status, headers["connection"], json.loads(body)) == (200, "close", {"texts": []})
            assert await busy.ended()

    with_server(use)


def test_metrics_count_connections() -> None:
    async def use(server: AppServer) -> None:
        async with client_of(server) as client:
            await client.send(GET)
            await client.answer()
            server.each_second()
            samples = server.metrics.samples()
            assert samples["sortkey_http_connections"] == 1
            assert samples["sortkey_http_received_bytes_total"] == len(GET)
            assert samples["sortkey_http_sent_bytes_total"] > 0

    with_server(use)


# A handler with much to do asks, and does not begin the rest.
def test_a_client_that_leaves_before_its_answer_is_noticed() -> None:
    begun: asyncio.Queue[Exchange] = asyncio.Queue()
    goes_on = asyncio.Event()

    class Slow:
        async def answer(self, exchange: Exchange) -> None:
            begun.put_nowait(exchange)
            await goes_on.wait()
            exchange.answer(200, b"", [])

    async def use(server: AppServer) -> None:
        server._middleware = cast(Middleware, Slow())
        async with client_of(server) as stays, client_of(server) as leaves:
            await stays.send(GET)
            staying = await begun.get()
            await leaves.send(GET)
            leaving = await begun.get()
            assert not leaving.gone()
            leaves.close()
            while not leaving.gone():
                await asyncio.sleep(0)
            assert not staying.gone()
            goes_on.set()
            assert (await stays.answer())[0] == 200

    with_server(use)
