"""The relational design that pricing is compared with does what it should, in a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks._prices_postgres import PAGE, PostgresPrices, PriceRow

NOW = datetime(2026, 8, 24, 12, tzinfo=UTC)
STORES = 70


@pytest.fixture
def prices(postgres_url: str) -> Iterator[PostgresPrices]:
    made = PostgresPrices(postgres_url)
    made.create()
    made.load(PriceRow(f"{store:05}", f"P{product}", "1.50", NOW) for store in range(STORES) for product in range(3))
    yield made
    made.close()


def test_pages_by_store_and_by_product(prices: PostgresPrices) -> None:
    assert [row[1] for row in prices.by_store("00003")] == ["P0", "P1", "P2"]
    assert [row[1] for row in prices.by_store("00003", "P1")] == ["P2"]
    first = prices.by_product("P1")
    assert len(first) == PAGE
    rest = prices.by_product("P1", first[-1][0])
    assert rest == prices.by_product_offset("P1", PAGE)
    assert len(first) + len(rest) == STORES
    assert prices.price("00003", "P1") == (Decimal("1.50"), NOW)
    prices.add_better_index()
    assert prices.by_product("P1") == first


# A price is only right after the cron job has run.
def test_a_change_counts_when_the_cron_job_has_run(prices: PostgresPrices) -> None:
    due = NOW + timedelta(hours=1)
    prices.schedule([PriceRow("00003", "P1", "2.00", due), PriceRow("00003", "P2", "2.50", due)])
    assert [row[1] for row in prices.upcoming("00003")] == ["P1", "P2"]
    assert prices.run_cron(due - timedelta(seconds=1)) == 0
    assert prices.price("00003", "P1") == (Decimal("1.50"), NOW)
    assert prices.run_cron(due) == 2
    assert prices.price("00003", "P1") == (Decimal("2.00"), due)
    assert prices.upcoming("00003") == []
    assert [row[1] for row in prices.by_store("00003")] == ["P0", "P1", "P2"]


def test_a_bulk_change_and_a_file(prices: PostgresPrices, tmp_path: Path) -> None:
    prices.change([PriceRow(f"{store:05}", "P1", "9.99", NOW) for store in range(STORES)])
    assert {row[2] for row in prices.by_product("P1")} == {Decimal("9.99")}
    file = tmp_path / "prices.csv"
    file.write_text("store,product,amount\n90001,P1,3.25\n90002,P1,4.00\n")
    assert prices.copy_file(file, NOW) == 2
    assert prices.price("90001", "P1") == (Decimal("3.25"), NOW)
    assert prices.bytes_used() > 0
    file.write_text("store,product,amount\n90001,P1,3.25\n90002,P1,5.00\n90003,P1,6.00\n")
    later = NOW + timedelta(days=1)
    assert prices.reload_file(file, later) == 2
    assert prices.price("90001", "P1") == (Decimal("3.25"), NOW)
    assert prices.price("90002", "P1") == (Decimal("5.00"), later)
    assert prices.price("90003", "P1") == (Decimal("6.00"), later)
