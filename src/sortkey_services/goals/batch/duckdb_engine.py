"""The job on DuckDB, in the process. What does not fit into its memory goes to a temporary folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Final

import duckdb

from sortkey_services.goals.batch.batch_run import BatchRejected
from sortkey_services.goals.batch.engine import GoldFile, Row

MEMORY: Final = "1GB"
ROWS: Final = 4_096
"""Rows that are taken at a time."""
_PATTERN: Final = frozenset("*?[")


def start(_: str | None = None) -> DuckDBEngine:
    return DuckDBEngine()


class DuckDBEngine:
    def __init__(self, memory: str = MEMORY) -> None:
        self._folder = TemporaryDirectory(prefix="sortkey-batch-")
        self._connection = duckdb.connect()
        self._run(f"SET memory_limit = '{memory}'")
        self._run(f"SET temp_directory = {_quoted(self._folder.name)}")
        self._run("SET TimeZone = 'UTC'")
        # Spark has them built in.
        self._run("CREATE MACRO unix_micros(instant) AS epoch_us(instant)")
        self._run("CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern)")

    def read(self, view: str, files: Sequence[GoldFile], instants: Sequence[str]) -> None:
        names = ", ".join(_quoted(literal_path(str(path))) for path in files)
        # What has no zone is in that of the session.
        casts = ", ".join(f"CAST({name} AS TIMESTAMPTZ) AS {name}" for name in instants)
        columns = f"* REPLACE ({casts})" if casts else "*"
        self.view(view, f"SELECT {columns} FROM read_parquet([{names}], hive_partitioning = false)")

    def table(self, view: str, columns: Mapping[str, str], rows: Sequence[Row]) -> None:
        self._run(f"CREATE OR REPLACE TABLE {view} ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
        if rows:
            places = ", ".join("?" for _ in columns)
            self._connection.executemany(f"INSERT INTO {view} VALUES ({places})", rows)

    def view(self, name: str, sql: str) -> None:
        self._run(f"CREATE OR REPLACE VIEW {name} AS {sql}")

    def ask(self, sql: str) -> list[Row]:
        try:
            return self._connection.sql(sql).fetchall()
        except duckdb.Error as error:
            raise _rejected(error) from None

    def rows(self, sql: str, by: Sequence[str]) -> Iterator[list[Row]]:
        try:
            reader = self._connection.sql(f"{sql} ORDER BY {', '.join(by)}").to_arrow_reader(ROWS)
            for batch in reader:
                yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        except duckdb.Error as error:
            raise _rejected(error) from None

    def close(self) -> None:
        self._connection.close()
        self._folder.cleanup()

    def _run(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except duckdb.Error as error:
            raise _rejected(error) from None


def literal_path(path: str) -> str:
    """A path as the pattern that matches this path alone: DuckDB takes every name of a file as a pattern."""
    if not _PATTERN.intersection(path):
        return path
    if "\\" in path:
        raise BatchRejected(f"{path}: DuckDB cannot read a path with a backslash and one of * ? [")
    return "".join(f"[{letter}]" if letter in _PATTERN else letter for letter in path)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _rejected(error: duckdb.Error) -> BatchRejected:
    return BatchRejected(f"DuckDB cannot run the job: {str(error).strip().splitlines()[0]}")
