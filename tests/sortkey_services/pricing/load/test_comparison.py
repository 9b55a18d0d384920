"""A file that is loaded again: rows that say what is stored change nothing, and the others become changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

import sortkey as sk
from sortkey_services.pricing.change_writes import ChangeWrites
from sortkey_services.pricing.load import comparison, price_load
from sortkey_services.pricing.load.price_load import LoadedPrices, PriceLoad, WrongRows
from sortkey_services.pricing.model import CHANGES, PRICES, ChangeRow, PriceRow
from sortkey_services.pricing.prices import ChangeInput, PriceKey, PriceKind
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService
from tests.sortkey_services.pricing.load.files import csv_file, priced

JANUARY = "2026-01-01T00:00:00Z"
LATER = "2035-01-01T00:00:00Z"
TIMED = "store,product,action,amount,effectiveAt"


class Shop:
    """A store that a file was loaded into, and is loaded into again."""

    def __init__(self, folder: Path, session: sk.AsyncSession) -> None:
        self.folder = folder
        self.session = session
        self.pricing = PricingService(session)

    async def load(self, *rows: str, columns: str = "store,product,amount", processes: int = 1) -> tuple[int, int]:
        """How many rows were written, and how many were unchanged."""
        loaded = await self.run(*rows, columns=columns, processes=processes)
        return loaded.written, loaded.unchanged

    async def run(self, *rows: str, columns: str, processes: int = 1) -> LoadedPrices:
        written = csv_file(self.folder / "written.csv", *rows, columns=columns)
        path = self.folder / "prices.csv"
        if not path.exists() or path.read_bytes() != written.read_bytes():
            # The same file is one that was not written again.
            written.rename(path)
        load = PriceLoad(
            self.session, self.pricing, str(self.folder / "data"), path, currency="EUR", processes=processes
        )
        return await load.run(lambda _done, _total: None, lambda _done, _total: None)

    async def first(self, *rows: str) -> None:
        """What an earlier load has written by itself."""
        for row in rows:
            store, product, cents = row.split(",")
            since = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
            await self.session.put(
                PriceRow(
                    store=store, channel="ALL", kind=PriceKind.BASE, product=product, cents=int(cents), since=since
                )
            )

    async def price(self, store: str, product: str, at: str | None = None) -> str | None:
        found = await self.pricing.price(store, product, at=None if at is None else datetime.fromisoformat(at))
        return None if found is None else str(found.amount)

    async def history(self, store: str, product: str) -> list[str]:
        page = await self.pricing.price_history(store, product, page_request())
        return [str(record.amount) for record in page.items]

    async def changes(self) -> int:
        """How many rows the table of changes has."""
        return len([row async for row in self.session.scan(ChangeRow, consistent=True)])


def in_shop(folder: Path, test: Callable[[Shop], Awaitable[None]]) -> None:
    async def run() -> None:
        async with sk.async_connect(folder / "data", tables=[PRICES, CHANGES]) as session:
            shop = Shop(folder, session)
            await shop.pricing.start()
            await test(shop)

    asyncio.run(run())


def test_unchanged_rows_are_skipped_and_have_no_history(tmp_path: Path) -> None:
    async def test(shop: Shop) -> None:
        await shop.first(*(f"{store},P{number},{number + 100}" for store in "78" for number in range(12)))
        rows = [f"{store},P{number},{(number + 100) / 100:.2f}" for store in "78" for number in range(12)]
        assert await shop.load(*rows) == (0, 24)
        assert await shop.changes() == 0
        assert await shop.history("7", "P1") == []
        rows[5] = "7,P5,9.99"
        assert await shop.load(*rows, "9,P1,1.00") == (2, 23)
        assert await shop.history("7", "P5") == ["1.05", "9.99"]
        assert await shop.history("7", "P4") == []
        assert await shop.price("9", "P1") == "1.00"

    in_shop(tmp_path, test)


# The file is the last word: what was changed meanwhile is set again, unless it is what the file says.
def test_prices_that_were_changed_between_two_loads(tmp_path: Path) -> None:
    async def test(shop: Shop) -> None:
        await shop.first("7,P1,100", "7,P2,200", "7,P3,300")
        await shop.pricing.change_prices(
            [
                ChangeInput(store="7", product="P1", amount="5.00"),
                ChangeInput(store="7", product="P2", amount="6.00"),
                ChangeInput(store="7", product="P3", action="DELETE"),
            ]
        )
        assert await shop.load("7,P1,1.00", "7,P2,6.00", "7,P3,3.00") == (2, 1)
        assert [await shop.price("7", product) for product in ("P1", "P2", "P3")] == ["1.00", "6.00", "3.00"]
        assert await shop.history("7", "P2") == ["2.00", "6.00"]
        assert await shop.load("7,P1,1.00", "7,P2,6.00", "7,P3,3.00") == (0, 3)

    in_shop(tmp_path, test)


# An instant that has passed is asked about as such: a later change stays in force.
def test_rows_with_an_instant_are_compared_with_what_was_in_force_then(tmp_path: Path) -> None:
    async def test(shop: Shop) -> None:
        await shop.first("7,P1,100", "7,P2,200")
        await shop.pricing.change_prices([ChangeInput(store="7", product="P1", amount="5.00")])
        rows = (f"7,P1,,1.00,{JANUARY}", f"7,P2,,2.00,{JANUARY}")
        assert await shop.load(*rows, columns=TIMED) == (0, 2)
        assert await shop.price("7", "P1") == "5.00"
        assert await shop.load("7,P1,,1.50,2026-02-01T00:00:00Z", rows[1], columns=TIMED) == (1, 1)
        assert await shop.price("7", "P1") == "5.00"
        assert await shop.price("7", "P1", "2026-02-02T00:00:00Z") == "1.50"

    in_shop(tmp_path, test)


def test_rows_that_are_to_come_and_deletions(tmp_path: Path) -> None:
    rows = (f"7,P1,,1.60,{LATER}", f"7,P2,DELETE,,{LATER}", "7,P3,DELETE,,", "7,P1,,1.00,")

    async def test(shop: Shop) -> None:
        await shop.first("7,P1,100", "7,P2,200")
        assert await shop.load(*rows, columns=TIMED) == (2, 2)
        assert await shop.load(*rows, columns=TIMED) == (0, 4)
        # The amount in force is no schedule: somebody may schedule another one before it.
        assert await shop.load(f"7,P2,,2.00,{LATER}", f"7,P1,,1.60,{LATER}", columns=TIMED) == (1, 1)
        assert await shop.price("7", "P2", LATER) == "2.00"

    in_shop(tmp_path, test)


def test_rows_of_one_price_are_made_together_or_not_at_all(tmp_path: Path) -> None:
    async def test(shop: Shop) -> None:
        await shop.first("7,P1,100", "7,P2,200")
        # The second row says what is stored, and yet it comes after the first.
        assert await shop.load("7,P1,3.00", "7,P2,2.00", "7,P1,1.00") == (2, 1)
        assert await shop.price("7", "P1") == "1.00"
        assert await shop.history("7", "P1") == ["1.00", "3.00", "1.00"]
        assert await shop.load("7,P1,1.00", "7,P2,2.00", "7,P1,1.00") == (0, 3)

    in_shop(tmp_path, test)


# What a query would read for nothing is looked up.
@pytest.mark.slow
def test_a_file_of_a_few_products_reads_a_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LEAST_READ", 20)
    monkeypatch.setattr(comparison, "FEW", 2)
    looked_up: set[str] = set()
    rows_of = ChangeWrites.rows

    async def rows_noted(writes: ChangeWrites, keys: Sequence[PriceKey]) -> dict[PriceKey, PriceRow]:
        looked_up.update(key.product for key in keys)
        return await rows_of(writes, keys)

    monkeypatch.setattr(ChangeWrites, "rows", rows_noted)

    async def test(shop: Shop) -> None:
        await shop.session.load(
            PriceRow(store="7", channel="ALL", kind=PriceKind.BASE, product=f"P{number:04}", cents=100, since=1)
            for number in range(5000)
        )
        rows = [f"7,P{number:04},1.00" for number in (3, 2000, 2001, 4999)]
        assert await shop.load(*rows, "8,P1,1.00", "7,new,2.00") == (2, 4)
        assert (await shop.price("7", "new"), await shop.price("8", "P1")) == ("2.00", "1.00")
        assert looked_up == {"P2000", "P2001", "P4999", "new", "P1"}

    in_shop(tmp_path, test)


@pytest.mark.slow
def test_a_mistake_in_a_later_file_changes_nothing(tmp_path: Path) -> None:
    async def test(shop: Shop) -> None:
        await shop.first("7,P1,100")
        with pytest.raises(WrongRows) as error:
            await shop.load("7,P1,2.00", "8,P1,x", "7,P2", "9,P1,3.00")
        assert [mistake.row for mistake in error.value.report.mistakes] == [3, 4]
        assert await shop.price("7", "P1") == "1.00"
        assert await shop.changes() == 0

    in_shop(tmp_path, test)


# The second list fails: what the first one made does not differ any more.
def test_an_interrupted_load_makes_no_change_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_load, "MAX_CHANGES", 10)
    rows = list(priced(3, 10))

    async def test(shop: Shop) -> None:
        await shop.first("7,P1,100")
        made, change_prices = [0], shop.pricing.change_prices

        async def fails(changes: list[ChangeInput], requested_by: str | None = None) -> object:
            made[0] += 1
            if made[0] == 2:
                raise sk.services.Conflict("not now")
            return await change_prices(changes, requested_by)

        monkeypatch.setattr(shop.pricing, "change_prices", fails)
        with pytest.raises(sk.services.Conflict):
            await shop.load(*rows)
        assert await shop.load(*rows) == (20, 10)
        assert await shop.changes() == 30

    in_shop(tmp_path, test)


@pytest.mark.slow
def test_processes_share_the_stores(tmp_path: Path) -> None:
    async def test(shop: Shop) -> None:
        rows = list(priced(20, 20))
        assert await shop.load(*rows) == (400, 0)
        assert await shop.load(*rows, processes=2) == (0, 400)
        changed = ["00003,P0001,77.00", "00019,P0002,77.00"]
        assert await shop.load(*rows, *changed, processes=2) == (4, 398)
        assert [await shop.price(*row.split(",")[:2]) for row in changed] == ["77.00", "77.00"]
        with pytest.raises(WrongRows) as error:
            await shop.load(*rows, "00001,P0001,x", "00002,P0001", "00003,,1", processes=2)
        assert [mistake.row for mistake in error.value.report.mistakes] == [402, 403, 404]

    in_shop(tmp_path, test)
