"""The progress of a load: bars on a terminal, otherwise a line at the start of each part."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

WIDTH: Final = 30


class RowsColumn(ProgressColumn):
    """Rows that are written, and how many in a second."""

    def render(self, task: Task) -> Text:
        rate = f", {task.speed:,.0f} rows/s" if task.speed else ""
        return Text(f"{task.completed:,.0f} of {task.total:,.0f} rows{rate}" if task.fields["rows"] else "")


class LoadProgress:
    def __init__(self, file: str, console: Console | None = None) -> None:
        self._file = file
        self._console = Console(stderr=True) if console is None else console
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(WIDTH),
            TextColumn("{task.percentage:>3.0f}%"),
            RowsColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._bar: TaskID | None = None
        self._part = ""

    def note(self, message: str) -> None:
        self._console.print(f"sortkey load: {message}", markup=False, highlight=False, soft_wrap=True)

    def checked(self, done: int, total: int) -> None:
        """Bytes or rows of the file that are checked."""
        self._show("checking", done, total, is_rows=False)

    def written(self, done: int, total: int) -> None:
        self._show("loading", done, total, is_rows=True)

    def _show(self, part: str, done: int, total: int, *, is_rows: bool) -> None:
        if part != self._part:
            self._part = part
            self._begin(f"{part} {self._file}", done, total, is_rows)
        if self._bar is not None:
            self._bars.update(self._bar, completed=done, total=total)

    def _begin(self, what: str, done: int, total: int, is_rows: bool) -> None:
        if not self._console.is_terminal:
            self.note(f"{what}: {total:,} rows" if is_rows else what)
            return
        if self._bar is not None:
            self._bars.remove_task(self._bar)
        self._bar = self._bars.add_task(what, completed=done, total=total, rows=is_rows)
        self._bars.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Stopping bars that were not started would print an empty line.
        if self._bars.live.is_started:
            self._bars.stop()
