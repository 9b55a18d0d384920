"""Prices in CSV: UTF-8, the first line names the columns, an empty cell is no value."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from sortkey_services.pricing.load.raw_rows import COLUMNS, Mistake, Read, ShowRead, UnusableFile, check_columns

SHOWN_EVERY: Final = 4096


class CsvFile:
    row_name = "line"

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, show: ShowRead) -> Read:
        total = self._path.stat().st_size
        # A byte that is not UTF-8 becomes a surrogate, which the checks reject together with its line.
        with self._path.open("rb") as file:
            text = TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
            reader = csv.reader(text, strict=True)
            columns = self._columns(reader)
            width, ordered = len(columns), _in_order(columns)
            read = 0
            while True:
                before = reader.line_num
                try:
                    cells = next(reader, None)
                except csv.Error as error:
                    # What follows an open quotation mark cannot be told from it.
                    yield Mistake(before + 1, f"is not CSV: {error}; nothing after it was read")
                    return
                if cells is None:
                    return
                read += 1
                if read % SHOWN_EVERY == 0:
                    show(file.tell(), total)
                if len(cells) == width:
                    yield before + 1, ordered([cell or None for cell in cells])
                elif cells:
                    yield Mistake(before + 1, f"has {len(cells)} cells, but the first line names {width} columns")

    def _columns(self, reader: Iterator[list[str]]) -> list[str]:
        try:
            columns = next(reader, None)
        except csv.Error as error:
            raise UnusableFile(f"{self._path}: the first line is not CSV: {error}") from error
        if not columns:
            raise UnusableFile(f"{self._path} is empty; its first line names the columns: {', '.join(COLUMNS)}")
        check_columns(columns, str(self._path))
        return columns


def _in_order(columns: list[str]) -> Callable[[list[str | None]], Any]:
    """From the cells of a line to a raw row."""
    places = [columns.index(name) if name in columns else len(columns) for name in COLUMNS]
    pick = itemgetter(*places)

    def ordered(cells: list[str | None]) -> Any:
        cells.append(None)
        return pick(cells)

    return ordered
