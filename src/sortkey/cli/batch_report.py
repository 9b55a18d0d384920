"""The report of a batch job: a table for people, and JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from sortkey_services.goals.batch.reconciliation import Example
from sortkey_services.goals.model import OUTCOMES

if TYPE_CHECKING:
    # Installed with `batch` only.
    from sortkey_services.goals.batch.job import BatchResult

MEANINGS: Final = {
    "confirmed": "was pending, and came with the same amount",
    "other_amount": "was pending, and came with another amount",
    "never_came": "was pending, and did not come",
    "without_event": "came, and no event had announced it",
    "rejected": "was taken back by an event",
    "still_pending": "is newer than the batch",
    "unreadable": "has a row of another program that cannot be read",
}
FILE_WIDTH: Final = 120
"""Of a table that goes into a file or a pipe, which have no width."""


class CannotReport(Exception):
    """The file of the report cannot be written; the message says why."""


def print_report(result: BatchResult) -> None:
    counts = result.reconciled.counts
    since = "the first batch" if counts.since is None else f"since {counts.since.isoformat()}"
    table = Table("deposit", "goals", "", title=f"Reconciliation, {since}", title_justify="left")
    table.columns[1].justify = "right"
    for name in OUTCOMES:
        table.add_row(name.replace("_", " "), f"{getattr(counts, name):,}", MEANINGS[name])
    console = Console()
    console = console if console.is_terminal else Console(width=FILE_WIDTH)
    console.print(table)
    for example in result.reconciled.examples:
        console.print(_line(example), markup=False, highlight=False, soft_wrap=True)


def _line(example: Example) -> str:
    pending, saved = _amount(example.pending_cents), _amount(example.saved_cents)
    return (
        f"{example.outcome.replace('_', ' ')}: {example.person} {example.goal}: pending {pending}, in the batch {saved}"
    )


def _amount(cents: int | None) -> str:
    return "none" if cents is None else f"{cents / 100:,.2f}"


def report_json(result: BatchResult) -> dict[str, Any]:
    counts = result.reconciled.counts
    return {
        "generation": result.served.id,
        "month": result.run.month,
        "asOf": result.run.as_of.isoformat(),
        "since": None if counts.since is None else counts.since.isoformat(),
        "lastUpdated": counts.at.isoformat(),
        "persons": result.persons,
        "reconciliation": {name: getattr(counts, name) for name in OUTCOMES},
        "examples": [
            {
                "outcome": each.outcome,
                "personId": each.person,
                "goalId": each.goal,
                "pendingCents": each.pending_cents,
                "savedCents": each.saved_cents,
            }
            for each in result.reconciled.examples
        ],
    }


def write_report(result: BatchResult, file: Path) -> None:
    """Raises CannotReport."""
    try:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(report_json(result))) + b"\n")
    except OSError as error:
        raise CannotReport(error.strerror or str(error)) from error
