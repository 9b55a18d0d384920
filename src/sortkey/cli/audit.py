"""`sortkey audit`: every row of the declared tables, compared with its declaration.

    sortkey audit shop.models --store dynamodb://eu-west-1              counts, with examples
    sortkey audit shop.models --store ./data --repair                   rewrite index keys and TTL attributes

An audit reads whole tables; it says what that cost. A repair is safe beside other writers: each write is conditional on
what it was computed from. See docs/guides/migrating.md.

    table shop: 4,000 rows, 3,921 fine
         rows  repairable  class  finding
           79          79  Order  index-key-stale of gsi1: the index key is stale
                                  pk='CUSTOMER#ada', sk='ORDER#3': gsi1sk='OPEN' should be gsi1sk='DONE'
    cost: 61 read units ($0.000008)
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final, Self

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import NoModule, Parser, import_user_module, print_error
from sortkey.cli.tables import tables_in
from sortkey.client import stores
from sortkey.model.audit.report import EXAMPLES, AuditReport, FindingCount
from sortkey.model.audit.table_audit import AuditProgress
from sortkey.model.costs import explain
from sortkey.model.errors import ModelError, suggestion
from sortkey.model.items.table import Table
from sortkey.model.sessions.connect import connect
from sortkey.model.sessions.session import Session
from sortkey.storage import StorageError

_NO_CLASS: Final = "(none)"
_CLEAR_LINE: Final = "\r\x1b[K"
_WIDTH: Final = 30
SECONDS_BETWEEN_WRITES: Final = 1.0


class CannotAudit(Exception):
    """The command cannot be run; the message says why."""


class WrongFile(Exception):
    """The file is not the state of this audit; the message says why."""


_ERRORS: Final = (
    CannotAudit,
    NoModule,
    WrongFile,
    ModelError,
    StorageError,
    BotoCoreError,
    ClientError,
    OSError,
    ValueError,
)


def add_arguments(command: Parser) -> None:
    command.add_argument("module", metavar="MODULE", help="a module that declares items, for example shop.models")
    command.add_argument(
        "--store", metavar="URL", required=True, help="a folder, http://HOST:PORT or dynamodb://REGION"
    )
    command.add_argument("--table", metavar="T", action="append", help="only this table; may be given several times")
    command.add_argument("--repair", action="store_true", help="rewrite index keys and TTL attributes that are wrong")
    command.add_argument("--upgrade", action="store_true", help="with --repair: also write rows of older versions anew")
    command.add_argument(
        "--rewrite", action="store_true", help="with --repair: also write values in their field's form"
    )
    command.add_argument("--segments", metavar="N", type=int, help="segments to read in parallel (1)")
    command.add_argument("--rate", metavar="U", type=float, help="units to read, and to write, per second at most")
    command.add_argument("--resume", metavar="FILE", help="keep the state here, and continue from it if it is there")
    command.add_argument("--examples", metavar="N", type=int, default=EXAMPLES, help="rows to name per finding (3)")
    command.add_argument("--json", action="store_true", help="print the reports as JSON")


def run(arguments: argparse.Namespace) -> int:
    try:
        tables = _chosen(arguments)
        store = _store(arguments.store)
        file = AuditFile.open(arguments)
        with file, connect(store, tables=tables) as db:
            reports = [_audit(db, table, arguments, file) for table in tables]
            differences = db.diff_tables(*tables)
        file.finish(table.name for table in tables)
    except _ERRORS as error:
        return print_error("audit", str(error))
    except KeyboardInterrupt:
        return print_error("audit", f"interrupted{_how_to_continue(arguments)}")
    sys.stdout.write((json_page if arguments.json else page)(reports, differences, repair=arguments.repair))
    return 0 if all(report.is_clean for report in reports) else 1


def _chosen(arguments: argparse.Namespace) -> list[Table]:
    for option in ("upgrade", "rewrite"):
        if getattr(arguments, option) and not arguments.repair:
            raise CannotAudit(f"--{option} writes rows, so it needs --repair")
    declared = {table.name: table for table in tables_in(import_user_module(arguments.module))}
    if not declared:
        raise CannotAudit(f"module {arguments.module!r} has no class with a table")
    for name in arguments.table or ():
        if name not in declared:
            raise CannotAudit(f"module {arguments.module!r} declares no table {name!r}{suggestion(name, declared)}")
    return [table for table in declared.values() if arguments.table is None or table.name in arguments.table]


def _store(url: str) -> str:
    """The URL, unless it names a store that would be created, or memory."""
    store = stores.parse(url)
    if store.path is not None and not store.path.exists():
        raise CannotAudit(f"there is no folder {store.path}")
    store.require_existing()
    if store.path is None and store.remote is None:
        raise CannotAudit(f"{store.url} exists only in the process that opens it: name a folder or a URL")
    return url


def _audit(db: Session, table: Table, arguments: argparse.Namespace, file: AuditFile) -> AuditReport:
    before = file.begun(table.name)
    if before.is_complete:
        return before.report
    with ProgressBar(table.name, db.explain_scan(table).rows) as bar:

        def show(progress: AuditProgress) -> None:
            file.save(table.name, progress)
            bar.show(before.report.rows + progress.report.rows)

        found = db.audit(
            table,
            repair=arguments.repair,
            upgrade=arguments.upgrade,
            rewrite=arguments.rewrite,
            segments=arguments.segments if before.cursor is None else None,
            rate=arguments.rate,
            after=before.cursor,
            examples=arguments.examples,
            progress=show,
        )
    return file.complete(table.name, found)


def _how_to_continue(arguments: argparse.Namespace) -> str:
    return f"; the same command continues from {arguments.resume}" if arguments.resume else ""


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
        flags = [f"--{name}" for name in ("repair", "upgrade", "rewrite") if getattr(arguments, name)]
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


def json_page(reports: Sequence[AuditReport], differences: Sequence[str], *, repair: bool) -> str:
    clean = all(report.is_clean for report in reports)
    made = {"clean": clean, "repair": repair, "differences": list(differences), "tables": list(reports)}
    return msgspec.json.format(msgspec.json.encode(made)).decode() + "\n"


def page(reports: Sequence[AuditReport], differences: Sequence[str], *, repair: bool) -> str:
    lines = [line for report in reports for line in (*_lines(report, repair=repair), "")]
    lines += [f"differs from its declaration: {difference}" for difference in differences]
    lines.append(_summary(reports, repair=repair))
    return "\n".join(lines) + "\n"


def _lines(report: AuditReport, *, repair: bool) -> Iterator[str]:
    yield f"table {report.table}: {report.rows:,} rows, {report.fine:,} fine"
    titles = ("rows", "repaired", "skipped", "left") if repair else ("rows", "repairable")
    findings = sorted(report.findings, key=lambda each: (not each.kind.is_flaw, each.entity or "", each.kind.value))
    if findings:
        width = max(len(each.entity or _NO_CLASS) for each in findings)
        yield _columns(titles) + f"  {'class':{width}}  finding"
        for each in findings:
            counts = (each.rows, each.repaired, each.skipped, each.left) if repair else (each.rows, each.repairable)
            numbers = [f"{count:,}" for count in counts]
            yield f"{_columns(numbers, titles)}  {each.entity or _NO_CLASS:{width}}  {_described(each)}"
            indent = " " * (len(_columns(titles)) + width + 4)
            yield from (f"{indent}{_shown(example.key)}{_after_colon(example.detail)}" for example in each.examples)
    if report.changed or report.deleted:
        yield f"meanwhile, others changed {report.changed:,} of these rows and deleted {report.deleted:,}"
    yield f"cost: {_cost(report)}"


def _columns(texts: Sequence[str], titles: Sequence[str] | None = None) -> str:
    return "".join(f"{text:>{max(9, len(title)) + 2}}" for text, title in zip(texts, titles or texts, strict=True))


def _described(finding: FindingCount) -> str:
    subject = f" of {finding.subject}" if finding.subject else ""
    return f"{finding.kind}{subject}: {finding.kind.meaning}"


def _shown(key: dict[str, Any]) -> str:
    return ", ".join(f"{name}={content!r}" for name, value in key.items() for content in value.values())


def _after_colon(detail: str) -> str:
    return f": {detail}" if detail else ""


def _cost(report: AuditReport) -> str:
    dollars = explain.read_dollars_per_million(report.read_units) + explain.write_dollars_per_million(
        report.write_units
    )
    written = f" and {report.write_units:,g} write units" if report.write_units else ""
    return f"{report.read_units:,g} read units{written} (${dollars / 1_000_000:,.6f}, list price of {explain.REGION})"


def _summary(reports: Sequence[AuditReport], *, repair: bool) -> str:
    flaws = [each for report in reports for each in report.findings if each.kind.is_flaw]
    left, repairable = sum(each.left for each in flaws), sum(each.repairable - each.repaired for each in flaws)
    if not left:
        return "clean"
    advice = "" if repair or not repairable else f"; --repair can repair {repairable:,} of them"
    if repair and any(each.skipped for each in flaws):
        advice = "; other writers kept changing some of the rows: repair again"
    return f"{left:,} findings are left{advice}" if repair else f"{left:,} findings{advice}"
