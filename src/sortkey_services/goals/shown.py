"""What a person sees: the batch's view, in the month that it is now, under the deposits that are pending.

**A month begins on time.** When the month of the view is over, each goal begins anew, without a batch: nothing saved,
with the target that the last batch had. A view of an older month than the one before shows its own month: somebody has
loaded old data, and wants to see it.

**A pending balance shows in its own month**: in the goal's, or in a later one that has begun. It is shown while its
events are newer than the instant up to which the batch's data is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import msgspec

import sortkey as sk
from sortkey_services.goals.ledger import balance, by_month
from sortkey_services.goals.model import PENDING, GoalStatus, GoalView, KnownEvent, Pending, PersonView
from sortkey_services.goals.months import month_after, month_of

Now = Callable[[], datetime]


def in_month(view: PersonView, current: str, zone: ZoneInfo) -> PersonView:
    """The view when it is this month."""
    if all(goal.month == current for goal in view.goals):
        return view
    return sk.replace(view, goals=[_in_month(goal, month_of(view.as_of, zone), current) for goal in view.goals])


def _in_month(goal: GoalView, of_view: str, current: str) -> GoalView:
    month = goal.month or of_view
    if month_after(month) != current:
        return msgspec.structs.replace(goal, month=month)
    return msgspec.structs.replace(
        goal, month=current, saved_cents=0, status=_status_at_first(goal.target_cents), latest=None
    )


def _status_at_first(target_cents: int) -> GoalStatus:
    return "COMPLETED" if target_cents <= 0 else "NOT_STARTED"


def pending_over_views(now: Now, zone: ZoneInfo) -> sk.patterns.Overlay[PersonView, Pending]:
    """Over views in the month that it is. The rows of goals whose events are all older than the view show nothing."""

    def shown(field: str) -> Callable[[Pending, PersonView], object]:
        def read(pending: Pending, view: PersonView) -> object:
            goal = next(goal for goal in view.goals if goal.goal == pending.goal)
            return getattr(with_pending(goal, pending, view, now(), zone), field)

        return read

    return sk.patterns.overlay(
        Pending,
        over=PersonView,
        newer="updated",
        than="as_of",
        part="goals",
        by="goal",
        replace={field: shown(field) for field in ("month", "saved_cents", "status", "rate")},
    )


def with_pending(goal: GoalView, pending: Pending, view: PersonView, now: datetime, zone: ZoneInfo) -> GoalView:
    """A goal of a view in the month that it is, with what is pending."""
    own = goal.month or month_of(view.as_of, zone)
    newest = max(own, month_of(now, zone))
    months = by_month((event for event in pending.events if not event.has_expired(now)), zone)
    for month in sorted(months, reverse=True):
        if not own <= month <= newest:
            continue
        saved = goal.saved_cents if month == own else 0
        found = balance(months[month], saved, view.as_of)
        if found.is_pending and found.cents is not None:
            return msgspec.structs.replace(
                goal,
                month=month,
                saved_cents=found.cents,
                status=PENDING,
                rate=_rate(months[month][-1], goal, view),
            )
    return goal


def _rate(event: KnownEvent, goal: GoalView, view: PersonView) -> Decimal | None:
    """The event's, unless the rules had none, or the batch ran later and has read newer ones."""
    if event.rate is None or event.came is None or event.came <= view.updated:
        return goal.rate
    return event.rate
