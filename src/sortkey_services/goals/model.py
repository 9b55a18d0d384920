"""The rows of goals, in two tables: what the batch loads, and what happens between two batches.

    goal-views    GENERATION#{generation}#PERSON#{person}       a person with all goals, as the batch computed them
    goal-changes  PERSON#{person}  PENDING#{goal}     expires   the newest deposit that the batch has not confirmed
    goal-changes  PERSON#{person}  CHOICE#{goal}                the customer has chosen this goal
    goal-changes  RECONCILIATION#{of}  LAST                     what the last batch made of the deposits

The batch replaces all views at once. In goal-changes it only lets rejections expire, and notes what became of the
deposits: so it cannot undo a choice. Choices are in the partition of the deposits, so that one Query reads both. They
have no `expires`, so TTL leaves them alone.

A rejected deposit is a row, too: it hides the pending balance, and stays until the batch has passed it, so that an
older event does not bring the balance back.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Final, Literal

import msgspec

import sortkey as sk

GoalStatus = Literal["NOT_STARTED", "IN_PROGRESS", "COMPLETED", "PENDING_CONFIRMATION"]
DepositStatus = Literal["PENDING_CONFIRMATION", "REJECTED"]
PENDING: Final = "PENDING_CONFIRMATION"
REJECTED: Final = "REJECTED"
DEMO_COMPETES_AS: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The as-of under which loads of the demonstration compete: every real batch, whatever its as-of, replaces them."""
LIFETIME: Final = timedelta(days=5)
"""How long a pending balance is shown at most, if no batch confirms it."""

GOAL_VIEWS: Final = sk.Table("goal-views")
GOAL_CHANGES: Final = sk.Table("goal-changes", ttl="expires")


class GoalView(msgspec.Struct, frozen=True, kw_only=True):
    """One goal of a person. Amounts are whole cents."""

    goal: str
    target_cents: int
    saved_cents: int
    status: GoalStatus
    rate: Decimal | None = None
    """The special rate that the rules give for this goal and the person's tier."""
    latest: datetime | None = None
    """The newest contribution that is in `saved_cents`."""


class PersonView(sk.Item, table=GOAL_VIEWS):
    generation: Annotated[str, sk.in_key] = ""
    person: Annotated[str, sk.in_key]
    name: str
    tier: str
    language: str
    notifications: bool
    goals: list[GoalView]
    updated: datetime
    """When the batch ran."""
    as_of: datetime
    """Up to this instant the batch's data is complete."""

    key = sk.Key("GENERATION#{generation}#PERSON#{person}")


class Pending(sk.Item, table=GOAL_CHANGES):
    """The newest deposit event of a person and goal, also if it is a rejection."""

    person: Annotated[str, sk.in_key]
    goal: Annotated[str, sk.in_key]
    balance_cents: int
    status: DepositStatus
    rate: Decimal | None = None
    """As the rules had it when the event came; None if they had none."""
    updated: datetime
    came: datetime | None = None
    event: str
    version: str
    """Orders the events of a goal: by instant, then rejections after deposits, then by event id."""
    expires: datetime | None = None
    """None for a rejection that no batch has passed, unless its time is far in the future."""

    key = sk.Key("PERSON#{person}", "PENDING#{goal}")


class Choice(sk.Item, table=GOAL_CHANGES):
    person: Annotated[str, sk.in_key]
    goal: Annotated[str, sk.in_key]
    since: datetime

    key = sk.Key("PERSON#{person}", "CHOICE#{goal}")


def _rate(pending: Pending, view: PersonView) -> Decimal | None:
    """The event's, unless the rules had none, or the batch ran later and has read newer ones."""
    if pending.rate is None or pending.came is None or pending.came <= view.updated:
        return next(goal.rate for goal in view.goals if goal.goal == pending.goal)
    return pending.rate


views: Final = sk.patterns.generations(PersonView)
"""The batch loads them; readers see all of one load."""

pending_over_views: Final = sk.patterns.overlay(
    Pending,
    over=PersonView,
    newer="updated",
    than="as_of",
    part="goals",
    by="goal",
    replace={"saved_cents": "balance_cents", "status": lambda _: PENDING, "rate": _rate},
    where={"status": PENDING},
)
"""A pending balance is shown while it is newer than the instant up to which the batch's data is complete."""

TABLES: Final = (*views.tables, GOAL_CHANGES)


class Reconciliation(sk.Item, table=GOAL_CHANGES):
    """What became of the deposits between the last two batches, both ways; each batch replaces it. Each number is one
    of goals of persons."""

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
