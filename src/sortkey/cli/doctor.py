"""`sortkey doctor`: whether this machine, a data folder or an endpoint is fit, on one page.

    warn  sync           median 14 ms, worst 31 ms: about 36 commits a second
                         → use a local SSD; until then, send writes over many connections, which share commits

It changes nothing, except with `--write`.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from sortkey.cli.arguments import DEFAULT_FOLDER, Parser, duration, print_error
from sortkey.client import stores
from sortkey.client.stores import StoreAddress
from sortkey.clock import Clock, SystemClock
from sortkey.diagnosis.endpoint import examine_endpoint, examine_write
from sortkey.diagnosis.finding import Finding, Status
from sortkey.diagnosis.folder import examine_folder
from sortkey.diagnosis.machine import ClockWatch, examine_machine
from sortkey.diagnosis.restore_drill import DAY_SECONDS, examine_copies

_SUBJECT_WIDTH: Final = 15


class Diagnosis(msgspec.Struct, frozen=True):
    target: str | None
    fit: bool
    findings: list[Finding]


def add_arguments(command: Parser) -> None:
    command.add_argument(
        "target",
        metavar="DIR|URL",
        nargs="?",
        help="a data folder, which may be in use, or an endpoint (./data if there)",
    )
    command.add_argument("--write", metavar="TABLE", help="at an endpoint: put an item into this table, and delete it")
    command.add_argument(
        "--restore-drill",
        metavar="PLACE",
        help="restore the newest copy in a folder or s3://bucket/prefix into a temporary folder, and check it",
    )
    command.add_argument(
        "--max-age",
        metavar="TIME",
        type=duration,
        default=DAY_SECONDS,
        help="how old that copy may be: 45m, 6h or 2d (1d)",
    )
    command.add_argument("--json", metavar="FILE", help="write the findings to this file; - is standard output")


def run(arguments: argparse.Namespace) -> int:
    try:
        store = target_of(arguments.target)
    except ValueError as error:
        return print_error("doctor", str(error))
    if store is not None and store.path is None and store.remote is None:
        return print_error("doctor", f"{store.url} exists only in the process that opens it: name a folder or a URL")
    if arguments.write is not None and (store is None or store.remote is None):
        return print_error("doctor", "--write needs the URL of an endpoint")
    clock = SystemClock()
    diagnosis = diagnose(store, arguments.write, clock)
    if arguments.restore_drill is not None:
        with ending_on_sigterm():
            copies = examine_copies(arguments.restore_drill, arguments.max_age, clock)
        diagnosis = with_findings(diagnosis, copies)
    try:
        show(diagnosis, arguments.json)
    except OSError as error:
        return print_error("doctor", f"cannot write {arguments.json}: {error.strerror}")
    return 0 if diagnosis.fit else 1


def target_of(given: str | None) -> StoreAddress | None:
    """What to examine besides the machine. Raises ValueError if it is neither a folder nor a URL."""
    if given is not None:
        return stores.parse(given)
    return stores.parse(DEFAULT_FOLDER) if DEFAULT_FOLDER.exists() else None


def diagnose(store: StoreAddress | None, table: str | None, clock: Clock) -> Diagnosis:
    watch = ClockWatch(clock)
    findings = examine_machine()
    if store is not None and store.path is not None:
        findings += examine_folder(store.path, clock)
    if store is not None and store.remote is not None:
        findings += examine_endpoint(store.url, store.remote, clock)
        if table is not None:
            findings.append(examine_write(store.url, store.remote, store.prefix + table))
    findings.append(watch.finding())
    return with_findings(Diagnosis(None if store is None else store.url, True, []), findings)


def with_findings(diagnosis: Diagnosis, further: list[Finding]) -> Diagnosis:
    fit = diagnosis.fit and all(finding.status is not Status.FAIL for finding in further)
    return Diagnosis(diagnosis.target, fit, [*diagnosis.findings, *further])


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """As at an interrupt from the keyboard, temporary files are removed."""

    def end(*_: object) -> NoReturn:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def show(diagnosis: Diagnosis, file: str | None) -> None:
    """The page on standard output, unless the JSON goes there."""
    if file is not None:
        encoded = msgspec.json.format(msgspec.json.encode(diagnosis)) + b"\n"
        if file == "-":
            sys.stdout.write(encoded.decode())
            return
        Path(file).write_bytes(encoded)
    sys.stdout.write(page(diagnosis))


def page(diagnosis: Diagnosis) -> str:
    lines = [line for finding in diagnosis.findings for line in lines_of(finding)]
    counts = {status: sum(finding.status is status for finding in diagnosis.findings) for status in Status}
    summary = ", ".join(f"{number} {status}" for status, number in counts.items())
    return "\n".join([f"sortkey doctor: {diagnosis.target or 'this machine'}", "", *lines, "", summary, ""])


def lines_of(finding: Finding) -> list[str]:
    lines = [f"{finding.status:4}  {finding.subject:{_SUBJECT_WIDTH}}{finding.found}"]
    if finding.advice:
        lines.append(f"{'':{6 + _SUBJECT_WIDTH}}→ {finding.advice}")
    return lines
