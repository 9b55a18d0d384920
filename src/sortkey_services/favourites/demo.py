"""Demonstration data, the same on every run: 1,500 users, and 1,000 restaurants of which a few are popular.

`Visitors` are what happens afterwards: now and then, one of the users marks or unmarks a restaurant. The favourites of
Ada are written out, not random, for the examples in the documentation. They are stored last: if the last one is there,
all data is.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from operator import itemgetter
from random import Random
from typing import Final, NamedTuple

from sortkey_services.favourites.model import Favourite

SEED: Final = 7_000
USERS: Final = 1_500
RESTAURANTS: Final = 1_000
MOST_FAVOURITES: Final = 12
BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES: Final = 240 * 24 * 60
MOST_VISITS: Final = 500
"""How many marks of visitors there are at most."""

_POPULARITY: Final = tuple(accumulate(1 / (rank + 4) for rank in range(RESTAURANTS)))


def favourites() -> list[Favourite]:
    """All favourites; each user has one to twelve."""
    draw = Random(SEED)
    chosen = [(_user(number), each) for number in range(USERS) for each in _choice(draw)]
    # Restaurant by restaurant: changes of one count that come together are one write.
    chosen.sort(key=itemgetter(1))
    made = [Favourite(user=user, restaurant=each, since=_moment(draw)) for user, each in chosen]
    return [*made, *EXAMPLES]


def _choice(draw: Random) -> Iterable[str]:
    return dict.fromkeys(restaurant(draw) for _ in range(draw.randint(1, MOST_FAVOURITES)))


def _moment(draw: Random) -> datetime:
    return BEGINNING + timedelta(minutes=draw.randrange(MINUTES))


def restaurant(draw: Random) -> str:
    """A restaurant, by popularity."""
    return f"r{draw.choices(range(RESTAURANTS), cum_weights=_POPULARITY)[0]:04}"


def _user(number: int) -> str:
    return f"u{number:04}"


def _example(restaurant: str, day: int) -> Favourite:
    return Favourite(user="ada", restaurant=restaurant, since=datetime(2026, 8, day, 19, 30, tzinfo=UTC))


EXAMPLES: Final = (_example("r0003", 1), _example("r0044", 14), _example("r0007", 24))


class Visit(NamedTuple):
    user: str
    restaurant: str
    marks: bool


class Visitors:
    """Random visits: most mark a restaurant, the others take back an earlier mark of a visit."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._marked: list[tuple[str, str]] = []

    def next(self) -> Visit:
        if self._marked and (len(self._marked) == MOST_VISITS or self._draw.random() < 1 / 3):
            return Visit(*self._marked.pop(self._draw.randrange(len(self._marked))), marks=False)
        marked = (_user(self._draw.randrange(USERS)), restaurant(self._draw))
        self._marked.append(marked)
        return Visit(*marked, marks=True)
