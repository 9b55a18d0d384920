"""What Sortkey's endpoint is measured beside: httptools on uvloop, and one constant answer to every request.

`python -m benchmarks._bare_protocol PORT`: no routing, no look at the body, no headers but those of the answer. No
server in Python on this loop and parser can be faster.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Final, cast

import httptools
import orjson
import uvloop

from benchmarks._peers import ServerDefinition
from benchmarks.engine import item

BODY: Final = orjson.dumps({"Item": item(1)})
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%s" % (
    len(BODY),
    BODY,
)


class Constant(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(ANSWER)


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    server = await loop.create_server(Constant, "127.0.0.1", port)
    async with server:
        await ended.wait()


def _command(port: int, _: Path) -> list[str]:
    return [sys.executable, "-m", "benchmarks._bare_protocol", str(port)]


SERVER: Final = ServerDefinition("constant", lambda: None, _command, source=Path(__file__).parent.parent)


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
