"""Waits until a feed has handled everything that was written before, whoever follows its shards.

Shards of this process tell when they have found nothing more. Of a shard that another process follows, the last record
is read, and the lease is watched until that record was handled.
"""

from __future__ import annotations

import asyncio
from typing import Final

from sortkey.feeds.changes.feed_runner import FeedRunner
from sortkey.feeds.changes.lease import NOBODY, ShardLease
from sortkey.feeds.changes.stream_shards import ShardKey
from sortkey.model.calls.change import padded

WATCH_SECONDS: Final = 0.25
"""Between two looks at the leases of other followers."""


async def caught_up(runner: FeedRunner) -> None:
    done: set[ShardKey] = set()
    targets: dict[ShardKey, str] = {}
    while True:
        runner.changed.clear()
        streams = await runner.list_shards()
        leases = await runner.book.leases()
        left = [
            shard.key
            for stream in streams
            for shard in stream
            if shard.key not in done and not (shard.key in leases and leases[shard.key].has_ended)
        ]
        if not left:
            return
        own = [key for key in left if key in runner.consumers]
        if own:
            await asyncio.gather(*(runner.consumers[key].drained() for key in own))
            # A consumer that ended instead has an ended lease, or another follower's, and is looked at again.
            done |= {key for key in own if key in runner.consumers}
            continue
        others = [key for key in left if key in leases and leases[key].owner not in (NOBODY, runner.book.me)]
        for key in others:
            if key not in targets:
                targets[key] = await runner.last_sequence(key, leases[key])
            if _is_handled(leases[key], targets[key]):
                done.add(key)
        if not done.issuperset(left):
            await _wait(runner, WATCH_SECONDS if others else runner.round_seconds)


def _is_handled(lease: ShardLease, target: str) -> bool:
    return padded(lease.checkpoint) >= target


async def _wait(runner: FeedRunner, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await runner.changed.wait()
    except TimeoutError:
        pass  # another follower may have gone on
