"""Which faults a store has, and how often."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any, Final, Self

import msgspec


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """Faults that a store in the process shall have, to test a program's retries. All are off by default.

    >>> faults = sk.testing.Faults(seed=7, throttle=0.2)
    >>> with sk.client("memory:", faults=faults) as client:
    ...     client.list_tables()["TableNames"]
    []

    The same seed and the same requests in the same order give the same faults. Each fault draws from random numbers of
    its own, so that switching one on does not move the others. See docs/guides/faults.md.
    """

    seed: int = 0
    """Chooses the random numbers."""
    throttle: float = 0.0
    """How often a request for items is throttled: a probability from 0 to 1, like all that tell how often."""
    transaction_conflicts: float = 0.0
    """How often a transaction or a single write conflicts with another transaction."""
    unprocessed: float = 0.0
    """How often an item of a batch is left unprocessed."""
    duplicate_records: float = 0.0
    """How often GetRecords delivers earlier records again, before new ones."""
    late_records: float = 0.0
    """How often GetRecords leaves out the newest records, for a later call; below 1."""
    split_shards_every: int = 0
    """After how many writes to a table a shard of its stream is closed, and children take its place; 0 is never."""

    index_lag: float = 0.0
    """By how many seconds, at most, reads of global indexes lag behind the table."""
    slow_sync: float = 0.0
    """How many seconds longer each commit takes."""
    failing_sync: float = 0.0
    """How often a commit fails, as on a disk that reports an input/output error."""
    clock_skew: float = 0.0
    """How many seconds the store's clock is ahead of the machine's; negative if it is behind."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            _CHECKS.get(name, _check_probability)(name, getattr(self, name))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Faults as the command line has them: `throttle=0.01,seed=7`. Raises ValueError."""
        given: dict[str, Any] = {}
        for part in filter(None, map(str.strip, text.split(","))):
            name, equals, value = map(str.strip, part.partition("="))
            if name not in cls.__struct_fields__:
                raise ValueError(f"there is no fault {name!r}; there are {', '.join(cls.__struct_fields__)}")
            if not equals:
                raise ValueError(f"{name} has no value: write {name}=VALUE")
            if name in given:
                raise ValueError(f"{name} is given twice")
            given[name] = _number(name, value)
        return cls(**given)

    def random(self, fault: str) -> Random:
        """The random numbers of one fault."""
        return Random(f"{self.seed}/{fault}")


def _number(name: str, text: str) -> int | float:
    try:
        return int(text) if name in _WHOLE else float(text)
    except ValueError:
        kind = "a whole number" if name in _WHOLE else "a number"
        raise ValueError(f"{name} must be {kind}, not {text!r}") from None


def _check_probability(name: str, value: object) -> None:
    if not 0 <= _finite(name, value) <= 1:
        raise ValueError(f"{name} must be a probability from 0 to 1, not {value!r}")


def _check_below_one(name: str, value: object) -> None:
    _check_probability(name, value)
    if value == 1:
        raise ValueError(f"{name} must be below 1, or the newest records would never be delivered")


def _check_count(name: str, value: object) -> None:
    _check_whole(name, value)
    if isinstance(value, int) and value < 0:
        raise ValueError(f"{name} must not be negative: {value}")


def _check_seconds(name: str, value: object) -> None:
    if _finite(name, value) < 0:
        raise ValueError(f"{name} must not be negative: {value}")


def _check_whole(name: str, value: object) -> None:
    if type(value) is not int:
        raise TypeError(f"{name} must be a whole number, not {value!r}")


def _finite(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return value


_WHOLE: Final = frozenset({"seed", "split_shards_every"})
_CHECKS: Final[dict[str, Callable[[str, object], object]]] = {
    "seed": _check_whole,
    "late_records": _check_below_one,
    "split_shards_every": _check_count,
    "index_lag": _check_seconds,
    "slow_sync": _check_seconds,
    "clock_skew": _finite,
}
