"""Times two implementations of the same work, in turns."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns

Call = Callable[[int], object]
Clock = Callable[[], int]
"""Nanoseconds."""


def side_by_side(
    ours: Call, bare: Call, population: int, calls: int, rounds: int = 9, clock: Clock = perf_counter_ns
) -> tuple[float, float]:
    """Microseconds per call of each: the median over rounds in turns, so that a noisy moment affects both.

    Calls get random numbers below `population`, the same ones for both; no call is handed the same row twice in a row.
    `process_time_ns` as `clock` leaves out what calls wait for.
    """
    choose = random.Random(7)
    times: tuple[list[float], list[float]] = ([], [])
    for call in (ours, bare):
        _round(call, [choose.randrange(population) for _ in range(calls)], clock)
    for _ in range(rounds):
        numbers = [choose.randrange(population) for _ in range(calls)]
        for call, found in zip((ours, bare), times, strict=True):
            found.append(_round(call, numbers, clock))
    return median(times[0]), median(times[1])


def _round(call: Call, numbers: list[int], clock: Clock) -> float:
    gc.collect()
    began = clock()
    for number in numbers:
        call(number)
    return (clock() - began) / len(numbers) / 1000
