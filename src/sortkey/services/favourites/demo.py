"""Demonstration data, the same on every run: 3,000 users, and 1,500 restaurants of which a few are popular.

`Visitors` are what happens afterwards: now and then, one of the users marks or unmarks a restaurant. The favourites of
Ada are written out, not random, for the examples in the documentation. They are stored last: if the last one is there,
all data is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from sortkey.services.favourites.model import Favourite

SEED: Final = 7_000
USERS: Final = 3_000
RESTAURANTS: Final = 1_500
MOST_FAVOURITES: Final = 12
BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES: Final = 240 * 24 * 60
MOST_VISITS: Final = 500
"""How many marks of visitors there are at most."""

_POPULARITY: Final = tuple(accumulate(1 / (rank + 4) for rank in range(RESTAURANTS)))


def favourites() -> Iterator[Favourite]:
    """All favourites; each user has one to twelve."""
    draw = Random(SEED)
    for number in range(USERS):
        chosen = dict.fromkeys(restaurant(draw) for _ in range(draw.randint(1, MOST_FAVOURITES)))
        for each in chosen:
            since = BEGINNING + timedelta(minutes=draw.randrange(MINUTES))
            yield Favourite(user=_user(number), restaurant=each, since=since)
    yield from EXAMPLES


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
