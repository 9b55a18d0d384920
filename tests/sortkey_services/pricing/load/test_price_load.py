"""A file is loaded as a whole; what was interrupted goes on; where there are prices, the service makes changes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey_services.pricing.load import load_processes, price_load
from sortkey_services.pricing.load.file_check import RowCheck
from sortkey_services.pricing.load.load_processes import LoadFailed, process_count
from sortkey_services.pricing.load.price_files import UnusableFile, price_file
from sortkey_services.pricing.load.price_load import (
    FileIdentity,
    LoadedPrices,
    OtherLoad,
    PriceLoad,
    PriceLoadRecord,
    WrongRows,
)
from sortkey_services.pricing.model import PRICES, PriceRow, StoreRow
from sortkey_services.pricing.prices import ChangeInput, PriceChange, PriceKind
from tests.sortkey_services.pricing.load.files import csv_file, priced

NOW = 1_787_000_000.0
SINCE = 1_787_000_000_000_000


class Changes:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.made: list[ChangeInput] = []
        self.lists: list[int] = []
        self.fails = False

    async def change_prices(
        self, changes: Sequence[ChangeInput], requested_by: str | None = None
    ) -> list[PriceChange[Decimal]]:
        if self.fails:
            raise sk.services.Conflict("not now")
        assert requested_by == "Ada"
        self.made += changes
        self.lists.append(len(changes))
        return []


class Loads:
    def __init__(self, store: Path, session: sk.AsyncSession) -> None:
        self.store = store
        self.session = session
        self.changes = Changes()
        self.shown: list[tuple[int, int]] = []

    def load(self, path: Path, processes: int | None = None, now: float = NOW) -> PriceLoad:
        return PriceLoad(
            *(self.session, self.changes, str(self.store), path),
            currency="EUR",
            requested_by="Ada",
            now=lambda: now,
            processes=processes,
        )

    async def run(self, path: Path, processes: int | None = None, now: float = NOW) -> LoadedPrices:
        return await self.load(path, processes, now).run(lambda _done, _total: None, self._show)

    def _show(self, done: int, total: int) -> None:
        self.shown.append((done, total))

    async def rows(self) -> dict[tuple[str, str, str], tuple[Any, ...]]:
        return {
            (row.store, row.kind, row.product): (row.cents, row.since, row.entries)
            async for row in self.session.scan(PriceRow, consistent=True)
        }


def with_loads(folder: Path, test: Callable[[Loads], Awaitable[None]]) -> None:
    async def run() -> None:
        async with sk.async_connect(folder / "data", tables=[PRICES]) as session:
            await session.create_tables()
            await test(Loads(folder / "data", session))

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 3])
def test_the_first_prices_are_written_directly(tmp_path: Path, processes: int) -> None:
    path = csv_file(tmp_path / "prices.csv", *priced(60, 50))

    async def test(loads: Loads) -> None:
        loaded = await loads.run(path, processes)
        assert (loaded.rows, loaded.written) == (3000, 3000)
        rows = await loads.rows()
        assert len(rows) == 3000
        assert rows["00007", "BASE", "P0003"] == ((7 * 7 + 3 + 1) * 100 + 50, SINCE, None)
        assert loads.shown[-1] == (3000, 3000)
        assert loads.changes.made == []
        # The index has them, too, and nothing of the load remains.
        found = [row async for row in loads.session.iterate(PriceRow.by_product(kind=PriceKind.BASE, product="P0003"))]
        assert [row.store for row in found] == [f"{store:05}" for store in range(60)]
        assert await loads.load(path).interrupted() is None

    with_loads(tmp_path, test)


@pytest.mark.slow
def test_changes_of_a_first_file_come_after_its_prices(tmp_path: Path) -> None:
    columns = "store,product,amount,action,effectiveAt"
    rows = (
        "7,P1,1.50,,",
        "7,P1,1.60,,2035-01-01T00:00:00Z",
        "7,P3,,DELETE,",
        "7,P3,2,,2020-01-01T00:00:00Z",
        # There is no price to delete.
        "7,P2,,DELETE,",
    )
    path = csv_file(tmp_path / "prices.csv", *rows, columns=columns)

    async def test(loads: Loads) -> None:
        await loads.run(path)
        rows = await loads.rows()
        assert rows == {
            ("7", "BASE", "P1"): (150, SINCE, None),
            ("7", "BASE", "P3"): (200, 1_577_836_800_000_000, None),
        }
        assert [(each.product, each.action, each.amount) for each in loads.changes.made] == [
            ("P1", "SET", "1.60"),
            ("P3", "DELETE", None),
        ]

    with_loads(tmp_path, test)


def test_where_there_are_prices_everything_is_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_load, "MAX_CHANGES", 40)
    path = csv_file(tmp_path / "prices.csv", *priced(2, 50))

    async def test(loads: Loads) -> None:
        row = PriceRow(store="7", channel="ALL", kind=PriceKind.BASE, product="P1", cents=1, since=SINCE)
        await loads.session.put(row)
        loaded = await loads.run(path)
        assert loaded.written == 100
        assert loads.changes.lists == [40, 10, 40, 10]
        assert {change.effective_at for change in loads.changes.made} == {datetime.fromtimestamp(NOW, UTC)}
        assert len(await loads.rows()) == 1

    with_loads(tmp_path, test)


# Nobody should see a store of which only some rows are made.
def test_a_list_ends_between_two_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_load, "MAX_CHANGES", 40)
    path = csv_file(tmp_path / "prices.csv", *priced(7, 15))

    async def test(loads: Loads) -> None:
        row = PriceRow(store="7", channel="ALL", kind=PriceKind.BASE, product="P1", cents=1, since=SINCE)
        await loads.session.put(row)
        await loads.run(path)
        assert loads.changes.lists == [30, 30, 30, 15]

    with_loads(tmp_path, test)


def test_nothing_is_written_of_a_file_with_a_mistake(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "prices.csv", *priced(10, 50), "7,P1,x")

    async def test(loads: Loads) -> None:
        with pytest.raises(WrongRows) as error:
            await loads.run(path)
        assert [each.row for each in error.value.report.mistakes] == [502]
        assert await loads.rows() == {}
        assert await loads.load(path).interrupted() is None

    with_loads(tmp_path, test)


def test_a_file_without_rows(tmp_path: Path) -> None:
    async def test(loads: Loads) -> None:
        with pytest.raises(UnusableFile, match="has no prices"):
            await loads.run(csv_file(tmp_path / "prices.csv"))

    with_loads(tmp_path, test)


# As after a kill: the record is behind what was written, and the clock has gone on.
@pytest.mark.slow
def test_an_interrupted_load_goes_on(tmp_path: Path) -> None:
    prices = [f"{row}," for row in priced(60, 50)]
    later = "00001,P0001,1.00,2035-01-01T00:00:00Z"
    path = csv_file(tmp_path / "prices.csv", *prices, later, columns="store,product,amount,effectiveAt")

    async def test(loads: Loads) -> None:
        loads.changes.fails = True
        with pytest.raises(sk.services.Conflict):
            await loads.run(path, 2)
        record = await loads.load(path).interrupted()
        assert record is not None
        record.direct = [512, 0]
        await loads.session.put(record)
        loads.changes.fails = False
        loaded = await loads.run(path, now=NOW + 60)
        assert (loaded.rows, loaded.written) == (3001, 3001 - 512)
        assert {since for _, since, _ in (await loads.rows()).values()} == {SINCE}
        assert len(await loads.rows()) == 3000
        assert len(loads.changes.made) == 1
        assert await loads.load(path).interrupted() is None

    with_loads(tmp_path, test)


@pytest.mark.slow
def test_another_file_does_not_continue_an_interrupted_load(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "prices.csv", "7,P1,1")

    async def test(loads: Loads) -> None:
        other = PriceLoadRecord(load="prices", file="o.csv", size=1, modified=1, since=SINCE, rows=9, direct=[4, 2])
        await loads.session.put(other)
        with pytest.raises(OtherLoad, match=r"6 of 9 rows of o\.csv are loaded"):
            await loads.run(path)
        await loads.load(path).forget()
        await loads.run(path)

    with_loads(tmp_path, test)


@pytest.mark.slow
def test_a_process_that_fails_ends_the_load(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "prices.csv", "7,P1,1")

    async def test(loads: Loads) -> None:
        load = loads.load(path)
        load._store = "http://127.0.0.1:1"
        with pytest.raises(LoadFailed, match="Could not connect"):
            await load.run(lambda _done, _total: None, lambda _done, _total: None)
        assert await loads.load(path).interrupted() is not None
        await loads.run(path)
        assert len(await loads.rows()) == 1

    with_loads(tmp_path, test)


# The instant of a local time depends on its store, so such a row is a change, also where there are no prices yet.
@pytest.mark.slow
def test_a_row_with_a_local_time_is_a_change_in_the_zone_of_its_store(tmp_path: Path) -> None:
    local = "2020-01-01T00:00:00"
    path = csv_file(tmp_path / "prices.csv", "7,P1,1,", f"7,P2,1,{local}", columns="store,product,amount,effectiveAt")

    async def test(loads: Loads) -> None:
        with pytest.raises(WrongRows) as wrong:
            await loads.run(path)
        ((line, mistake),) = wrong.value.report.mistakes
        assert (line, "PUT /pricing/stores/7" in mistake) == (3, True)
        assert (await loads.rows(), loads.changes.made) == ({}, [])
        await loads.session.put(StoreRow(store="7", time_zone="Europe/Berlin"))
        assert (await loads.run(path)).written == 2
        assert list(await loads.rows()) == [("7", "BASE", "P1")]
        assert [(each.product, each.effective_at) for each in loads.changes.made] == [("P2", local)]

    with_loads(tmp_path, test)


def test_parts_have_every_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_processes, "TURN", 7)
    file = price_file(csv_file(tmp_path / "prices.csv", *priced(10, 10)))
    check = RowCheck("EUR", SINCE)
    found = [
        (row.store, row.product)
        for number in range(3)
        for row in load_processes.direct_rows(file, check, load_processes.Part(number, 3))
    ]
    assert len(found) == len(set(found)) == 100


def test_a_file_that_was_changed_meanwhile(tmp_path: Path) -> None:
    file = price_file(csv_file(tmp_path / "prices.csv", "7,P1,1", "7,P2,x"))
    check = RowCheck("EUR", SINCE)
    with pytest.raises(UnusableFile, match="line 3 is wrong now"):
        list(load_processes.direct_rows(file, check, load_processes.Part(0, 1)))


def test_small_files_need_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert [process_count(rows) for rows in (0, 10, 99_999, 100_000, 10_000_000)] == [1, 1, 1, 2, 2]


# Each process opens the folder by itself, and all of them must read it in one order.
@pytest.mark.slow
def test_a_folder_is_loaded_by_several_processes(tmp_path: Path) -> None:
    rows = [*priced(60, 50)]
    folder = tmp_path / "prices"
    for number in range(4):
        (folder / f"part={number}").mkdir(parents=True)
        csv_file(folder / f"part={number}" / "a.csv", *rows[number::4])

    async def test(loads: Loads) -> None:
        assert (await loads.run(folder, processes=3)).rows == 3000
        assert len(await loads.rows()) == 3000

    with_loads(tmp_path, test)


def test_a_folder_is_another_when_a_file_of_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "prices"
    folder.mkdir()
    csv_file(folder / "a.csv", "7,P1,1")
    first = FileIdentity.of(folder)
    assert first == FileIdentity.of(folder)
    assert (first.name, first.size) == ("prices", (folder / "a.csv").stat().st_size)
    (folder / "_SUCCESS").touch()
    assert FileIdentity.of(folder) == first
    os.utime(folder / "a.csv", ns=(1, 1))
    touched = FileIdentity.of(folder)
    assert touched != first
    csv_file(folder / "b.csv", "7,P2,1")
    assert FileIdentity.of(folder) != touched
