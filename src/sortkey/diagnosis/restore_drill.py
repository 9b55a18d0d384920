"""Whether the newest copy in a place can be relied on: how old it is, and whether a folder made of it is whole.

The drill fetches the copy, unpacks it into a temporary folder, checks it as `sortkey check` does, and leaves nothing.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sortkey.clock import Clock, monotonic
from sortkey.diagnosis.finding import Finding, Status, bytes_text, counted, fail, ok, seconds_text
from sortkey.engine.check.database_check import CheckReport, check
from sortkey.object_storage import ObjectError
from sortkey.storage import StorageError, restore
from sortkey.storage.copy_places import Copy, copy_place, time_text

DAY_SECONDS: Final = 86_400.0
_RUN: Final = "see that sortkey backup --every runs, and what it reports"


def examine_copies(place: str, oldest: float, clock: Clock) -> list[Finding]:
    """`oldest` is how many seconds old the newest copy may be."""
    try:
        copies = copy_place(place).copies()
    except (ObjectError, StorageError) as error:
        return [fail("copies", str(error), "without a place that can be read, nothing can be restored")]
    if not copies:
        return [fail("copies", f"there is none in {place}", _RUN)]
    return [judge_copies(copies, clock.now(), oldest), drill(copies[-1])]


def judge_copies(copies: list[Copy], now: float, oldest: float) -> Finding:
    newest = copies[-1]
    age = now - newest.at
    found = f"{len(copies):,}, the newest of {time_text(newest.at)}: {age_text(age)} ago"
    if age > oldest:
        return fail("copies", f"{found}, more than {age_text(oldest)}", _RUN, age=age, copies=len(copies))
    return ok("copies", found, age=age, copies=len(copies), bytes=newest.packed.size)


def drill(copy: Copy) -> Finding:
    advice = "keep the older copies, and see whether one of them can be restored: sortkey restore PLACE@TIME DIR"
    began = monotonic()
    try:
        with TemporaryDirectory(prefix="sortkey-drill-") as folder:
            report = _restored(copy, Path(folder))
    except (ObjectError, OSError, StorageError) as error:
        return fail("restore drill", str(error), f"{advice}; the temporary folder is below TMPDIR")
    seconds = monotonic() - began
    found = (
        f"{bytes_text(copy.packed.size)} in {seconds_text(seconds)}: {counted(report.tables, 'table')}, "
        f"{counted(report.items, 'item')}, {counted(report.index_rows, 'index row')}, "
        f"{counted(len(report.problems), 'problem')}"
    )
    numbers = {"seconds": seconds, "tables": report.tables, "items": report.items, "problems": len(report.problems)}
    if report.problems:
        return Finding("restore drill", Status.FAIL, f"{found}; the first: {report.problems[0]}", advice, numbers)
    return Finding("restore drill", Status.OK, found, "", numbers)


def _restored(copy: Copy, temporary: Path) -> CheckReport:
    reports: list[CheckReport] = []
    restore(copy.packed, temporary / "data", lambda folder: reports.append(check(folder)), lambda *_: None)
    return reports[0]


def age_text(seconds: float) -> str:
    for unit, name in ((DAY_SECONDS, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return seconds_text(max(seconds, 0.0))
