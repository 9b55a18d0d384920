from __future__ import annotations

from io import StringIO

from rich.console import Console

from sortkey.cli.batch_progress import BatchProgress


def shown(*calls: tuple[int, int], terminal: bool) -> str:
    output = StringIO()
    with BatchProgress("goals", Console(file=output, force_terminal=terminal, width=100)) as progress:
        for done, total in calls:
            progress(done, total)
        progress._bar.refresh()
    return output.getvalue()


def test_a_terminal_has_a_bar_with_rows() -> None:
    text = shown((0, 2_000), (500, 2_000), terminal=True)
    assert "batch of goals" in text
    assert "500/2000" in text


def test_elsewhere_it_is_two_lines() -> None:
    first, last = shown((0, 2_000), (500, 2_000), (2_000, 2_000), terminal=False).strip().splitlines()
    assert first == "sortkey batch: goals: writing 2,000 rows"
    assert last.startswith("sortkey batch: goals: wrote 2,000 rows in ")
