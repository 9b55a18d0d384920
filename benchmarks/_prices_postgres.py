"""The seed's relational design in a real PostgreSQL, for comparison: its schema, its indexes, its cron job.

A change that is due later waits in `price_changes`. The cron job moves what is due into `prices`, in one transaction:
the old price goes, the new one comes. Until then readers see the old price, whatever the time is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import psycopg

from tests.postgres.server import PostgresServer

PAGE: Final = 64
SETTINGS: Final = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "maintenance_work_mem": "256MB",
}
"""Durable as Sortkey's folder is, and with enough memory."""

SCHEMA: Final = """
CREATE TABLE prices (
    store_id VARCHAR(10),
    product_code VARCHAR(50),
    channel VARCHAR(20),
    price DECIMAL(10,2),
    effective_date TIMESTAMPTZ,
    PRIMARY KEY (store_id, product_code, channel, effective_date)
);
CREATE INDEX idx_product ON prices(product_code);
CREATE INDEX idx_store_date ON prices(store_id, effective_date);
CREATE TABLE price_changes (
    id BIGSERIAL PRIMARY KEY,
    store_id VARCHAR(10),
    product_code VARCHAR(50),
    channel VARCHAR(20),
    price DECIMAL(10,2),
    effective_date TIMESTAMPTZ
);
CREATE INDEX idx_changes_due ON price_changes(effective_date);
CREATE INDEX idx_changes_store ON price_changes(store_id, effective_date);
"""
BETTER_INDEX: Final = "CREATE INDEX idx_product_store ON prices(product_code, channel, store_id)"
"""Not the seed's: with it, a page by product needs no sort."""

BY_STORE: Final = """
SELECT store_id, product_code, price, effective_date FROM prices
WHERE store_id = %s AND channel = 'ALL' AND product_code > %s ORDER BY product_code LIMIT 64"""
BY_PRODUCT: Final = """
SELECT store_id, product_code, price, effective_date FROM prices
WHERE product_code = %s AND channel = 'ALL' AND store_id > %s ORDER BY store_id LIMIT 64"""
BY_PRODUCT_OFFSET: Final = """
SELECT store_id, product_code, price, effective_date FROM prices
WHERE product_code = %s AND channel = 'ALL' ORDER BY store_id LIMIT 64 OFFSET %s"""
ONE: Final = """
SELECT price, effective_date FROM prices
WHERE store_id = %s AND product_code = %s AND channel = 'ALL' ORDER BY effective_date DESC LIMIT 1"""
UPCOMING: Final = """
SELECT id, product_code, price, effective_date FROM price_changes
WHERE store_id = %s ORDER BY effective_date, id LIMIT 64"""

CRON: Final = (
    """
CREATE TEMPORARY TABLE due ON COMMIT DROP AS
SELECT * FROM price_changes WHERE effective_date <= %s FOR UPDATE SKIP LOCKED""",
    """
DELETE FROM prices USING due WHERE prices.store_id = due.store_id
AND prices.product_code = due.product_code AND prices.channel = due.channel""",
    """
INSERT INTO prices SELECT store_id, product_code, channel, price, effective_date FROM due
ON CONFLICT (store_id, product_code, channel, effective_date) DO UPDATE SET price = excluded.price""",
    "DELETE FROM price_changes USING due WHERE price_changes.id = due.id",
)

RELOAD: Final = (
    """
UPDATE prices SET price = file.price, effective_date = %s FROM file
WHERE prices.store_id = file.store_id AND prices.product_code = file.product_code AND prices.channel = 'ALL'
AND prices.price <> file.price""",
    """
INSERT INTO prices (store_id, product_code, channel, price, effective_date)
SELECT store_id, product_code, 'ALL', price, %s FROM file WHERE NOT EXISTS (
    SELECT FROM prices WHERE prices.store_id = file.store_id AND prices.product_code = file.product_code
    AND prices.channel = 'ALL')""",
)
"""Only what differs is written, as ours does. It keeps no history."""

Row = tuple[str, str, Decimal, datetime]


class PriceRow(NamedTuple):
    store: str
    product: str
    amount: str
    effective: datetime


