"""`sk.feeds.rekey_feeds`: the change feeds of a re-keying, which keep its new rows up to date."""

from __future__ import annotations

from typing import Any

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.rekeying.declaration import Rekey


def rekey_feeds(rekey: Rekey, session: AsyncSession) -> list[ChangeFeed[Any]]:
    """The change feeds of a re-keying in a store: one for each class of old items, and of inputs. A program runs them
    from before the start to the end, with an `sk.feeds.Follower` or as `feeds` of its service; any number of processes
    share the work.

        async with sk.feeds.Follower(db, sk.feeds.rekey_feeds(BY_CITY, db)) as follower:
            await BY_CITY.start(db)
    """
    writer = rekey.writer(session)
    return [ChangeFeed(f"rekey-{rekey.name}-{cls.__name__}", cls, writer.on_changes) for cls in rekey.sources]
