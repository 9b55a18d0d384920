"""Direct rows, as the items that are written; several processes can share those of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sortkey_services.pricing.load.checked_rows import RowCheck
from sortkey_services.pricing.load.raw_rows import Mistake, PriceFile, UnusableFile
from sortkey_services.pricing.model import PriceRow

TURN: Final = 512
"""Rows that one process takes before the next one's turn: neighbours in the file are often neighbours in the store."""


class Part(NamedTuple):
    number: int
    of: int
    """How many parts there are."""
    after: int = 0
    """How many of its rows are written already."""


def direct_rows(file: PriceFile, check: RowCheck, part: Part) -> Iterator[PriceRow]:
    """All direct rows of the part. Raises UnusableFile for a row that was right when the file was checked."""
    turn, turns = part.number * TURN, part.of * TURN
    index = 0
    for each in file.read(lambda _done, _total: None):
        direct = None if isinstance(each, Mistake) else check.direct(each[1])
        if direct is None:
            if isinstance(each, Mistake) or check.mistakes(each[1]):
                raise UnusableFile(f"the file was changed while it was loaded: {file.row_name} {each[0]} is wrong now")
            continue
        if turn <= index % turns < turn + TURN:
            store, channel, kind, product, cents, since = direct
            yield PriceRow(store=store, channel=channel, kind=kind, product=product, cents=cents, since=since)
        index += 1
