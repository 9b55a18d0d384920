"""What a file of prices has in each row, before it is checked.

The columns are the members of a change as `POST /pricing/changes` takes them. A reader gives a row as its number in the
file and one value for each column, None where the file has none; or as a `Mistake`, if it cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple, Protocol

COLUMNS: Final = ("store", "product", "channel", "kind", "action", "amount", "currency", "effectiveAt")
REQUIRED: Final = ("store", "product")

Text = str | None
RawRow = tuple[Text, Text, Text, Text, Text, str | int | float | Decimal | None, Text, str | datetime | None]
"""One value for each of the columns."""


class UnusableFile(Exception):
    """The file cannot be loaded at all; the message names it and says why."""


class Mistake(NamedTuple):
    """A row that cannot be loaded, and why."""

    row: int
    """Its line in a file of text, otherwise its number; from 1."""
    message: str


Read = Iterator[tuple[int, RawRow] | Mistake]
ShowRead = Callable[[int, int], None]
"""Called with how much of a file is read, and how much there is: bytes or rows."""


class PriceFile(Protocol):
    @property
    def row_name(self) -> str:
        """What the number of a row is: `line` or `row`."""
        ...

    def read(self, show: ShowRead) -> Read:
        """All rows, in order. Raises UnusableFile before the first one, if the file has no prices."""
        ...


def check_columns(found: Iterable[str], file: str) -> None:
    """A mistyped column would be ignored silently."""
    names = list(found)
    allowed = ", ".join(COLUMNS)
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        raise UnusableFile(f"{file}: there is no column {unknown[0]!r}; the columns are {allowed}")
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise UnusableFile(f"{file}: the column {missing[0]!r} is missing; the columns are {allowed}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UnusableFile(f"{file}: the column {twice[0]!r} is there twice")


def is_same(before: Any, now: Any) -> bool:
    """Whether a file is still what it was when it was checked."""
    return (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns)
