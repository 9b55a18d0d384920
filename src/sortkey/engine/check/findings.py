"""The result of a check: counts of what it read, and the problems that it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Progress = Callable[[str, int, int], None]
"""Called with a table's name, the number of items done, and the number of all its items."""

MOST_PROBLEMS: Final = 1000
"""A bound on memory: a folder with more problems is lost anyway."""


@dataclass(frozen=True)
class CheckReport:
    tables: int
    items: int
    index_rows: int
    problems: list[str]


class Findings:
    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.tables = 0
        self.items = 0
        self.index_rows = 0
        self._problems: list[str] = []
        self._left_out = 0

    def problem(self, text: str) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(text)
        else:
            self._left_out += 1

    def report(self) -> CheckReport:
        problems = self._problems + ([f"and {self._left_out} more"] if self._left_out else [])
        return CheckReport(self.tables, self.items, self.index_rows, problems)
