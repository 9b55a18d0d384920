"""The items in which followers keep who follows which shard, and how far: the table `sortkey-feeds`.

A lease has one item per feed and shard. Its owner renews it by incrementing `counter`. Another follower takes it over
when it has seen the counter unchanged for the lease time, by its own monotonic clock: no two clocks are compared.
Every write of an owner is conditional on the owner, so a follower that was frozen finds out at its next write.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table

FEEDS: Final = Table("sortkey-feeds")
SHARD_END: Final = "SHARD_END"
NOBODY: Final = ""


class FeedStart(Item, table=FEEDS):
    """When a feed was started for the first time."""

    feed: str
    since: datetime | None = None
    """Changes before it are not delivered; None delivers all."""

    key = Key("FEED#{feed}", "START")


class ShardLease(Item, table=FEEDS):
    feed: str
    stream: str
    """The stream's ARN."""
    shard: str
    owner: str = NOBODY
    counter: int = 0
    """Grows with every renewal and checkpoint."""
    checkpoint: str = ""
    """The sequence number of the last change that was handled; empty before the first one, SHARD_END after the last."""
    from_latest: bool = False
    """Whether it starts with changes to come, as long as nobody has begun."""
    wanted_by: str = NOBODY
    """The follower that asks the owner to hand it over."""

    key = Key("FEED#{feed}", "SHARD#{stream}#{shard}")

    @property
    def has_ended(self) -> bool:
        return self.checkpoint == SHARD_END
