"""What a feed delivers, and what a consumer says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

Headers = Sequence[tuple[str, str | bytes | None]]


class Message(NamedTuple):
    """One event of a feed, as bytes."""

    value: bytes | None
    key: bytes | None = None
    topic: str = ""
    partition: int = 0
    offset: int = 0
    time: int = 0
    """Milliseconds since the epoch, as the feed has it; 0 if it does not say."""
    headers: Headers = ()


class Rejected(NamedTuple):
    """A message that no second try will make any better, and why."""

    message: Message
    reason: str


class Consumer(Protocol):
    """Takes what a feed delivers, at least once."""

    async def consume(self, messages: Sequence[Message]) -> Sequence[Rejected]:
        """Apply messages of one partition, in their order wherever it matters.

        When it returns, the store has all of them but the rejected. When it raises, any of them may have been
        applied, and the feed delivers them again.
        """
        ...
