"""What a client cannot do to the server: send without end, send nothing, take nothing, send nonsense."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
import uvloop

from sortkey.server import connection
from sortkey.server.connection import HEAD_BYTES, PATIENCE_SECONDS, Connection
from sortkey.server.http_server import HttpServer
from sortkey.server.metrics import Metrics
from tests.server.conftest import notes_in_memory

SEARCH = b'{"names": ["a"]}'
POST = b"POST /notes/s/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


class Client:
    def __init__(self, server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status = int((await self._reader.readline()).split()[1])
        headers = {}
        while (line := (await self._reader.readline()).strip()) != b"":
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
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
            for each in tuple(self._server.server_state.connections):
                assert isinstance(each, Connection)
                each.check()

    def served(self) -> bool:
        """Whether the server still has the connection."""
        return self._served() is not None

    def stalls(self) -> bool:
        """Whether the server waits for this client to read."""
        served = self._served()
        return served is not None and served.flow.write_paused

    def _served(self) -> Connection | None:
        port = self._writer.get_extra_info("sockname")[1]
        connections = [each for each in self._server.server_state.connections if isinstance(each, Connection)]
        return next((each for each in connections if each.client is not None and each.client[1] == port), None)

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def client_of(server: HttpServer) -> AsyncIterator[Client]:
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    client = Client(server, *await asyncio.open_connection(host, port))
    try:
        yield client
    finally:
        client.close()


def with_server(use: Callable[[HttpServer], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with notes_in_memory() as (_, app):
            metrics = Metrics()
            server = HttpServer(app(counted=metrics), metrics)
            ready = asyncio.Event()
            serving = asyncio.create_task(server.serve_on(socket.create_server(("127.0.0.1", 0)), ready.set))
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
    async def use(server: HttpServer) -> None:
        async with client_of(server) as client:
            post = POST + b"Content-Length: %d\r\n\r\n" % len(SEARCH) + SEARCH
            await client.send(post + GET + post)
            assert [(await client.answer())[0] for _ in range(3)] == [200, 200, 200]

    with_server(use)


def test_a_chunked_body_and_one_that_asks_first() -> None:
    async def use(server: HttpServer) -> None:
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
    async def use(server: HttpServer) -> None:
        async with client_of(server) as client:
            await client.send(sent)
            status, headers, body = await client.answer()
            assert (status, headers["content-type"]) == (400, "application/json")
            assert json.loads(body)["error"]["code"] == "invalid_request"
            assert await client.ended()

    with_server(use)


@pytest.mark.parametrize("line", [b"X: " + b"x" * 100, b"X"], ids=["many headers", "one endless header"])
def test_a_head_without_end(line: bytes) -> None:
    async def use(server: HttpServer) -> None:
        async with client_of(server) as client:
            await client.send(b"GET /health HTTP/1.1\r\n")
            end = b"\r\n" if b":" in line else b""
            for _ in range(HEAD_BYTES // 1000 + 200):
                await client.send((line + end) * (1000 // len(line + end)))
                if server.server_state.connections == set():
                    break
            status, _, body = await client.answer()
            assert (status, json.loads(body)["error"]["code"]) == (431, "too_large")
            assert await client.ended()

    with_server(use)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HTTP/1.1\r\nHo",
        POST + b"Content-Length: 16\r\n\r\n{",
        GET + b"GET /hea",
        POST + b"Content-Length: 99999999\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body", "half a second head", "the rest of what was refused"],
)
def test_clients_that_do_not_go_on_are_left(sent: bytes) -> None:
    async def use(server: HttpServer) -> None:
        async with client_of(server) as client:
            await client.send(sent)
            if sent.startswith(GET) or b"9999" in sent:
                await client.answer()
            if b"9999" in sent:
                await client.send(b"more")
            # The server's own clock ticks meanwhile, so not quite as many.
            await client.seconds_pass(PATIENCE_SECONDS - 10)
            assert client.served()
            await client.seconds_pass(11)
            assert await client.ended()

    with_server(use)


def test_a_client_that_does_not_take_its_answers_is_left() -> None:
    async def use(server: HttpServer) -> None:
        async with client_of(server) as client:
            page = GET.replace(b"/health", b"/docs")
            await client.send(page * 2000)
            while not client.stalls():
                await asyncio.sleep(0)
            await client.seconds_pass(PATIENCE_SECONDS - 10)
            assert client.served()
            await client.seconds_pass(11)
            async with asyncio.timeout(30):
                while client.served():
                    await asyncio.sleep(0)

    with_server(use)


# Between requests there is uvicorn's own, longer time; and a request that takes us long is not the client's fault.
def test_idle_and_busy_connections_are_not_taken_for_slow_ones() -> None:
    async def use(server: HttpServer) -> None:
        async with client_of(server) as client:
            await client.send(GET)
            await client.answer()
            await client.seconds_pass(PATIENCE_SECONDS + 1)
            await client.send(GET)
            assert (await client.answer())[0] == 200

    with_server(use)


def test_too_many_connections_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_ROOM", 1)

    async def use(server: HttpServer) -> None:
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


# Seeded nonsense: nothing that a client sends may be a 500, and afterwards the server serves.
def test_mutilated_requests_are_never_our_fault() -> None:
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

    async def use(server: HttpServer) -> None:
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


def test_a_stop_answers_what_has_begun_and_closes_the_rest() -> None:
    async def use(server: HttpServer) -> None:
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
    async def use(server: HttpServer) -> None:
        async with client_of(server) as client:
            await client.send(GET)
            await client.answer()
            await server.on_tick(0)
            samples: Any = server._metrics.samples()
            assert samples["sortkey_http_connections"] == 1

    with_server(use)
