"""A person with two goals, as a batch would load it, and deposits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import DepositStatus, GoalView, PersonView

AS_OF = datetime(2100, 5, 15, tzinfo=UTC)
"""Up to here the batch's data is complete. The batch ran three hours later. In the future, because a store deletes
by its own clock what has expired."""
NOW = AS_OF + timedelta(hours=12)
HOUR = timedelta(hours=1)
SAVINGS = "SAVINGS_ACCOUNT"
BONDS = "GOVERNMENT_BONDS"


def person(name: str = "ana", saved: int = 32_000, as_of: datetime = AS_OF) -> PersonView:
    return PersonView(
        person=name,
        name="Ana Silva",
        tier="GOLD",
        language="pt-BR",
        notifications=True,
        goals=[
            GoalView(
                goal=SAVINGS,
                target_cents=50_000,
                saved_cents=saved,
                status="IN_PROGRESS" if saved < 50_000 else "COMPLETED",
                rate=Decimal("0.08"),
                month=f"{as_of:%Y-%m}",
            ),
            GoalView(
                goal=BONDS,
                target_cents=150_000,
                saved_cents=0,
                status="NOT_STARTED",
                rate=Decimal("0.12"),
                month=f"{as_of:%Y-%m}",
            ),
        ],
        updated=as_of + 3 * HOUR,
        as_of=as_of,
    )


def deposit(
    balance: str | None = "370.00",
    after: timedelta = HOUR,
    *,
    event: str = "e1",
    status: DepositStatus = "PENDING_CONFIRMATION",
    to: str = "ana",
    goal: str = SAVINGS,
    contribution: str | None = None,
    month: str | None = None,
) -> DepositEvent:
    """A deposit so long after AS_OF."""
    return DepositEvent(
        event_id=event,
        person_id=to,
        goal_id=goal,
        current_balance=balance,
        status=status,
        updated_at=AS_OF + after,
        contribution_id=contribution,
        month=month,
    )


def rejection(
    after: timedelta, balance: str | None = None, *, event: str = "r1", contribution: str | None = None
) -> DepositEvent:
    return deposit(balance, after, event=event, status="REJECTED", contribution=contribution)
