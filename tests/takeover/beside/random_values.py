"""Values that are hard to keep: texts with separators, numbers at the limits of a float, empty maps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

_TEXTS: Final = (
    "",
    " ",
    "a#b",
    "$x",
    "Straße",
    "İstanbul",
    "\u4f60\u597d",
    "\U0001f600",
    "\x00",
    'q"\\',
    "New York",
)
_FLOATS: Final = (0.1, 0.1 + 0.2, 1e-7, 1.5e20, -2.5, 2.0, 0.0, 1 / 3, 123456789.123, -1e-100)
_STATUSES: Final = ("Open", "done", "in work", "a#b")
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


def text(random: Random) -> str:
    return random.choice(_TEXTS) + random.choice(("", str(random.randrange(1000))))


def status(random: Random) -> str:
    return random.choice(_STATUSES)


def whole(random: Random) -> int:
    return random.choice((0, 1, -1, random.randrange(-1000, 1000), 2**53 - 10_000, random.randrange(10**9)))


def fraction(random: Random) -> float:
    return random.choice((*_FLOATS, random.random(), random.randrange(100) / 8))


def flag(random: Random) -> bool:
    return random.random() < 0.5


def time(random: Random) -> datetime:
    fine = timedelta(microseconds=random.choice((0, 1, 500_000, random.randrange(10**6))))
    return _START + timedelta(seconds=random.randrange(10**9)) + fine


def milliseconds(random: Random) -> datetime:
    return time(random).replace(microsecond=random.choice((0, 1000, 999_000)))


def expiry(random: Random) -> datetime:
    """So far ahead that the store deletes nothing while the campaign runs."""
    return _START + timedelta(days=30_000, seconds=random.randrange(10**6))


def binary(random: Random) -> bytes:
    return random.randbytes(random.randrange(1, 9))


def texts(random: Random) -> set[str]:
    return {text(random) or "x" for _ in range(random.randint(1, 4))}


def wholes(random: Random) -> set[int]:
    return {random.randrange(-99, 99) for _ in range(random.randint(1, 4))}


def fractions(random: Random) -> set[float]:
    return {fraction(random) for _ in range(random.randint(1, 4))}


def binaries(random: Random) -> set[bytes]:
    return {binary(random) for _ in range(random.randint(1, 4))}


def document(random: Random, depth: int = 0) -> Any:
    """What JSON can say."""
    kind = random.randrange(5 if depth > 1 else 7)
    if kind == 5:
        return [document(random, depth + 1) for _ in range(random.randrange(3))]
    if kind == 6:
        return {f"k{random.randrange(9)}": document(random, depth + 1) for _ in range(random.randrange(3))}
    return (text(random), random.randrange(-999, 999), random.randrange(99) / 4, flag(random), None)[kind]


def map_of_documents(random: Random) -> dict[str, Any]:
    return {f"k{random.randrange(9)}": document(random) for _ in range(random.randrange(4))}


def list_of_documents(random: Random) -> list[Any]:
    return [document(random) for _ in range(random.randrange(4))]
