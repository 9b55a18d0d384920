"""The progress of an audit: a bar on a terminal, and a file from which an interrupted audit continues."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from time import monotonic
from typing import Final, Self

import msgspec

from sortkey.model.audit.report import AuditReport
from sortkey.model.audit.table_audit import AuditProgress

_CLEAR_LINE: Final = "\r\x1b[K"
_WIDTH: Final = 30
SECONDS_BETWEEN_WRITES: Final = 1.0


class WrongFile(Exception):
    """The file is not the state of this audit; the message says why."""


class TableState(msgspec.Struct):
    """How far the audit of one table is."""

    report: AuditReport
    cursor: str | None = None
    is_complete: bool = False


class _State(msgspec.Struct):
    command: list[str]
    """What the audit is of; another one cannot continue from the file."""
    tables: dict[str, TableState] = msgspec.field(default_factory=dict)


class AuditFile:
    """The state of an audit, kept in a file if there is one."""

    def __init__(self, path: Path | None, state: _State) -> None:
        self._path = path
        self._state = state
        self._begun = dict(state.tables)
        self._latest: tuple[str, AuditProgress] | None = None
        self._written_at = monotonic()

    @classmethod
    def open(cls, arguments: argparse.Namespace) -> AuditFile:
        """Raises WrongFile if the file has the state of another audit, or something else, or cannot be made."""
        flags = [f"--{name}" for name in ("repair", "upgrade") if getattr(arguments, name)]
        command = [arguments.module, "--store", arguments.store, *flags]
        path = None if arguments.resume is None else Path(arguments.resume)
        if path is not None and not path.parent.is_dir():
            # Otherwise the audit would read for a while before it cannot write its state.
            raise WrongFile(f"there is no folder {path.parent} for the file {path.name}")
        if path is None or not path.exists():
            return cls(path, _State(command))
        try:
            state = msgspec.json.decode(path.read_bytes(), type=_State)
        except (msgspec.DecodeError, OSError) as error:
            raise WrongFile(f"{path} is not the state of an audit: {error}") from None
        if state.command != command:
            raise WrongFile(f"{path} is the state of another audit: sortkey audit {' '.join(state.command)}")
        return cls(path, state)

    def begun(self, table: str) -> TableState:
        """How far an earlier run came."""
        return self._begun.get(table) or TableState(AuditReport(table))

    def save(self, table: str, progress: AuditProgress) -> None:
        """Keeps the progress; writes it from time to time."""
        self._latest = (table, progress)
        if monotonic() - self._written_at > SECONDS_BETWEEN_WRITES:
            self._write_latest()

    def complete(self, table: str, report: AuditReport) -> AuditReport:
        """The report with what an earlier run has found."""
        whole = self.begun(table).report.joined(report)
        self._latest = None
        self._write(table, TableState(whole, is_complete=True))
        return whole

    def finish(self, tables: Iterable[str]) -> None:
        """The audit of these tables has ended, so that the next one starts anew. The state of others is kept."""
        for table in tables:
            self._state.tables.pop(table, None)
        if self._state.tables:
            self._replace_file()
        elif self._path is not None:
            self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Writes what an interrupted audit has done."""
        self._write_latest()

    def _write_latest(self) -> None:
        if self._latest is not None:
            table, progress = self._latest
            self._latest = None
            self._write(table, TableState(self.begun(table).report.joined(progress.report), progress.cursor))

    def _write(self, table: str, state: TableState) -> None:
        self._state.tables[table] = state
        self._written_at = monotonic()
        self._replace_file()

    def _replace_file(self) -> None:
        if self._path is not None:
            # A kill must leave the old state or the new one.
            beside = self._path.with_name(f"{self._path.name}.new")
            beside.write_bytes(msgspec.json.encode(self._state))
            os.replace(beside, self._path)


class ProgressBar:
    """One line on stderr that is overwritten; nothing unless that is a terminal."""

    def __init__(self, table: str, rows: int) -> None:
        self._table = table
        self._rows = rows

    def show(self, done: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"{_CLEAR_LINE}{self._line(done)}")
            sys.stderr.flush()

    def _line(self, done: int) -> str:
        if done > self._rows or not self._rows:
            # DynamoDB counts a table's items every six hours.
            return f"{self._table}: {done:,} rows"
        filled = _WIDTH * done // self._rows
        bar = "█" * filled + "░" * (_WIDTH - filled)
        return f"{self._table}: {bar} {done:,} of about {self._rows:,} rows"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(_CLEAR_LINE)
