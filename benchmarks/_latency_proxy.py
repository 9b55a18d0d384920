"""A TCP proxy on loopback that delays what it passes on: a store that is some milliseconds away.

    python -m benchmarks._latency_proxy 127.0.0.1:8000 0.010        prints `ready http://127.0.0.1:PORT`

Half of the latency is added in each direction, to every piece of a connection, in its order. The loop waits by
`select`, which has microseconds; `epoll` and uvloop round timers to milliseconds. It is a process of its own, so that
its time is not that of the program that is measured.
"""

from __future__ import annotations

import asyncio
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

STOP_SECONDS: Final = 10


@contextmanager
def delayed(url: str, seconds: float) -> Iterator[str]:
    """The URL of a proxy before this one; `seconds` are those of a whole round trip."""
    command = [sys.executable, "-m", "benchmarks._latency_proxy", urlsplit(url).netloc, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError("the proxy did not start")
        yield line.split()[1]
    finally:
        process.terminate()
        process.communicate(timeout=STOP_SECONDS)


class _Side(asyncio.Protocol):
    """One of the two connections; what it receives, the other one sends later."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiting: list[bytes] = []
        """What came before there was a connection to send it."""
        self._last = 0.0
        """When the last piece is due: no piece overtakes another."""
        self.other: _Side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        for piece in self._waiting:
            transport.write(piece)

    def data_received(self, data: bytes) -> None:
        self._last = max(self._last, self._loop.time() + self._delay)
        self._loop.call_at(self._last, self.other.send, data)

    def connection_lost(self, _: Exception | None) -> None:
        self._last = max(self._last, self._loop.time() + self._delay)
        self._loop.call_at(self._last, self.other.close)

    def send(self, data: bytes) -> None:
        if self._transport is None:
            self._waiting.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class _Client(_Side):
    """The connection of a client; opens one to the store."""

    def __init__(self, delay: float, host: str, port: int) -> None:
        super().__init__(delay)
        self._address = host, port
        self._opening: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.other = _Side(self._delay)
        self.other.other = self
        self._opening = self._loop.create_task(self._open())

    async def _open(self) -> None:
        try:
            await self._loop.create_connection(lambda: self.other, *self._address)
        except OSError:
            self.close()


async def _serve(host: str, port: int, delay: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Client(delay, host, port), "127.0.0.1", 0)
    sys.stdout.write(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


def main(address: str, seconds: str) -> None:
    host, _, port = address.partition(":")
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(_serve(host, int(port), float(seconds) / 2))


if __name__ == "__main__":
    main(*sys.argv[1:])
