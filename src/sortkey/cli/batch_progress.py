"""The progress of a batch job: a bar on a terminal, otherwise a line at the start and at the end."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

_SMOOTHED: Final = 30.0
"""Seconds that the speed and the time left are reckoned over."""


class RowsPerSecond(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} rows/s")


class BatchProgress:
    """Called with the rows that are written, and their total."""

    def __init__(self, service: str, console: Console) -> None:
        self._service = service
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            RowsPerSecond(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            speed_estimate_period=_SMOOTHED,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(f"batch of {service}: checking", total=None)
        self._began: float | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._began is None:
            self._began = monotonic()
            self._bar.reset(self._task, total=total, description=f"batch of {self._service}", completed=done)
            if not self._console.is_terminal:
                self._print(f"writing {total:,} rows")
        self._bar.update(self._task, completed=done, total=total)
        if done >= total and not self._console.is_terminal:
            self._print(f"wrote {total:,} rows in {monotonic() - self._began:.1f} s")

    def _print(self, message: str) -> None:
        self._console.print(f"sortkey batch: {self._service}: {message}", markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
