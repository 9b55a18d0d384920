"""Prices in Parquet: a column for each member of a change. A timestamp without a zone is UTC."""

from __future__ import annotations

from datetime import UTC
from importlib import import_module
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from sortkey_services.pricing.load.raw_rows import COLUMNS, Read, ShowRead, UnusableFile, check_columns

ROWS_AT_A_TIME: Final = 8192


class ParquetFile:
    row_name = "row"

    def __init__(self, path: Path) -> None:
        """Raises ModuleNotFoundError without pyarrow, which the extra `batch` installs."""
        self._path = path
        import_module("pyarrow.parquet")
        self._arrow: Any = import_module("pyarrow")

    def read(self, show: ShowRead) -> Read:
        arrow = self._arrow
        try:
            with arrow.parquet.ParquetFile(self._path) as file:
                self._check(file.schema_arrow)
                total, number = file.metadata.num_rows, 1
                for batch in file.iter_batches(ROWS_AT_A_TIME):
                    columns = {name: self._values(batch.column(name)) for name in batch.schema.names}
                    for row in zip(*(columns.get(name, repeat(None)) for name in COLUMNS), strict=False):
                        yield number, row
                        number += 1
                    show(number - 1, total)
        except (arrow.ArrowException, OSError, OverflowError, ValueError) as error:
            raise UnusableFile(f"{self._path} cannot be read as Parquet: {error}") from error

    def _values(self, column: Any) -> list[Any]:
        if not self._arrow.types.is_timestamp(column.type):
            values: list[Any] = column.to_pylist()
            return values
        # Python's datetimes have microseconds; pandas writes nanoseconds.
        zone = column.type.tz
        instants = column.cast(self._arrow.timestamp("us", zone), safe=False).to_pylist()
        return [value and value.replace(tzinfo=UTC) for value in instants] if zone is None else instants

    def _check(self, schema: Any) -> None:
        check_columns(schema.names, str(self._path))
        for name in schema.names:
            kind = schema.field(name).type
            if not _fits(name, self._arrow.types, kind):
                wanted = {"amount": "decimal, integer, float or text", "effectiveAt": "timestamp or text"}
                raise UnusableFile(
                    f"{self._path}: the column {name!r} is {kind}; it must be {wanted.get(name, 'text')}"
                )


def _fits(name: str, types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return True
    if name == "amount":
        return bool(types.is_decimal(kind) or types.is_integer(kind) or types.is_floating(kind))
    return name == "effectiveAt" and bool(types.is_timestamp(kind))
