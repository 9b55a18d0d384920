"""Waits for stream records, so that a consumer need not poll.

Commits of this process wake a waiter at once (`stream_signal`). Other processes cannot signal their commits, so a
waiter also polls the store ten times a second.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Final

from sortkey.engine.core import Core
from sortkey.engine.rows.spaces import space_bytes
from sortkey.engine.streams import shard_iterator, stream_reader
from sortkey.engine.streams.shard_iterator import ShardIterator

POLL_SECONDS: Final = 0.1


def wait_for_records(core: Core, iterator: str, timeout: float) -> bool:
    """Block until GetRecords has an answer for this iterator: records, or the end of the shard.

    Returns False after the timeout.
    """
    position = shard_iterator.parse(iterator)
    space = space_bytes(position.space)
    deadline = time.monotonic() + timeout
    while True:
        seen = core.signal.version(space)
        if _has_news(core, position):
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        core.signal.wait(space, seen, min(POLL_SECONDS, left))


async def wait_for_records_async(core: Core, iterator: str, timeout: float) -> bool:
    """The same without blocking the event loop."""
    position = shard_iterator.parse(iterator)
    space = space_bytes(position.space)
    loop = asyncio.get_running_loop()
    written = asyncio.Event()

    def on_commit(streams: set[bytes]) -> None:
        if space in streams:
            # A commit that was under way when the waiter stopped may find the loop closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(written.set)

    deadline = loop.time() + timeout
    stop_listening = core.signal.listen(on_commit)
    try:
        while not _has_news(core, position):
            left = deadline - loop.time()
            if left <= 0:
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(min(POLL_SECONDS, left)):
                    await written.wait()
            written.clear()
        return True
    finally:
        stop_listening()


def _has_news(core: Core, position: ShardIterator) -> bool:
    with core.read() as snapshot:
        shard = stream_reader.shard_of_iterator(core, snapshot, position)
        return shard.is_closed or next(shard.records_from(position.sequence), None) is not None
