"""What a check has found: counts of what it looked at, and problems in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Progress = Callable[[str, int, int], None]
"""Called with what is being looked at, how much of it is done, and how much there is."""

MOST_PROBLEMS: Final = 1000
"""A folder with more is lost anyway, and the list would fill the memory."""


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
