"""What a benchmark measures: its results, the machine they were measured on, and the report of a run."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """One measured number, and what it is compared with: measured in the same run, in the same unit.

    `bare` is the same work done by hand, without Sortkey; `peers` are other products.
    """

    name: str
    value: float
    unit: str
    bare: float | None = None
    peers: dict[str, float] = {}

    @property
    def ratio(self) -> float | None:
        """Our value as a multiple of the best other value."""
        others = [*self.peers.values(), *([] if self.bare is None else [self.bare])]
        if not others:
            return None
        # More requests a second are better; less time and memory is better.
        return self.value / (max(others) if self.unit == "/s" else min(others))


class Section(NamedTuple):
    """More findings of a benchmark, in a shape of its own; the JSON has them under the benchmark's name."""

    found: Mapping[str, Any]


class Benchmark(Protocol):
    __doc__: str | None

    def run(self) -> Iterable[Result | Section]: ...


@runtime_checkable
class Comparison(Protocol):
    """A benchmark that can also measure another checkout's server, beside this one's."""

    def run_beside(self, before: Path) -> Iterable[Result | Section]: ...


class Machine(msgspec.Struct, frozen=True):
    """What the numbers were measured on."""

    python: str
    system: str
    processors: int | None


class Report(msgspec.Struct, frozen=True):
    machine: Machine
    results: dict[str, list[Result]]


def this_machine() -> Machine:
    return Machine(python=platform.python_version(), system=platform.platform(), processors=os.cpu_count())
