"""What the events of a goal and month say together: whether a deposit is pending, and what is saved with it.

    370  c1 ┐
    400  c2 │  two deposits are pending: 400
    REJECTED, 370  c2   its own deposit is gone, the other is pending: 370

An event states a balance, and deposits come late, twice, or in another order. So the events themselves are kept, in the
order of their own times, and what they say follows from all of them:

* A rejection takes its own deposits away: those with its `contributionId`. Without one, it is the newest that is
  pending before it; with one that no deposit has, the newest before it that has none.
* While a deposit is pending, the newest balance that an event states is shown. A rejection without a balance takes its
  deposit's amount off instead: what that deposit had added to the balance before it.
* When none is pending, the batch decides alone.

So the order of arrival makes no difference, but for one case: a deposit that comes late, and is older than a rejection
which may be its own, is not kept, because nothing tells whether it is. Nothing here reads a clock or a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from sortkey_services.goals.model import REJECTED, KnownEvent
from sortkey_services.goals.months import month_of

MAX_EVENTS: Final = 16
"""Of a goal: so a row stays small. Beyond it, the oldest is forgotten."""


class Balance(NamedTuple):
    is_pending: bool
    """Whether at least one deposit is."""
    cents: int | None
    """What is saved with it; None if no event tells."""


class Added(NamedTuple):
    events: list[KnownEvent]
    is_applied: bool
    """Whether the event changes what is shown; otherwise it is stale."""


def by_month(events: Iterable[KnownEvent], zone: ZoneInfo) -> dict[str, list[KnownEvent]]:
    found: dict[str, list[KnownEvent]] = {}
    for event in events:
        found.setdefault(event.month or month_of(event.updated, zone), []).append(event)
    return found


def balance(events: Sequence[KnownEvent], saved: int | None, after: datetime | None = None) -> Balance:
    """Of the events of one month, oldest first, that are after an instant; `saved` is what was saved before them, None
    if that is not known."""
    contributions = {event.contribution for event in events if event.status != REJECTED}
    cents = saved
    amounts: dict[int, int | None] = {}
    pending: list[int] = []
    rejected: set[str] = set()
    for place, event in enumerate(events):
        if after is not None and event.updated <= after:
            continue
        if event.status != REJECTED:
            if event.contribution in rejected:
                continue
            amounts[place] = None if cents is None or event.balance_cents is None else event.balance_cents - cents
            cents = event.balance_cents
            pending.append(place)
            continue
        own = _own(event, pending, events, contributions)
        pending = [each for each in pending if each not in own]
        if event.contribution is not None:
            rejected.add(event.contribution)
        if event.balance_cents is not None:
            cents = event.balance_cents
        else:
            for each in own:
                amount = amounts[each]
                cents = None if cents is None or amount is None else max(0, cents - amount)
    return Balance(bool(pending), cents)


def _own(
    rejection: KnownEvent, pending: list[int], events: Sequence[KnownEvent], contributions: set[str | None]
) -> list[int]:
    """The places of the deposits that a rejection takes away."""
    if rejection.contribution is None:
        return pending[-1:]
    wanted = rejection.contribution if rejection.contribution in contributions else None
    found = [place for place in pending if events[place].contribution == wanted]
    return found if wanted is not None else found[-1:]


def added(
    known: Sequence[KnownEvent], event: KnownEvent, now: datetime, after: datetime | None, zone: ZoneInfo
) -> Added:
    """What is known of a goal with one more event; what has expired is forgotten. `after` is the instant up to which
    the batch has seen everything, if that is known."""
    alive = [each for each in known if not each.has_expired(now)]
    if after is not None and event.updated <= after:
        return Added(alive, False)
    month = event.month or month_of(event.updated, zone)
    before = by_month(alive, zone).get(month, [])
    if any(each.order == event.order for each in before) or _may_be_rejected(event, before):
        return Added(alive, False)
    events = sorted([*alive, event], key=_order)[-MAX_EVENTS:]
    if (not before or before[-1].order < event.order) and not _is_rejected(event, before):
        return Added(events, True)
    with_it = by_month(events, zone).get(month, [])
    return Added(events, balance(before, None, after) != balance(with_it, None, after))


def _is_rejected(deposit: KnownEvent, known: Sequence[KnownEvent]) -> bool:
    """Whether one of the rejections is this deposit's own."""
    return (
        deposit.status != REJECTED
        and deposit.contribution is not None
        and any(each.status == REJECTED and each.contribution == deposit.contribution for each in known)
    )


def _may_be_rejected(deposit: KnownEvent, known: Sequence[KnownEvent]) -> bool:
    """Whether a newer rejection may be this deposit's own, and nothing tells that it is."""
    if deposit.status == REJECTED:
        return False
    contributions = {each.contribution for each in known if each.status != REJECTED}
    for each in known:
        if each.status == REJECTED and each.order > deposit.order:
            if each.contribution is None:
                return True
            if deposit.contribution is None and each.contribution not in contributions:
                return True
    return False


def _order(event: KnownEvent) -> tuple[datetime, bool, str]:
    return event.order
