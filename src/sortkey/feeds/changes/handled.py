"""How far a feed has handled each shard, as its followers have saved it."""

from __future__ import annotations

from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.lease import ShardLease
from sortkey.model.calls.steps import code_of
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.streams.change import SEQUENCE_DIGITS, padded

_LAST: Final = "9" * SEQUENCE_DIGITS


async def handled_by(session: AsyncSession, feed: ChangeFeed[Any]) -> dict[str, str]:
    """The sequence number of the last change that is known to be handled, of each shard of which one is; the greatest
    possible one for a shard that was handled to its end. Followers save it about once a second."""
    handled: dict[str, str] = {}
    try:
        async for lease in session.iterate(ShardLease.key(feed=feed.name), consistent=True):
            if lease.has_ended:
                handled[lease.shard] = _LAST
            elif lease.checkpoint:
                handled[lease.shard] = padded(lease.checkpoint)
    except ClientError as error:
        # Nobody has followed a feed in this store yet.
        if code_of(error) != "ResourceNotFoundException":
            raise
    return handled
