"""Which leases a follower takes, and which it asks for, so that followers share the shards evenly. Pure.

Followers do not know of each other but by the leases: an owner lives as long as one of its counters moves. Each
follower takes leases without a living owner up to its share, which is rounded up, so that all are taken. A follower
with less than its share asks the owner of the most leases for one of them. That owner finishes its batch and hands it
over, so no change is handled twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sortkey.feeds.changes.lease import NOBODY, ShardLease
from sortkey.feeds.changes.stream_shards import ShardKey


class _Sight(NamedTuple):
    owner: str
    counter: int
    at: float


@dataclass
class Sightings:
    """When this follower first saw each lease as it is."""

    seconds: float
    """The lease time."""
    _seen: dict[ShardKey, _Sight] = field(default_factory=dict)

    def expired(self, leases: Mapping[ShardKey, ShardLease], now: float) -> set[ShardKey]:
        """The leases without a living owner. `now` is monotonic."""
        before, self._seen = self._seen, {}
        for key, lease in leases.items():
            sight = before.get(key)
            if sight is None or (sight.owner, sight.counter) != (lease.owner, lease.counter):
                sight = _Sight(lease.owner, lease.counter, now)
            self._seen[key] = sight
        return {key for key, sight in self._seen.items() if sight.owner == NOBODY or now - sight.at >= self.seconds}


class LeasePlan(NamedTuple):
    take: list[ShardKey]
    ask: ShardKey | None
    """The lease to ask its owner for."""


def plan(
    me: str, shards: Sequence[ShardKey], leases: Mapping[ShardKey, ShardLease], expired: set[ShardKey]
) -> LeasePlan:
    """`shards` are those that may be followed, in the order in which to take them."""
    owned = {key: leases[key] for key in shards if key in leases and key not in expired}
    held = Counter(lease.owner for lease in owned.values())
    mine = held.pop(me, 0)
    followers = len(held) + 1
    free = [key for key in shards if key not in owned]
    take = free[: max(0, -(-len(shards) // followers) - mine)]
    if free or not held:
        return LeasePlan(take, None)
    if any(lease.wanted_by == me for lease in owned.values() if lease.owner != me):
        return LeasePlan(take, None)  # one at a time
    richest, most = max(held.items(), key=lambda each: (each[1], each[0]))
    asked = (key for key, lease in owned.items() if lease.owner == richest and lease.wanted_by == NOBODY)
    return LeasePlan(take, next(asked, None) if most > mine + 1 else None)
