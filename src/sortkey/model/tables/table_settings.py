"""A table's settings, besides its keys and indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]


@dataclass(frozen=True, slots=True)
class TableSettings:
    ttl: str | None = None
    """The field with the item's expiry time; stored in seconds since 1970."""
    stream: StreamView | None = None
    """What each record of the table's stream contains; None for no stream."""
    provisioned: tuple[int, int] | None = None
    """Read and write units per second; None for on-demand billing."""
    transactions: bool = False
    """Whether the program uses transactions; a store without them is then rejected."""
