"""The progress of loading demonstration data."""

from __future__ import annotations

import io

from rich.console import Console

from sortkey.cli.demo_progress import DemoProgress


def shown(terminal: bool, *steps: tuple[int, int]) -> str:
    output = io.StringIO()
    with DemoProgress("up", Console(file=output, force_terminal=terminal, width=100)) as progress:
        show = progress.of_service("notes")
        for done, total in steps:
            show(done, total)
    return output.getvalue()


# A log gets two lines, however many steps there are.
def test_without_a_terminal_its_start_and_its_end_are_lines() -> None:
    assert shown(False, *((done, 2000) for done in range(0, 2001, 100))).splitlines() == [
        "sortkey up: loading the demonstration data of notes: 2,000 items",
        "sortkey up: loaded the demonstration data of notes",
    ]


def test_a_terminal_gets_a_bar() -> None:
    seen = shown(True, (0, 2000), (500, 2000), (2000, 2000))
    assert "demonstration data of notes" in seen
    assert "2000/2000" in seen


def test_data_that_is_there_is_not_mentioned() -> None:
    assert shown(False) == shown(True) == ""
