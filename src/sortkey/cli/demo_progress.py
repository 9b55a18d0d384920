"""The progress of loading demonstration data: bars on a terminal, otherwise a line at the start and at the end."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from sortkey.services import interface


class DemoProgress:
    """Shows nothing for a service that has its data already."""

    def __init__(self, command: str, console: Console) -> None:
        self._command = command
        self._console = console
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )

    def of_service(self, name: str) -> interface.Progress:
        """The callback for one service's progress."""
        return _Bar(self._bars, name) if self._console.is_terminal else self._lines(name)

    def _lines(self, name: str) -> interface.Progress:
        begun = False

        def show(done: int, total: int) -> None:
            nonlocal begun
            if not begun:
                self._print(f"loading the demonstration data of {name}: {total:,} items")
                begun = True
            if done >= total:
                self._print(f"loaded the demonstration data of {name}")

        return show

    def _print(self, message: str) -> None:
        self._console.print(f"sortkey {self._command}: {message}", markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Stopping bars that were not started would print an empty line.
        if self._bars.live.is_started:
            self._bars.stop()


class _Bar:
    def __init__(self, bars: Progress, name: str) -> None:
        self._bars = bars
        self._name = name
        self._bar: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bars.start()
            self._bar = self._bars.add_task(f"demonstration data of {self._name}")
        self._bars.update(self._bar, completed=done, total=total)
        if done >= total:
            self._bars.stop()
