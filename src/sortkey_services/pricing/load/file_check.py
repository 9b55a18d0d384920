"""Reads a whole file before anything is written, so that a mistake in its last line changes nothing.

Rows are checked as `change_prices` checks a request, at a tenth of the time. Stores, products, amounts and instants
occur again and again in a file. So each distinct value is checked once, by the service's own check of a change in which
everything else is right. A row with a value that is wrong is checked as a whole, so that its mistakes are worded as
those of a request.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import replace

import sortkey as sk
from sortkey_services.pricing.checks import ChangeChecks, CheckedChange, ZoneOf, no_zone
from sortkey_services.pricing.load.price_files import COLUMNS, PriceFile, RawRow, RowMistake, ShowRead
from sortkey_services.pricing.model import StoreRow
from sortkey_services.pricing.prices import ALL_CHANNELS, ChangeInput, PriceAction, PriceKind

NAMED_MISTAKES: Final = 20
REMEMBERED: Final = 100_000
"""Distinct values of a column."""
PARTS: Final = 256
"""One part is sorted at a time, as Python's integers, which take four times as much memory."""
_MASK: Final = (1 << 64) - 1
_RIGHT: Final = ChangeInput(store="1", product="1", amount="1.00")

Key = TypeVar("Key")
Value = TypeVar("Value")

DirectPrice = tuple[str, str, PriceKind, str, int, int]
"""Store, channel, kind, product, cents, and the instant from which on, in microseconds since 1970."""


@dataclass
class FileReport:
    """What is in a file. A file with a mistake is not loaded."""

    direct: int = 0
    """Rows that can be written as they will be read, where there are no prices yet."""
    changes: int = 0
    """All other rows without mistakes."""
    wrong: int = 0
    mistakes: list[RowMistake] = field(default_factory=list)
    """The first ones of them."""

    @property
    def rows(self) -> int:
        return self.direct + self.changes

    def add(self, mistake: RowMistake) -> None:
        self.wrong += 1
        if len(self.mistakes) < NAMED_MISTAKES:
            self.mistakes.append(mistake)


def check_file(file: PriceFile, check: RowCheck, show: ShowRead, *, once: bool) -> FileReport:
    """If `once`, two direct rows of the same price are a mistake: which one remains would be a coincidence."""
    report, seen = FileReport(), SeenKeys()
    for each in file.read(show):
        if isinstance(each, RowMistake):
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
            report.add(RowMistake(number, "; ".join(mistakes)))
        else:
            report.changes += 1
    repeated = seen.repeated() if once else set()
    if repeated:
        _find_repeated(file, check, repeated, report)
    return report


def _find_repeated(file: PriceFile, check: RowCheck, hashes: set[int], report: FileReport) -> None:
    found: dict[tuple[object, ...], int] = {}
    for each in file.read(lambda _done, _total: None):
        direct = None if isinstance(each, RowMistake) else check.direct(each[1])
        if direct is None or SeenKeys.hash_of(_hashed(direct)) not in hashes:
            continue
        number, key = each[0], direct[:4]
        if key in found:
            store, channel, kind, product = key
            price = f"the {kind} price of product {product} in store {store}, channel {channel}"
            report.add(RowMistake(number, f"has {price} again, which {file.place(found[key])} has"))
        else:
            found[key] = number
    report.mistakes.sort()


def _hashed(price: DirectPrice) -> tuple[str, str, str]:
    """The kind is left out: hashing it takes as long as all else, and equal hashes are compared by their keys."""
    return price[0], price[1], price[3]


