"""How far long work is, on standard error: bars on a terminal, lines elsewhere."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from sortkey.services import interface

_WIDTH: Final = 30
_SMOOTHED: Final = 30.0
"""Seconds that the speed and the time left are reckoned over."""


class Bars:
    """The parts of a command's work, one after the other: `sk.services.JobProgress`."""

    def __init__(self, command: str, console: Console | None = None) -> None:
        self._command = command
        self._console = Console(stderr=True) if console is None else console
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(_WIDTH),
            _Counted(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            speed_estimate_period=_SMOOTHED,
            redirect_stdout=False,
        )

    def note(self, message: str) -> None:
        self._console.print(f"sortkey {self._command}: {message}", markup=False, highlight=False, soft_wrap=True)

    def part(self, name: str, unit: str = "") -> interface.Progress:
        return _Bar(self._bars, name, unit) if self._console.is_terminal else self._lines(name, unit)

    def _lines(self, name: str, unit: str) -> interface.Progress:
        """A line at the start, and one at the end if something is counted; nothing if the total is not known."""
        began: float | None = None

        def show(done: int, total: int) -> None:
            nonlocal began
            if not total:
                return
            if began is None:
                began = monotonic()
                self.note(f"{name}: {total:,} {unit}" if unit else name)
            if unit and done >= total:
                self.note(f"{name}: done in {monotonic() - began:.1f} s")

        return show

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Stopping bars that were not started would print an empty line.
        if self._bars.live.is_started:
            self._bars.stop()


class _Bar:
    def __init__(self, bars: Progress, name: str, unit: str) -> None:
        self._bars = bars
        self._name = name
        self._unit = unit
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._task is None:
            for before in self._bars.task_ids:
                self._bars.remove_task(before)
            self._task = self._bars.add_task(self._name, total=None, unit=self._unit)
            self._bars.start()
        self._bars.update(self._task, completed=done, total=total or None)
        if done >= total > 0:
            self._bars.refresh()
            self._bars.stop()


class _Counted(ProgressColumn):
    """What is done, and how much in a second."""

    def render(self, task: Task) -> Text:
        unit = task.fields["unit"]
        if task.total is None:
            return Text("")
        if not unit:
            return Text(f"{task.percentage:>3.0f}%")
        speed = task.finished_speed or task.speed
        rate = f", {speed:,.0f} {unit}/s" if speed else ""
        return Text(f"{task.completed:,.0f} of {task.total:,.0f} {unit}{rate}")
