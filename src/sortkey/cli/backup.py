"""`sortkey backup`: write a copy of a data folder, which may be in use, to a file or to a place of copies.

sortkey backup DIR FILE                                     one file
sortkey backup DIR s3://bucket/prefix --keep 7              one more copy, and the oldest goes
sortkey backup DIR s3://bucket/prefix --every 15m --keep 96 until it is stopped
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from sortkey.cli.arguments import (
    Parser,
    add_status_arguments,
    announce,
    clear_progress,
    duration,
    print_error,
    show_progress,
)
from sortkey.clock import SystemClock
from sortkey.feeds.status_server import StatusServer
from sortkey.http.listener import AllowedHosts, CannotListen, is_loopback, listen, url_of
from sortkey.http.metrics import render
from sortkey.object_storage import Address, ObjectError, parse_source
from sortkey.storage import StorageError, back_up
from sortkey.storage.continuous_backup import FAMILIES, ContinuousBackup, Stopped
from sortkey.storage.copy_places import copy_place, make_copy


def add_arguments(command: Parser) -> None:
    command.add_argument("folder", metavar="DIR", type=Path, help="a data folder; it may be in use")
    command.add_argument(
        "target",
        metavar="FILE|PLACE",
        help="the file to write; gzip, say data.mdb.gz. Or a place of copies: s3://bucket/prefix, or with --keep or "
        "--every a folder",
    )
    command.add_argument(
        "--replace", action="store_true", help="take the place of FILE, once the new backup is whole and on disk"
    )
    command.add_argument("--keep", metavar="N", type=int, help="remove all but the newest N copies from PLACE")
    command.add_argument(
        "--every", metavar="TIME", type=duration, help="a copy each 30s, 15m, 6h or 1d, until it is stopped"
    )
    add_status_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    if arguments.keep is not None and arguments.keep < 1:
        return print_error("backup", "--keep must be at least 1")
    try:
        is_place = isinstance(parse_source(arguments.target), Address)
        if not (is_place or arguments.keep or arguments.every):
            return _write_file(arguments)
        if arguments.replace:
            return print_error("backup", "--replace is for a file; a place of copies keeps --keep N of them")
        return _copy_once(arguments) if arguments.every is None else _copy_every(arguments)
    except (CannotListen, ObjectError, StorageError) as error:
        return print_error("backup", str(error))
    except Stopped:
        print_error("backup", "interrupted; nothing of this copy is left")
        return 1
    finally:
        clear_progress()


def _write_file(arguments: argparse.Namespace) -> int:
    file = Path(arguments.target)
    size = back_up(arguments.folder, file, partial(show_progress, "copied"), replace=arguments.replace)
    clear_progress()
    sys.stdout.write(f"{file}: {size:,} bytes\n")
    return 0


def _copy_once(arguments: argparse.Namespace) -> int:
    place = copy_place(arguments.target)
    with StopSignal() as stop:

        def progress(done: int, total: int) -> None:
            if stop.is_set():
                raise Stopped
            show_progress("copied", done, total)

        size = make_copy(arguments.folder, place, arguments.keep, SystemClock(), progress)
    newest = place.copies()[-1]
    clear_progress()
    sys.stdout.write(f"{newest.packed.name}: {size:,} bytes\n")
    return 0


def _copy_every(arguments: argparse.Namespace) -> int:
    place = copy_place(arguments.target)
    with listen(arguments.host, arguments.metrics_port) as listening, StopSignal() as stop:
        hosts = AllowedHosts((arguments.host, *arguments.allowed_hosts)) if is_loopback(arguments.host) else None
        backup = ContinuousBackup(arguments.folder, place, arguments.keep, SystemClock(), stop, _report)
        with StatusServer(listening, lambda: render(backup.samples(), FAMILIES), hosts):
            backup.run(arguments.every, lambda: announce(url_of(listening)))
    return 0


def _report(line: str) -> None:
    sys.stderr.write(f"sortkey backup: {line}\n")
    sys.stderr.flush()


class StopSignal:
    """SIGTERM or SIGINT, as something to wait for: a copy ends at its next block, and leaves nothing."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._set = False

    def __enter__(self) -> Self:
        self._before = [(number, signal.signal(number, self._handle)) for number in (signal.SIGTERM, signal.SIGINT)]
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def _handle(self, *_: object) -> None:
        if not self._set:
            self._set = True
            os.write(self._write, b".")

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> bool:
        """Whether it came within this time. An Event could not be set by a handler that interrupts its `wait`."""
        if not self._set:
            select.select([self._read], [], [], seconds)
        return self._set
