"""Requests to an ASGI app without a socket, the body in the pieces that the test chooses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sortkey.server.front import Front


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """What every failure has, and nothing beside it."""
        answer = self.json()
        assert answer.keys() == {"error"}
        error: dict[str, Any] = answer["error"]
        assert error.keys() == {"code", "message", "details"}
        assert isinstance(error["details"], list)
        assert self.headers["content-type"] == "application/json"
        return error


class Call:
    """One request. `pieces` of its body are taken as the app asks for them; None is a client that leaves."""

    def __init__(self, method: str, path: str, pieces: Sequence[bytes | None] = (b"",), **headers: str) -> None:
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path.partition("?")[0],
            "raw_path": path.partition("?")[0].encode(),
            "query_string": path.partition("?")[2].encode(),
            "root_path": "",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
            "server": ("127.0.0.1", 8080),
            "client": ("127.0.0.1", 50000),
            "state": {},
        }
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        for piece in pieces:
            self.pieces.put_nowait(piece)
        self.last = len(pieces)
        self.taken = 0
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> Any:
        piece = await self.pieces.get()
        self.taken += 1
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": self.taken < self.last}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def made(self, front: Front) -> Answer:
        app: Any = front
        await app(self.scope, self.receive, self.send)
        start, *bodies = self.sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], headers, b"".join(body["body"] for body in bodies))


async def call(front: Front, method: str, path: str, body: object = None, **headers: str) -> Answer:
    """A whole request; a body that is not bytes is sent as JSON."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    return await Call(method, path, [content], **headers).made(front)
