"""Reads a whole file before anything is written, so that a mistake in its last line changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sortkey_services.pricing.load.checked_rows import DirectPrice, RowCheck
from sortkey_services.pricing.load.raw_rows import Mistake, PriceFile, ShowRead
from sortkey_services.pricing.load.seen_keys import SeenKeys

NAMED_MISTAKES: Final = 20


@dataclass
class FileReport:
    """What is in a file. A file with a mistake is not loaded."""

    direct: int = 0
    """Rows that can be written as they will be read, where there are no prices yet."""
    changes: int = 0
    """All other rows without mistakes."""
    wrong: int = 0
    mistakes: list[Mistake] = field(default_factory=list)
    """The first ones of them."""

    @property
    def rows(self) -> int:
        return self.direct + self.changes

    def add(self, mistake: Mistake) -> None:
        self.wrong += 1
        if len(self.mistakes) < NAMED_MISTAKES:
            self.mistakes.append(mistake)


def check_file(file: PriceFile, check: RowCheck, show: ShowRead, *, once: bool) -> FileReport:
    """If `once`, two direct rows of the same price are a mistake: which one remains would be a coincidence."""
    report, seen = FileReport(), SeenKeys()
    for each in file.read(show):
        if isinstance(each, Mistake):
            report.add(each)
            continue
        number, row = each
        direct = check.direct(row)
        if direct is not None:
            report.direct += 1
            seen.add(_hashed(direct))
            continue
        mistakes = check.mistakes(row)
        if mistakes:
            report.add(Mistake(number, "; ".join(mistakes)))
        else:
            report.changes += 1
    repeated = seen.repeated() if once else set()
    if repeated:
        _find_repeated(file, check, repeated, report)
    return report


def _find_repeated(file: PriceFile, check: RowCheck, hashes: set[int], report: FileReport) -> None:
    found: dict[tuple[object, ...], int] = {}
    for each in file.read(lambda _done, _total: None):
        direct = None if isinstance(each, Mistake) else check.direct(each[1])
        if direct is None or SeenKeys.hash_of(_hashed(direct)) not in hashes:
            continue
        number, key = each[0], direct[:4]
        if key in found:
            store, channel, kind, product = key
            price = f"the {kind} price of product {product} in store {store}, channel {channel}"
            report.add(Mistake(number, f"has {price} again, which {file.row_name} {found[key]} has"))
        else:
            found[key] = number
    report.mistakes.sort()


def _hashed(price: DirectPrice) -> tuple[str, str, str]:
    """The kind is left out: hashing it takes as long as all else, and equal hashes are compared by their keys."""
    return price[0], price[1], price[3]
