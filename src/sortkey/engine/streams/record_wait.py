"""Waiting for stream records instead of polling for them.

Commits of this process wake a waiter at once (`signal`). Other processes write to the same store without a word, so a
waiter also looks for itself, ten times a second.
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

LOOK_SECONDS: Final = 0.1


def wait_for_records(core: Core, iterator: str, timeout: float) -> bool:
    """Block until GetRecords has something to say to this iterator: records, or that the shard has ended.

    False when the time is up first.
    """
    place = shard_iterator.parse(iterator)
    space = space_bytes(place.space)
    deadline = time.monotonic() + timeout
    while True:
        seen = core.signal.version(space)
        if _any_news(core, place):
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        core.signal.wait(space, seen, min(LOOK_SECONDS, left))


async def records_arrived(core: Core, iterator: str, timeout: float) -> bool:
    """As `wait_for_records`, without blocking the event loop."""
    place = shard_iterator.parse(iterator)
    space = space_bytes(place.space)
    loop = asyncio.get_running_loop()
    written = asyncio.Event()

    def on_commit(streams: set[bytes]) -> None:
        if space in streams:
            # A commit that was under way while the waiter left may find the loop closed: there is nobody left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(written.set)

    deadline = loop.time() + timeout
    stop_listening = core.signal.listen(on_commit)
    try:
        while not _any_news(core, place):
            left = deadline - loop.time()
            if left <= 0:
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_SECONDS, left)):
                    await written.wait()
            written.clear()
        return True
    finally:
        stop_listening()


def _any_news(core: Core, place: ShardIterator) -> bool:
    with core.read() as snapshot:
        shard = stream_reader.shard_at(core, snapshot, place)
        return shard.is_closed or next(shard.records_from(place.sequence), None) is not None
