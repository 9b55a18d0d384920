"""A transport whose answers leave in one piece.

uvicorn writes the head of an answer, then its body. Each is a system call and a packet, and the first wakes the client
for nothing: of a lookup's time that was a tenth.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Joined:
    """Keeps what is written until more follows, or until the loop's next turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held + data)
        else:
            self._held = data
            self._loop.call_soon(self._let_go)

    def close(self) -> None:
        self._let_go()
        self._transport.close()

    def abort(self) -> None:
        self._held = b""
        self._transport.abort()

    def _let_go(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's own affair."""
        return getattr(self._transport, name)
