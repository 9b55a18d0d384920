"""How far long work is: bars on a terminal, lines in a log."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from sortkey.cli.progress import Bars


def shown(*steps: tuple[int, int], terminal: bool) -> str:
    """A load of a file, with these steps of writing."""
    output = StringIO()
    with Bars("load", Console(file=output, force_terminal=terminal, width=120)) as progress:
        check, write = progress.part("checking a.csv"), progress.part("loading a.csv", "rows")
        if steps:
            check(5_000, 10_000)
        for done, total in steps:
            write(done, total)
        progress._bars.refresh()
    return output.getvalue()


# A log gets the same lines, however many steps there are.
def test_without_a_terminal_the_start_and_the_end_of_each_part_are_lines() -> None:
    check, begin, end = shown(*((done, 2000) for done in range(0, 2001, 100)), terminal=False).splitlines()
    assert check == "sortkey load: checking a.csv"
    assert begin == "sortkey load: loading a.csv: 2,000 rows"
    assert end.startswith("sortkey load: loading a.csv: done in ")


def test_a_terminal_has_a_bar_for_the_part_under_way() -> None:
    seen = shown((0, 2000), (500, 2000), terminal=True)
    assert "500 of 2,000 rows" in seen
    assert "2,000 of 2,000 rows" in shown((0, 2000), (2000, 2000), terminal=True)


def test_a_total_that_is_not_known() -> None:
    assert "loading a.csv" in shown((0, 0), terminal=True)
    assert " of " not in shown((0, 0), terminal=True)
    assert shown((0, 0), terminal=False) == "sortkey load: checking a.csv\n"


# Demonstration data that is there already, for example.
def test_work_that_does_not_begin_is_not_mentioned() -> None:
    assert shown(terminal=False) == ""
