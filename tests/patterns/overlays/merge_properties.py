"""Whatever comes, late, twice or rejected, with batches of any as-of and any expiry: shown is what a plain model shows.

The model keeps every event. What is shown of a goal follows from the last event that has not expired.
"""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from tests.patterns.overlays.goals import AS_OF, HOUR, VIEW, Goal, Pending, Person, pending

GOALS = ("SAVINGS", "BONDS")
hours = st.integers(-3, 6)
events = st.builds(
    lambda goal, hour, balance, status, lives: sk.replace(
        pending(balance, hour * HOUR, goal, status), expires=AS_OF + (hour + lives) * HOUR
    ),
    st.sampled_from(GOALS),
    hours,
    st.integers(0, 9),
    st.sampled_from(("PENDING", "REJECTED")),
    st.integers(0, 5),
)


def model(base: Person, items: list[Pending], now: timedelta) -> list[Goal]:
    shown = []
    for goal in base.goals:
        alive = [each for each in items if each.goal == goal.goal and each.expires and each.expires >= AS_OF + now]
        last = max(alive, key=lambda each: each.updated, default=None)
        if last is None or last.updated <= base.as_of or last.status == "REJECTED":
            shown.append(goal)
        else:
            shown.append(Goal(goal=goal.goal, saved=last.balance, status="PENDING"))
    return shown


@given(st.lists(events, unique_by=lambda each: (each.goal, each.updated)), hours, hours)
def test_shown_is_what_the_model_shows(items: list[Pending], as_of: int, now: int) -> None:
    base = Person(person="ada", as_of=AS_OF + as_of * HOUR, goals=[Goal(goal=name, saved=100) for name in GOALS])
    assert VIEW.merge(base, [*items, *items], AS_OF + now * HOUR).goals == model(base, items, now * HOUR)
