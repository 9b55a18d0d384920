"""Requests to the app without a socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from sortkey.http.connection import Reply
from sortkey.http.request_parser import Request
from sortkey.server.middleware import Middleware
from sortkey.server.request_handler import RequestHandler
from sortkey.server.response import Responses


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """What every error_answer has, and nothing beside it."""
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
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return await answer_to(middleware, Request(method.encode(), path.encode(), named, content, keep_alive=True))


async def answer_to(middleware: Middleware, request: Request) -> Answer:
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def expect() -> Reply:
        return answered.set_result

    answering = RequestHandler(middleware, Responses(0.0), "127.0.0.1")
    return read(answering.begin(request, expect) or await answered)


def read(answer: bytes) -> Answer:
    """An answer's parts, and a proof that it says its length."""
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name: value for name, _, value in (each.partition(": ") for each in lines)}
    assert len(headers) == len(lines)
    assert body == b"" or int(headers["content-length"]) == len(body)
    return Answer(int(line.split()[1]), headers, body)
