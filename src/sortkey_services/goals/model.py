"""The rows of goals: what the batch loads, what happens between two batches, and which goals were reached.

    goal-views     GENERATION#{generation}#PERSON#{person}       a person with all goals, as the batch computed them
    goal-changes   PERSON#{person}  PENDING#{goal}     expires   the newest events of this goal
    goal-changes   PERSON#{person}  CHOICE#{goal}                the customer has chosen this goal
    goal-changes   RECONCILIATION#{of}  LAST                     what the last batch made of the deposits
    goals-reached  PERSON#{person}  MONTH#{month}#GOAL#{goal}    a goal that was reached; its stream is the event

The batch replaces all views at once. In goal-changes it only lets rejections expire, and notes what became of the
deposits: so it cannot undo a choice. Choices are in the partition of the deposits, so that one Query reads both. They
have no `expires`, so TTL leaves them alone.

All events of a goal are in one row, so that a read of three goals stays within a read unit. A rejection is kept until
the batch has passed it, so that a deposit that comes late does not bring the balance back.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec

import sortkey as sk

GoalStatus = Literal["NOT_STARTED", "IN_PROGRESS", "COMPLETED", "PENDING_CONFIRMATION"]
DepositStatus = Literal["PENDING_CONFIRMATION", "REJECTED"]
GOALS: Final = ("SAVINGS_ACCOUNT", "GOVERNMENT_BONDS", "CERTIFICATE_OF_DEPOSIT")
"""Those that exist, unless there are rules, which say it."""
PENDING: Final = "PENDING_CONFIRMATION"
REJECTED: Final = "REJECTED"
DEMO_COMPETES_AS: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The as-of under which loads of the demonstration compete: every real batch, whatever its as-of, replaces them."""
LIFETIME: Final = timedelta(days=5)
"""How long a pending balance is shown at most, if no batch confirms it."""

GOAL_VIEWS: Final = sk.Table("goal-views")
GOAL_CHANGES: Final = sk.Table("goal-changes", ttl="expires")
GOALS_REACHED: Final = sk.Table("goals-reached", stream="NEW_AND_OLD_IMAGES")


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
    month: str | None = None
    """As 2026-05; in views of earlier versions None, which is as-of's month."""


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


class KnownEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A deposit event that still counts."""

    event: str
    status: DepositStatus
    updated: datetime
    balance_cents: int | None = None
    """None for a rejection that states none."""
    contribution: str | None = None
    month: str | None = None
    """None in rows of earlier versions: the month of `updated`."""
    rate: Decimal | None = None
    """As the rules had it when the event came; None if they had none."""
    came: datetime | None = None
    until: datetime | None = None
    """None for a rejection that no batch has passed, unless its time is far in the future."""

    @property
    def order(self) -> tuple[datetime, bool, str]:
        """By instant, then rejections after deposits, then by event id: any order of arrival gives the same."""
        return self.updated, self.status == REJECTED, self.event

    def has_expired(self, now: datetime) -> bool:
        return self.until is not None and self.until < now


class Pending(sk.Item, table=GOAL_CHANGES, version=2):
    """The newest events of a person and goal, of all months. `ledger.py` says what follows from them."""

    person: Annotated[str, sk.in_key]
    goal: Annotated[str, sk.in_key]
    events: list[KnownEvent]
    """Oldest first; at least one."""
    updated: datetime
    """Of the newest one."""
    expires: datetime | None = None
    """When the last of them does; None if one does not."""
    revision: int = 0
    """Counts the writes, so that of two events at once none is lost."""

    key = sk.Key("PERSON#{person}", "PENDING#{goal}")


@Pending.upgrade(1)
def _one_event_became_several(row: dict[str, Any]) -> dict[str, Any]:
    """A row had the newest event alone, and its version, by which events were ordered."""
    moved = ("event", "status", "balance_cents", "rate", "came")
    event: dict[str, Any] = {name: row.pop(name) for name in moved if name in row}
    if event.get("status") == REJECTED:
        # A missing balance was stored as 0.
        event.pop("balance_cents", None)
    event["updated"] = row.get("updated")
    expires = row.get("expires")
    if isinstance(expires, (int, Decimal)):
        event["until"] = f"{datetime.fromtimestamp(int(expires), UTC):%Y-%m-%dT%H:%M:%S}.000000Z"
    row.pop("version", None)
    row["events"] = [event]
    return row


def pending_row(person: str, goal: str, events: list[KnownEvent], revision: int) -> Pending:
    """Of events, oldest first; at least one."""
    ends = [event.until for event in events]
    return Pending(
        person=person,
        goal=goal,
        events=events,
        updated=events[-1].updated,
        expires=None if None in ends else max(end for end in ends if end is not None),
        revision=revision,
    )


class Choice(sk.Item, table=GOAL_CHANGES):
    person: Annotated[str, sk.in_key]
    goal: Annotated[str, sk.in_key]
    since: datetime

    key = sk.Key("PERSON#{person}", "CHOICE#{goal}")


views: Final = sk.patterns.generations(PersonView)
"""The batch loads them; readers see all of one load."""

TABLES: Final = (*views.tables, GOAL_CHANGES, GOALS_REACHED)


class ReachedGoal(sk.Item, table=GOALS_REACHED):
    """A goal that a batch found completed: written once for a goal and month, and never changed."""

    person: Annotated[str, sk.in_key]
    goal: Annotated[str, sk.in_key]
    month: Annotated[str, sk.in_key]
    target_cents: int
    saved_cents: int
    """When it was found."""
    latest: datetime | None
    """The newest contribution that is in `saved_cents`."""
    as_of: datetime
    """Of the batch that found it."""
    at: datetime
    """When that batch ran."""

    key = sk.Key("PERSON#{person}", "MONTH#{month}#GOAL#{goal}")


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
