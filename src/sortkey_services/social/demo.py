"""Demonstration data, the same on every run: a small world of people who follow each other, order and play.

The rows of Ada are written out, not random, for the examples in the documentation; her profile is stored last: if it is
there, all data is. `Visitors` are what happens afterwards: now and then, somebody follows somebody, or no longer does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Final, NamedTuple

import sortkey as sk
from sortkey_services.social.model import Follow, Order, PinBoard, Product, ScoreEvent, User

SEED: Final = 1_300
BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
DAYS: Final = 236
"""Up to 24 August."""
ORDERS: Final = 900
MOST_VISITS: Final = 100
"""How many follows of visitors there are at most."""

CITIES: Final = {
    "London": "Ada Lovelace, Alan Turing, Charles Babbage, Florence Nightingale, Mary Shelley, Tommy Flowers",
    "NYC": "Grace Hopper, Barbara Liskov, Hedy Lamarr, Evelyn Granville, Kathleen Antonelli, Jean Bartik",
    "Berlin": "Konrad Zuse, Lise Meitner, Emmy Noether, Max Planck, Carl Gauss, Hedwig Kohn",
    "Paris": "Marie Curie, Blaise Pascal, Sophie Germain, Evariste Galois, Henri Poincare, Emilie Chatelet",
    "Amsterdam": "Edsger Dijkstra, Adriaan Wijngaarden, Christiaan Huygens, Johanna Westerdijk",
    "Kolkata": "Satyendra Bose, Asima Chatterjee, Jagadish Bose, Kadambini Ganguly",
}
PRODUCTS: Final = {
    "electronics": "abacus, calculator, headphones, keyboard, radio, telegraph",
    "books": "atlas, cookbook, dictionary, novel, sketchbook",
    "kitchen": "coffee mill, kettle, pan, teapot, wooden spoon",
    "garden": "bench, hammock, lantern, watering can",
}
STATUSES: Final = ("DELIVERED", "DELIVERED", "DELIVERED", "SHIPPED", "PENDING", "CANCELLED")
SCORES_SEED: Final = 1_301
GAMES: Final = {"chess": 40, "pinball": 9_000_000}
"""The most points of one event."""
MOST_EVENTS: Final = 12
"""Of a player in a game."""
LAST: Final = User(user="ada", name="Ada Lovelace", city="London")
PINS: Final = ("hello-world", "on-the-analytical-engine", "tea-at-five")


def rows() -> Iterator[sk.Item]:
    """All rows, those of Ada last."""
    draw = Random(SEED)
    people = [user for user in _people() if user.user != "ada"]
    for user in people:
        yield user
        yield PinBoard(user=user.user)
    yield from _follows(draw, [user.user for user in people])
    yield from _orders(draw, [user.user for user in people])
    yield from _products()
    yield from _scores([user.user for user in people])
    yield from _ada()


def _people() -> Iterator[User]:
    for city, names in CITIES.items():
        for name in names.split(", "):
            yield User(user=_id(name), name=name, city=city)


def _id(name: str) -> str:
    """The first name; no two of them have the same."""
    return name.split()[0].lower()


def _follows(draw: Random, people: list[str]) -> Iterator[Follow]:
    for user in people:
        for other in sorted(draw.sample(people, draw.randint(2, 12))):
            if other != user:
                yield Follow(user=user, followed=other, since=_moment(draw))


def _moment(draw: Random) -> datetime:
    return BEGINNING + timedelta(minutes=draw.randrange(DAYS * 24 * 60))


def _orders(draw: Random, people: list[str]) -> Iterator[Order]:
    for number in range(ORDERS):
        yield Order(
            order=f"o{number:04}",
            customer=draw.choice(people),
            status=draw.choice(STATUSES),
            placed=(BEGINNING + timedelta(days=draw.randrange(DAYS))).date(),
            total=Decimal(draw.randrange(499, 25_000)) / 100,
        )


def _products() -> Iterator[Product]:
    for category, names in PRODUCTS.items():
        for name in names.split(", "):
            yield Product(product=name.replace(" ", "-"), name=name.capitalize(), category=category)


def _scores(players: Sequence[str]) -> Iterator[ScoreEvent]:
    """Events of these players. The feeds make the boards from them."""
    draw = Random(SCORES_SEED)
    for game, most in GAMES.items():
        for player in players:
            for number in range(draw.randint(1, MOST_EVENTS)):
                event = f"{player}-{number:02}"
                yield ScoreEvent(game=game, event=event, player=player, points=draw.randint(1, most))


def _ada() -> Iterator[sk.Item]:
    for other, day in (("alan", 3), ("charles", 1), ("grace", 24)):
        yield Follow(user="ada", followed=other, since=datetime(2026, 8, day, 9, tzinfo=UTC))
    for other, day in (("alan", 4), ("grace", 24), ("marie", 9), ("mary", 2)):
        yield Follow(user=other, followed="ada", since=datetime(2026, 8, day, 18, tzinfo=UTC))
    for order, placed, status in (
        ("a1", date(2026, 1, 31), "DELIVERED"),
        ("a2", date(2026, 6, 1), "DELIVERED"),
        ("a3", date(2026, 6, 30), "DELIVERED"),
        ("a4", date(2026, 8, 1), "SHIPPED"),
        ("a5", date(2026, 8, 24), "PENDING"),
    ):
        yield Order(order=order, customer="ada", status=status, placed=placed, total=Decimal("19.90"))
    yield ScoreEvent(game="chess", event="ada-first", player="ada", points=150)
    yield PinBoard(user="ada", pins=set(PINS))
    yield LAST


class Visit(NamedTuple):
    user: str
    other: str
    follows: bool


class Visitors:
    """Random visits: most begin to follow somebody, others end what an earlier visit began. Nobody visits as Ada."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._people = [user.user for user in _people() if user.user != "ada"]
        self._begun: list[tuple[str, str]] = []

    def next(self) -> Visit:
        if self._begun and (len(self._begun) == MOST_VISITS or self._draw.random() < 1 / 3):
            return Visit(*self._begun.pop(self._draw.randrange(len(self._begun))), follows=False)
        user, other = self._draw.sample(self._people, 2)
        self._begun.append((user, other))
        return Visit(user, other, follows=True)
