"""How much may be under way, so that memory stays bounded however far the messages are ahead of the store.

A message weighs 1, and 1 more for every 4 KiB of it. When a partition has enough under way, or all of them together
have, nothing more is received for a moment: mostly there is room again soon. What stays full is paused, which costs
more (the broker has to send again what was fetched ahead) and lets the others go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from sortkey.feeds.message import Message
from sortkey.feeds.partition_lane import PartitionLane

PARTITION_LOAD: Final = 4_000
TOTAL_LOAD: Final = 16_000
PATIENCE_SECONDS: Final = 0.5
"""Before what is full is paused."""
WEIGHED_BYTES: Final = 4096


def weight(message: Message) -> int:
    return 1 + (len(message.value or b"") + len(message.key or b"")) // WEIGHED_BYTES


@dataclass(slots=True, eq=False)
class Share:
    """A partition that is this worker's."""

    lane: PartitionLane
    load: int = 0
    paused: bool = False
    full_since: float | None = None


class Turn(NamedTuple):
    """What to do next."""

    receive: bool
    pause: list[Share]
    resume: list[Share]


def next_turn(shares: Mapping[int, Share], kept: int, now: float) -> Turn:
    """Marks the shares as it decides. `kept` weighs against the total as well: rejected messages not yet sent."""
    total = kept + sum(share.load for share in shares.values())
    patient, pause, resume = False, [], []
    for share in shares.values():
        if share.paused:
            if share.load <= PARTITION_LOAD // 2 and total <= TOTAL_LOAD // 2:
                share.paused = False
                resume.append(share)
        elif share.load < PARTITION_LOAD and total < TOTAL_LOAD:
            share.full_since = None
        elif share.full_since is None:
            share.full_since = now
            patient = True
        elif now - share.full_since < PATIENCE_SECONDS:
            patient = True
        else:
            share.paused, share.full_since = True, None
            pause.append(share)
    return Turn(not patient, pause, resume)