@contextmanager
def running() -> Iterator[tuple[str, str]]:
    """A PostgreSQL of its own; the URLs of two empty databases."""
    # Not in the folder of benchmarks: PostgreSQL does not run as root, and another user may not enter that.
    with TemporaryDirectory(prefix="sortkey-postgres-") as folder:
        server = PostgresServer(Path(folder), SETTINGS)
        try:
            yield server.database(), server.database()
        finally:
            server.stop()


class PostgresPrices:
    """One connection. Statements are prepared when they are used often, as psycopg does."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._execute = self._connection.execute

    def close(self) -> None:
        self._connection.close()

    def create(self) -> None:
        self._execute(SCHEMA)

    def load(self, rows: Iterable[PriceRow]) -> None:
        copy = "COPY prices (store_id, product_code, channel, price, effective_date) FROM STDIN"
        self._copy(copy, rows)
        self._execute("VACUUM ANALYZE prices")

    def copy_file(self, path: Path, effective: datetime) -> int:
        """Load a CSV file of store, product and amount as fast as PostgreSQL can; returns the number of rows."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute("ALTER TABLE prices ALTER channel SET DEFAULT 'ALL'")
            cursor.execute(f"ALTER TABLE prices ALTER effective_date SET DEFAULT '{effective.isoformat()}'")
            columns = "COPY prices (store_id, product_code, price) FROM STDIN (FORMAT csv, HEADER)"
            with path.open("rb") as file, cursor.copy(columns) as copy:
                while piece := file.read(1 << 16):
                    copy.write(piece)
            loaded = cursor.rowcount
        self._execute("VACUUM ANALYZE prices")
        return loaded

    def reload_file(self, path: Path, effective: datetime) -> int:
        """Load such a file again, in one transaction; returns the number of prices that were changed or added."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(
                "CREATE TEMPORARY TABLE file (store_id VARCHAR(10), product_code VARCHAR(50), price DECIMAL(10,2))"
                " ON COMMIT DROP"
            )
            with path.open("rb") as file, cursor.copy("COPY file FROM STDIN (FORMAT csv, HEADER)") as copy:
                while piece := file.read(1 << 16):
                    copy.write(piece)
            cursor.execute("ANALYZE file")
            written = 0
            for statement in RELOAD:
                cursor.execute(statement, (effective,))
                written += cursor.rowcount
        return written

    def add_better_index(self) -> None:
        self._execute(BETTER_INDEX)
        self._execute("ANALYZE prices")

    def drop_better_index(self) -> None:
        self._execute("DROP INDEX idx_product_store")

    def schedule(self, rows: Iterable[PriceRow]) -> None:
        copy = "COPY price_changes (store_id, product_code, channel, price, effective_date) FROM STDIN"
        self._copy(copy, rows)
        self._execute("ANALYZE price_changes")

    def change(self, rows: Sequence[PriceRow]) -> None:
        """A bulk change at once, in one transaction."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE prices SET price = %s, effective_date = %s"
                " WHERE store_id = %s AND product_code = %s AND channel = 'ALL'",
                [(row.amount, row.effective, row.store, row.product) for row in rows],
            )

    def run_cron(self, now: datetime) -> int:
        """The cron job: all that is due, in one transaction; returns how many changes that were."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            for statement in CRON:
                cursor.execute(statement, (now,) if "%s" in statement else ())
            return cursor.rowcount

    def by_store(self, store: str, after: str = "") -> list[Any]:
        return self._execute(BY_STORE, (store, after)).fetchall()

    def by_product(self, product: str, after: str = "") -> list[Any]:
        return self._execute(BY_PRODUCT, (product, after)).fetchall()

    def by_product_offset(self, product: str, offset: int) -> list[Any]:
        return self._execute(BY_PRODUCT_OFFSET, (product, offset)).fetchall()

    def price(self, store: str, product: str) -> Any:
        return self._execute(ONE, (store, product)).fetchone()

    def upcoming(self, store: str) -> list[Any]:
        return self._execute(UPCOMING, (store,)).fetchall()

    def bytes_used(self) -> int:
        found = self._execute("SELECT pg_total_relation_size('prices')").fetchone()
        assert found is not None
        return int(found[0])

    def _copy(self, statement: str, rows: Iterable[PriceRow]) -> None:
        with self._connection.transaction(), self._connection.cursor().copy(statement) as copy:
            for row in rows:
                copy.write_row((row.store, row.product, "ALL", row.amount, row.effective))
