"""The messages that a feed delivers, and the interface of their consumer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

Headers = Sequence[tuple[str, str | bytes | None]]


class Message(NamedTuple):
    """One event of a feed, as bytes."""

    value: bytes | None
    key: bytes | None = None
    topic: str = ""
    partition: int = 0
    offset: int = 0
    time: int = 0
    """The feed's timestamp in milliseconds since the epoch; 0 if there is none."""
    headers: Headers = ()


class Rejected(NamedTuple):
    """A message that can never be applied, and the reason."""

    message: Message
    reason: str


@runtime_checkable
class Consumer(Protocol):
    """Receives each message at least once."""

    async def consume(self, messages: Sequence[Message]) -> Sequence[Rejected]:
        """Apply messages of one partition, in their order where it matters. Returns the rejected ones.

        When it returns, all the others are in the store. When it raises, any of them may have been applied, and the
        feed delivers all of them again: for as long as an outage lasts, or until it has found the one that fails alone,
        which it rejects.
        """
        ...