class RowCheck:
    """A row is *direct* if it sets a price from an instant that has passed: where there are no prices yet, it is
    written as it will be read. All others are changes, which the service makes.

    `since` is the latest instant of a direct row, and that of a row without one; in microseconds since 1970. A row with
    a local time is a change: its instant depends on its store.
    """

    def __init__(self, currency: str, since: int, zone_of: ZoneOf = no_zone) -> None:
        self._zone_of = zone_of
        self._checks = ChangeChecks(currency)
        self.since = since
        self._stores: Memo[Any, str | None] = Memo(self._store)
        self._products: Memo[Any, str | None] = Memo(self._product)
        self._manners: Memo[Any, tuple[str, PriceKind] | None] = Memo(self._manner)
        self._amounts: Memo[Any, int | None] = Memo(self._amount)
        self._instants: Memo[Any, int | None] = Memo(self._instant)

    def direct(self, row: RawRow) -> DirectPrice | None:
        """None for a change, and for a row with a mistake."""
        store, product, channel, kind, action, amount, currency, at = row
        manner = self._manners[channel, kind, action, currency]
        checked_store, checked_product = self._stores[store], self._products[kind, product]
        cents, since = self._amounts[amount], self._instants[at]
        if manner is None or checked_store is None or checked_product is None or cents is None or since is None:
            return None
        return checked_store, *manner, checked_product, cents, since

    def mistakes(self, row: RawRow) -> list[str]:
        """Of a row that is not direct; none if it is a change."""
        found = self.change(row)
        return [] if isinstance(found, CheckedChange) else list(found)

    def change(self, row: RawRow) -> CheckedChange | Sequence[str]:
        """A row that is not direct, or all of its mistakes."""
        broken = [
            name for name, value in zip(COLUMNS, row, strict=True) if isinstance(value, str) and not _is_whole(value)
        ]
        if broken:
            return [f"{name}: is not UTF-8" for name in broken]
        return self._checks.change(change_of(row), self.since, self._zone_of)

    def _store(self, store: str | None) -> str | None:
        found = self._tried(store=store or "")
        return None if found is None else found.key.store

    def _product(self, asked: tuple[str | None, str | None]) -> str | None:
        kind, product = asked
        found = self._tried(product=product or "", kind=kind or PriceKind.BASE)
        return None if found is None else found.key.product

    def _manner(self, asked: tuple[str | None, ...]) -> tuple[str, PriceKind] | None:
        channel, kind, action, currency = asked
        if action not in (None, PriceAction.SET):
            return None
        product = "1#1" if kind == PriceKind.SWAP else "1"
        found = self._tried(
            channel=channel or ALL_CHANNELS, kind=kind or PriceKind.BASE, product=product, currency=currency
        )
        return None if found is None else (found.key.channel, found.key.kind)

    def _amount(self, amount: Any) -> int | None:
        found = self._tried(amount=amount)
        return None if found is None else found.cents

    def _instant(self, at: Any) -> int | None:
        if at is None:
            return self.since
        found = self._tried(effective_at=at)
        return None if found is None or found.at is None or found.at > self.since else found.at

    def _tried(self, **values: Any) -> CheckedChange | None:
        """A change that has these values and is right otherwise; None if they are wrong."""
        found = self._checks.change(replace(_RIGHT, **values), self.since)
        return found if isinstance(found, CheckedChange) else None


async def zones_of_stores(session: sk.AsyncSession, default: str | None) -> ZoneOf:
    """Of all stores, whatever a file has: a chain has thousands, in small rows of one partition."""
    zones = {row.store: row.time_zone async for row in session.iterate(StoreRow.key(), consistent=True)}
    return lambda store: zones.get(store, default)


def change_of(row: RawRow, since: datetime | None = None) -> ChangeInput:
    """`since` is the instant of a row without one."""
    store, product, channel, kind, action, amount, currency, at = row
    return ChangeInput(
        store=store or "",
        product=product or "",
        channel=channel or ALL_CHANNELS,
        kind=kind or PriceKind.BASE,
        action=action or PriceAction.SET,
        amount=amount,
        currency=currency,
        effective_at=at or since,
    )


def _is_whole(text: str) -> bool:
    """Whether it has no byte that is not UTF-8, which a reader of text turns into half of a surrogate pair."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


class Memo(dict[Key, Value], Generic[Key, Value]):
    """Computes a value when it is first asked for; forgets all when there are too many."""

    def __init__(self, compute: Callable[[Key], Value]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: Key) -> Value:
        if len(self) >= REMEMBERED:
            self.clear()
        value = self[key] = self._compute(key)
        return value


class SeenKeys:
    """Finds rows of a file that have the same key, in eight bytes of memory for each row. Only a hash of a key is kept.
    Two keys of four million have the same one once in two million files; so hashes that occur twice are only
    candidates, and who calls looks at their keys."""

    def __init__(self) -> None:
        self._parts = [array("Q") for _ in range(PARTS)]

    def add(self, key: Hashable) -> int:
        """Returns its hash."""
        found = hash(key) & _MASK
        self._parts[found % PARTS].append(found)
        return found

    def repeated(self) -> set[int]:
        """Hashes that were added more than once; forgets all."""
        found: set[int] = set()
        for part in self._parts:
            ordered = sorted(part)
            found.update(each for each, following in pairwise(ordered) if each == following)
            part[:] = array("Q")
        return found

    @staticmethod
    def hash_of(key: Hashable) -> int:
        return hash(key) & _MASK
