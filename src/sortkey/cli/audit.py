"""`sortkey audit`: every row of the declared tables, compared with its declaration.

    sortkey audit shop.models --store dynamodb://eu-west-1              counts, with examples
    sortkey audit shop.models --store ./data --repair                   rewrite index keys and TTL attributes

An audit reads whole tables; it says what that cost. A repair is safe beside other writers: each write is conditional on
what it was computed from. See docs/guides/migrating.md.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import Parser
from sortkey.cli.audit_page import json_page, page
from sortkey.cli.audit_progress import AuditFile, ProgressBar, WrongFile
from sortkey.cli.messages import print_error
from sortkey.cli.tables import tables_in
from sortkey.cli.user_module import NoModule, import_user_module
from sortkey.client import stores
from sortkey.model.audit.report import EXAMPLES, AuditReport
from sortkey.model.audit.table_audit import AuditProgress
from sortkey.model.errors import ModelError, suggestion
from sortkey.model.items.table import Table
from sortkey.model.sessions.connect import connect
from sortkey.model.sessions.session import Session
from sortkey.storage import StorageError


class CannotAudit(Exception):
    """The command cannot be run; the message says why."""


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
    if arguments.upgrade and not arguments.repair:
        raise CannotAudit("--upgrade writes rows, so it needs --repair")
    declared = {table.name: table for table in tables_in(import_user_module(arguments.module))}
    if not declared:
        raise CannotAudit(f"module {arguments.module!r} has no class with a table")
    for name in arguments.table or ():
        if name not in declared:
            raise CannotAudit(f"module {arguments.module!r} declares no table {name!r}{suggestion(name, declared)}")
    return [table for table in declared.values() if arguments.table is None or table.name in arguments.table]


def _store(url: str) -> str:
    """The URL, unless it names a folder that would be created, or memory."""
    store = stores.parse(url)
    if store.path is not None and not store.path.exists():
        raise CannotAudit(f"there is no folder {store.path}")
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
            segments=arguments.segments if before.cursor is None else None,
            rate=arguments.rate,
            after=before.cursor,
            examples=arguments.examples,
            progress=show,
        )
    return file.complete(table.name, found)


def _how_to_continue(arguments: argparse.Namespace) -> str:
    return f"; the same command continues from {arguments.resume}" if arguments.resume else ""
