"""Requests to the app without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

from sortkey.http.request_parser import Request
from sortkey.http.response import ResponseWriter
from sortkey.server.app_server import AppRequestHandler
from sortkey.server.middleware import Middleware


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The members of every error; there are no others."""
        answer = self.json()
        assert answer.keys() == {"error"}
        error: dict[str, Any] = answer["error"]
        assert error.keys() == {"code", "message", "details"}
        assert isinstance(error["details"], list)
        assert self.headers["content-type"] == "application/json"
        return error


async def call(middleware: Middleware, method: str, path: str, body: object = None, **headers: str) -> Answer:
    """A whole request; a body that is not bytes is sent as JSON."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"host": "localhost", **headers}
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return await answer_to(middleware, Request(method.encode(), path.encode(), named, content, keep_alive=True))


Ask = Callable[..., Answer]
"""Sends a request, and waits for its answer."""


@contextmanager
def asking(serving: AbstractAsyncContextManager[Callable[..., Awaitable[Answer]]]) -> Iterator[Ask]:
    """A service that several tests ask, one after the other, what changes nothing: to make one takes much longer."""
    stack = AsyncExitStack()

    async def opened() -> Callable[..., Awaitable[Answer]]:
        return await stack.enter_async_context(serving)

    with asyncio.Runner() as runner:
        send = runner.run(opened())

        async def asked(*request: object, **headers: str) -> Answer:
            return await send(*request, **headers)

        yield lambda *request, **headers: runner.run(asked(*request, **headers))
        runner.run(stack.aclose())


async def answer_to(middleware: Middleware, request: Request) -> Answer:
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    pending: Any = SimpleNamespace(send=answered.set_result, is_unread=lambda: False)
    handler = AppRequestHandler(middleware, ResponseWriter(0.0), "127.0.0.1")
    return read(handler.begin(request, lambda: pending) or await answered)


def read(answer: bytes) -> Answer:
    """An answer's parts; checks that it gives its length."""
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
    assert len(headers) == len(lines)
    assert body == b"" or int(headers["content-length"]) == len(body)
    return Answer(int(line.split()[1]), headers, body)
