"""A file is checked as a whole, and its mistakes are named by their lines."""

from __future__ import annotations

from pathlib import Path

from sortkey_services.pricing.load.file_check import NAMED_MISTAKES, FileReport, RowCheck, check_file
from sortkey_services.pricing.load.price_files import RowMistake, price_file
from tests.sortkey_services.pricing.load.files import csv_file, priced

SINCE = 1_787_000_000_000_000
ALL = "store,product,kind,action,amount,effectiveAt"


def checked(path: Path, *, once: bool = True) -> FileReport:
    return check_file(price_file(path), RowCheck("EUR", SINCE), lambda _done, _total: None, once=once)


def test_a_file_without_mistakes(tmp_path: Path) -> None:
    report = checked(csv_file(tmp_path / "a.csv", *priced(20, 50)))
    assert (report.direct, report.changes, report.wrong, report.rows) == (1000, 0, 0, 1000)


def test_direct_rows_and_changes(tmp_path: Path) -> None:
    rows = ("7,P1,,,1.50,", "7,P1,,,1.60,2035-01-01T00:00:00Z", "7,P2,,DELETE,,", "7,P3,,SET,2,2020-01-01T00:00:00Z")
    report = checked(csv_file(tmp_path / "a.csv", *rows, columns=ALL))
    assert (report.direct, report.changes, report.wrong) == (2, 2, 0)


def test_mistakes_are_named_by_line_and_the_rest_is_counted(tmp_path: Path) -> None:
    report = checked(csv_file(tmp_path / "a.csv", "7,P1,1.50", "7,P2,x", "7,P3", ",,1"))
    assert report.wrong == 3
    assert [each.row for each in report.mistakes] == [3, 4, 5]
    assert report.mistakes[0].message.startswith("amount: must be")
    assert "; " in report.mistakes[2].message
    many = checked(csv_file(tmp_path / "b.csv", *["7,P1,x"] * 50))
    assert (many.wrong, len(many.mistakes)) == (50, NAMED_MISTAKES)


def test_the_same_price_twice(tmp_path: Path) -> None:
    rows = ("7,P1,1", "8,P1,1", "7,P2,1", "7,P1,2", "8,P1,2")
    path = csv_file(tmp_path / "a.csv", *rows)
    report = checked(path)
    assert report.mistakes == [
        RowMistake(5, "has the BASE price of product P1 in store 7, channel ALL again, which line 2 has"),
        RowMistake(6, "has the BASE price of product P1 in store 8, channel ALL again, which line 3 has"),
    ]
    # Changes of one price follow each other.
    assert checked(path, once=False).wrong == 0


def test_prices_of_two_kinds_are_two_prices(tmp_path: Path) -> None:
    report = checked(csv_file(tmp_path / "a.csv", "7,C,BASE,,1,", "7,C#O,SWAP,,1,", columns=ALL))
    assert (report.direct, report.wrong) == (2, 0)
