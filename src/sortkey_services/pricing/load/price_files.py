"""Opens a file of prices by its format: CSV, JSON lines or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from sortkey_services.pricing.load.csv_file import CsvFile
from sortkey_services.pricing.load.json_lines_file import JsonLinesFile
from sortkey_services.pricing.load.parquet_file import ParquetFile
from sortkey_services.pricing.load.raw_rows import PriceFile, UnusableFile

FORMATS: Final[Mapping[str, Callable[[Path], PriceFile]]] = {
    "csv": CsvFile,
    "jsonl": JsonLinesFile,
    "parquet": ParquetFile,
}
SUFFIXES: Final[Mapping[str, str]] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def price_file(path: Path, format_name: str | None = None) -> PriceFile:
    """By the format, or else by the file's suffix. Raises UnusableFile; without pyarrow, ModuleNotFoundError."""
    if not path.is_file():
        raise UnusableFile(f"there is no file {path}" if not path.exists() else f"{path} is not a file")
    name = format_name or SUFFIXES.get(path.suffix.lower())
    if name is None:
        raise UnusableFile(f"{path}: the format is not known by its suffix; give --format {'|'.join(FORMATS)}")
    return FORMATS[name](path)
