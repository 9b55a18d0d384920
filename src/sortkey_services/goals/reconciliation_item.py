"""What became of the pending deposits when the last batch came: one item, which each batch replaces."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import sortkey as sk
from sortkey_services.goals.model import GOAL_CHANGES


class Reconciliation(sk.Item, table=GOAL_CHANGES):
    """Of the deposits between two batches, both ways. Each number is one of goals of persons."""

    of: str = "goals"
    at: datetime
    """When it was made."""
    as_of: datetime
    since: datetime | None
    """The as-of of the batch before; None for the first."""
    confirmed: int = 0
    """Was pending, and is now in the batch, with the same amount."""
    other_amount: int = 0
    """Was pending, and is now in the batch, with another amount."""
    never_came: int = 0
    """Was pending, and is not in the batch."""
    without_event: int = 0
    """Is in the batch, and no event had announced it."""
    rejected: int = 0
    """An event had taken it back before the batch."""
    still_pending: int = 0
    """Is newer than the batch."""
    unreadable: int = 0
    """Has a row that another program wrote, and that cannot be read."""

    key = sk.Key("RECONCILIATION#{of}", "LAST")


OUTCOMES: Final = (
    "confirmed",
    "other_amount",
    "never_came",
    "without_event",
    "rejected",
    "still_pending",
    "unreadable",
)
