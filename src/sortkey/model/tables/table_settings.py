"""What a table has beside its keys and indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]


@dataclass(frozen=True, slots=True)
class TableSettings:
    ttl: str | None = None
    """The attribute that says, in seconds since 1970, when an item expires."""
    stream: StreamView | None = None
    """What the table's change feed shows of each change."""
    provisioned: tuple[int, int] | None = None
    """Read and write units a second; None pays by request."""
    transactions: bool = False
    """Whether the program writes several items at once, so that a store without transactions will not do."""
