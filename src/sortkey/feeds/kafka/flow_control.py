"""Limits the messages in progress, so that memory stays bounded when messages arrive faster than the store takes them.

A message weighs 1, plus 1 for every 4 KiB. When a partition, or all of them together, reach their limit, nothing is
received for a moment: usually there is room again soon. A partition that stays full is paused, and the others continue.
Pausing costs more: the broker has to send again what was fetched ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from sortkey.feeds.kafka.message import Message
from sortkey.feeds.kafka.partition_lane import PartitionLane

PARTITION_LOAD: Final = 4_000
TOTAL_LOAD: Final = 16_000
PATIENCE_SECONDS: Final = 0.5
"""How long a partition may be full before it is paused."""
WEIGHED_BYTES: Final = 4096


def weight(message: Message) -> int:
    return 1 + (len(message.value or b"") + len(message.key or b"")) // WEIGHED_BYTES


@dataclass(slots=True, eq=False)
class AssignedPartition:
    """A partition that the group assigned to this worker."""

    lane: PartitionLane
    next_offset: int = 0
    """Every message before it was handled, or is in progress."""
    certain: bool = False
    """Whether no message is left between `next_offset` and the next one that is received."""
    load: int = 0
    paused: bool = False
    full_since: float | None = None

    def accept(self, offset: int) -> bool:
        """Whether to deliver a message that was received: it is the next one.

        A message from before the start may come late, and one that was received before the partition was revoked and
        assigned again may be beyond it.
        """
        if offset < self.next_offset or (offset > self.next_offset and not self.certain):
            return False
        self.next_offset, self.certain = offset + 1, True
        return True


class Turn(NamedTuple):
    """What the Kafka thread does next."""

    receive: bool
    pause: list[AssignedPartition]
    resume: list[AssignedPartition]


def next_turn(assignments: Mapping[int, AssignedPartition], unsent: int, now: float) -> Turn:
    """Also updates the assignments. `unsent` rejected messages count towards the total."""
    total = unsent + sum(assignment.load for assignment in assignments.values())
    patient, pause, resume = False, [], []
    for assignment in assignments.values():
        if assignment.paused:
            if assignment.load <= PARTITION_LOAD // 2 and total <= TOTAL_LOAD // 2:
                assignment.paused = False
                resume.append(assignment)
        elif assignment.load < PARTITION_LOAD and total < TOTAL_LOAD:
            assignment.full_since = None
        elif assignment.full_since is None:
            assignment.full_since = now
            patient = True
        elif now - assignment.full_since < PATIENCE_SECONDS:
            patient = True
        else:
            assignment.paused, assignment.full_since = True, None
            pause.append(assignment)
    return Turn(not patient, pause, resume)
