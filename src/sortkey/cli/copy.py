"""`sortkey copy`: the tables of a store into another one, while they are used.

sortkey copy ./data http://db:8000 --dry-run      rows, bytes, time and cost
sortkey copy ./data http://db:8000                copy, apply changes, compare
sortkey copy ./data http://db:8000 --cut-over     the same, and then move the writers
sortkey copy ./data http://db:8000 --verify       compare only
sortkey copy ./data http://db:8000 --unfence      let the source take writes again
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import Parser, print_error, rate
from sortkey.cli.progress import Bars
from sortkey.client import client
from sortkey.client.interface import Client
from sortkey.client.stores import StoreAddress, parse
from sortkey.copies.comparison import SHOWN
from sortkey.copies.errors import CopyFailed, CopyRefused
from sortkey.copies.estimate import estimate
from sortkey.copies.fences import fences_of
from sortkey.copies.row_form import Selection, parse_where
from sortkey.copies.row_writer import Stopped
from sortkey.copies.store_copy import Options, Report, StoreCopy, tables_to_copy
from sortkey.copies.table_shape import TableShape
from sortkey.diagnosis.finding import counted
from sortkey.storage import StorageError

COMMAND: Final = "copy"
KEY_BYTES: Final = 32


def add_arguments(command: Parser) -> None:
    command.add_argument(
        "source", metavar="FROM", help="the store to copy: a folder, http://HOST:PORT, dynamodb://REGION"
    )
    command.add_argument("target", metavar="TO", help="the store to copy to; its tables are made")
    command.add_argument("--tables", metavar="A,B", type=_names, default=(), help="only these tables (all)")
    command.add_argument("--where", metavar="CONDITION", help="only rows for which a PartiQL condition holds")
    command.add_argument(
        "--anonymise",
        metavar="FIELD",
        action="append",
        default=[],
        help="replace the values of a field by pseudonyms; repeatable",
    )
    command.add_argument(
        "--anonymise-key",
        metavar="FILE",
        type=Path,
        help="the key that decides the pseudonyms; made if it is missing",
    )
    command.add_argument("--rate", metavar="UNITS", type=rate, help="write units a second, at most (no limit)")
    command.add_argument(
        "--no-stream", action="store_true", help="do not apply changes: those that are made meanwhile are missed"
    )
    what = command.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="print rows, bytes, time and cost, and copy nothing")
    what.add_argument("--verify", action="store_true", help="compare the stores, and copy nothing")
    what.add_argument(
        "--cut-over",
        action="store_true",
        help="at the end, fence FROM for writers, and tell them that TO has the tables",
    )
    what.add_argument("--unfence", action="store_true", help="let FROM take writes again, and copy nothing")


def run(arguments: argparse.Namespace) -> int:
    try:
        source, target = parse(arguments.source), parse(arguments.target)
        _require_two(source, target)
        source.require_existing()
        if arguments.verify:
            target.require_existing()
        selection = _selection(arguments)
    except (ValueError, CopyRefused) as error:
        return print_error(COMMAND, str(error))
    options = Options(arguments.tables, selection, arguments.rate, not arguments.no_stream)
    stopping = threading.Event()
    try:
        with _opened(source.url) as origin, _stopped_by_signals(stopping):
            # First, so that no folder is made for what is refused.
            shapes = tables_to_copy(origin, options.tables)
            if arguments.unfence:
                return _unfence(origin, shapes)
            with _opened("memory:" if arguments.dry_run and not _exists(target) else target.url) as goal:
                if arguments.dry_run:
                    return _estimate(origin, goal, shapes, options, stopping)
                return _run(arguments, origin, goal, options, stopping)
    except CopyRefused as error:
        return print_error(COMMAND, str(error))
    except CopyFailed as error:
        print_error(COMMAND, str(error))
        return 1
    except (Stopped, KeyboardInterrupt):
        print_error(COMMAND, "interrupted; the same command continues it")
        return 1
    except (BotoCoreError, ClientError, StorageError) as error:
        print_error(COMMAND, f"{' '.join(str(error).split())} (the same command continues the copy)")
        return 1


def _opened(url: str) -> Client:
    try:
        return client(url)
    except StorageError as error:
        raise CopyRefused(str(error)) from error


def _exists(store: StoreAddress) -> bool:
    """Whether opening it makes nothing."""
    try:
        store.require_existing()
    except ValueError:
        return False
    return True


def _run(
    arguments: argparse.Namespace, source: Client, target: Client, options: Options, stopping: threading.Event
) -> int:
    with Bars(COMMAND) as bars:
        copy = StoreCopy(source, target, options, bars, stopping)
        if arguments.verify:
            report = copy.verify()
        else:
            if arguments.cut_over and not fences_of(source).is_exact:
                bars.note(
                    f"{source.capabilities().store} has no fences: Sortkey's clients stop writing, others do not. "
                    "Stop them yourself, for instance by a resource policy that denies writes"
                )
            report = copy.run(arguments.target if arguments.cut_over else None)
    who = "the source refuses" if fences_of(source).is_exact else "Sortkey's clients refuse"
    return _show(report, f"{who} writes: moved to {arguments.target}")


def _unfence(source: Client, shapes: Sequence[TableShape]) -> int:
    fences_of(source).lift(shapes)
    sys.stdout.write(f"{counted(len(shapes), 'table')} may be written again\n")
    return 0


def _estimate(
    source: Client, target: Client, shapes: Sequence[TableShape], options: Options, stopping: threading.Event
) -> int:
    with Bars(COMMAND) as bars:
        StoreCopy(source, target, options, bars, stopping).check()
    about = estimate(shapes, options.rate, source.capabilities(), target.capabilities())
    part = " (before --where)" if options.selection.where is not None else ""
    sys.stdout.write(
        f"{counted(len(shapes), 'table')}, {about.rows:,} rows, {about.bytes:,} bytes{part}\n"
        f"{about.write_units:,.0f} write units in the target, {about.read_units:,.0f} read units in the source\n"
        f"about {_duration(about.seconds)}, ${about.dollars:,.2f} on DynamoDB on demand\n"
    )
    return 0


def _show(report: Report, moved: str) -> int:
    lines = [f"{report.rows:,} rows compared, {report.changes:,} changes applied in {report.seconds:.1f} s"]
    if report.fenced_seconds is not None:
        lines.append(f"writers were fenced for {report.fenced_seconds:.3f} s; {moved}")
    if report.differences:
        lines.append(f"{counted(len(report.differences), 'difference')}:")
        lines += [f"  {difference}" for difference in report.differences[:SHOWN]]
        if len(report.differences) > SHOWN:
            lines.append("  …")
    else:
        lines.append("both are equal")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if report.differences else 0


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _require_two(source: StoreAddress, target: StoreAddress) -> None:
    """Raises CopyRefused if both are the same, or one is gone with the command."""
    for each in (source, target):
        if each.path is None and each.remote is None:
            raise CopyRefused(f"{each.url!r} would be gone with this command; give a folder or an endpoint")
    same_folder = source.path is not None and target.path is not None and source.path.resolve() == target.path.resolve()
    if source.prefix == target.prefix and (
        same_folder or (source.remote is not None and source.remote == target.remote)
    ):
        raise CopyRefused("FROM and TO are the same store")


def _selection(arguments: argparse.Namespace) -> Selection:
    if arguments.where is not None:
        parse_where(arguments.where)
    fields = tuple(arguments.anonymise)
    if not fields:
        if arguments.anonymise_key is not None:
            raise CopyRefused("--anonymise-key has no --anonymise FIELD")
        return Selection(arguments.where)
    if arguments.anonymise_key is None:
        raise CopyRefused("--anonymise needs --anonymise-key FILE: who has the key can tell which value a pseudonym is")
    return Selection(arguments.where, fields, _run_key(arguments.anonymise_key))


def _run_key(path: Path) -> bytes:
    try:
        with (
            suppress(FileExistsError),
            open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file,
        ):
            file.write(secrets.token_bytes(KEY_BYTES))
        key = path.read_bytes()
    except OSError as error:
        raise CopyRefused(f"cannot use {path} as the key of pseudonyms: {error.strerror}") from error
    if len(key) < KEY_BYTES // 2:
        raise CopyRefused(f"{path} is too short for a key: {len(key)} bytes")
    return key


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError(f"{text!r} names no table")
    return names


@contextmanager
def _stopped_by_signals(stopping: threading.Event) -> Iterator[None]:
    """SIGTERM and an interrupt from the keyboard end the copy at its next step, so that no fence is left standing. The
    second one ends the process."""

    def stop(number: int, _frame: object) -> None:
        stopping.set()
        signal.signal(number, signal.SIG_DFL)

    before = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
