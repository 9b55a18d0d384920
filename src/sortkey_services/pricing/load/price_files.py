"""Files of prices: CSV, JSON lines or Parquet, or a folder of them, opened by their format and read row by row, before
anything is checked.

The columns are the members of a change as `POST /pricing/changes` takes them. A reader gives a row as its number in the
file and one value for each column, None where the file has none; or as a `RowMistake`, if it cannot be read.
"""

from __future__ import annotations

import csv
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from io import TextIOWrapper
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from sortkey.object_storage import is_hidden

COLUMNS: Final = ("store", "product", "channel", "kind", "action", "amount", "currency", "effectiveAt")
REQUIRED: Final = ("store", "product")
_LOWER: Final = {name.lower(): name for name in COLUMNS}
_LINES_BETWEEN_REPORTS: Final = 4096
_ROWS_AT_A_TIME: Final = 8192
_ROW_BITS: Final = 40
"""Of a row's number in a folder. The bits above are the number of its file."""
_MOST_DIGITS: Final = 20
"""More than any amount has."""

Text = str | None
RawRow = tuple[Text, Text, Text, Text, Text, str | int | float | Decimal | None, Text, str | datetime | None]
"""One value for each of the columns."""


class UnusableFile(Exception):
    """The file cannot be loaded at all; the message names it and says why."""


class RowMistake(NamedTuple):
    """A row that cannot be loaded, and why."""

    row: int
    """Its line in a file of text, otherwise its number, from 1; `place` of its file tells it to a person."""
    message: str


Read = Iterator[tuple[int, RawRow] | RowMistake]
ShowRead = Callable[[int, int], None]
"""Called with how much of a file is read, and how much there is: bytes or rows."""


class PriceFile(Protocol):
    def place(self, row: int) -> str:
        """What the number of a row means to a person: `line 7`; of a folder, `PATH, line 7`."""
        ...

    def read(self, show: ShowRead) -> Read:
        """All rows, in order. Raises UnusableFile before the first one, if the file has no prices."""
        ...


class CsvFile:
    """UTF-8, the first line names the columns, an empty cell is no value."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def place(self, row: int) -> str:
        return f"line {row}"

    def read(self, show: ShowRead) -> Read:
        total = self._path.stat().st_size
        # A byte that is not UTF-8 becomes a surrogate, which the checks reject together with its line.
        with self._path.open("rb") as file:
            text = TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
            reader = csv.reader(text, strict=True)
            columns = self._columns(reader)
            width, ordered = len(columns), _in_order(columns)
            read = 0
            while True:
                before = reader.line_num
                try:
                    cells = next(reader, None)
                except csv.Error as error:
                    # What follows an open quotation mark cannot be told from it.
                    yield RowMistake(before + 1, f"is not CSV: {error}; nothing after it was read")
                    return
                if cells is None:
                    return
                read += 1
                if read % _LINES_BETWEEN_REPORTS == 0:
                    show(file.tell(), total)
                if len(cells) == width:
                    yield before + 1, ordered([cell or None for cell in cells])
                elif cells:
                    yield RowMistake(before + 1, f"has {len(cells)} cells, but the first line names {width} columns")

    def _columns(self, reader: Iterator[list[str]]) -> list[str]:
        try:
            columns = next(reader, None)
        except csv.Error as error:
            raise UnusableFile(f"{self._path}: the first line is not CSV: {error}") from error
        if not columns:
            raise UnusableFile(f"{self._path} is empty; its first line names the columns: {', '.join(COLUMNS)}")
        check_columns(columns, str(self._path))
        return columns


def _in_order(columns: list[str]) -> Callable[[list[str | None]], Any]:
    """From the cells of a line to a raw row."""
    places = [columns.index(name) if name in columns else len(columns) for name in COLUMNS]
    pick = itemgetter(*places)

    def ordered(cells: list[str | None]) -> Any:
        cells.append(None)
        return pick(cells)

    return ordered


class Line(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    store: str
    product: str
    channel: str | None = None
    kind: str | None = None
    action: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    effective_at: str | None = None


class JsonLinesFile:
    """One object a line, with the members of a change. Empty lines are skipped."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def place(self, row: int) -> str:
        return f"line {row}"

    def read(self, show: ShowRead) -> Read:
        total, done = self._path.stat().st_size, 0
        decode = msgspec.json.Decoder(Line).decode
        with self._path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                done += len(text)
                if number % _LINES_BETWEEN_REPORTS == 0:
                    show(done, total)
                if number == 1:
                    text = text.removeprefix(BOM_UTF8)
                if not text or text.isspace():
                    continue
                try:
                    line = decode(text)
                except msgspec.ValidationError as error:
                    yield RowMistake(number, _clash(text) or str(error))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    yield RowMistake(number, f"is not JSON: {error}")
                else:
                    yield number, _raw(line)


def _clash(text: bytes) -> str | None:
    """What is wrong with an object if two of its members differ only in case."""
    try:
        names = msgspec.json.decode(text, type=dict[str, msgspec.Raw]).keys()
    except msgspec.DecodeError:
        return None
    for name in sorted(names - set(COLUMNS)):
        meant = _LOWER.get(name.lower())
        if meant in names:
            return f"the members {meant!r} and {name!r} differ only in case; remove one"
    return None


def _raw(line: Line) -> RawRow:
    amount = None if line.amount is None else _plain(line.amount)
    return (
        line.store,
        line.product,
        line.channel,
        line.kind,
        line.action,
        amount,
        line.currency,
        line.effective_at,
    )


def _plain(amount: Decimal) -> str:
    """JSON may say 1e2. The digits of 1e999999999 would fill the memory."""
    text = str(amount)
    return f"{amount:f}" if "E" in text and abs(amount.adjusted()) < _MOST_DIGITS else text


class ParquetFile:
    """A column for each member of a change. A timestamp without a zone is UTC."""

    def __init__(self, path: Path) -> None:
        """Raises ModuleNotFoundError without pyarrow, which the extra `batch` installs."""
        self._path = path
        import_module("pyarrow.parquet")
        self._arrow: Any = import_module("pyarrow")

    def place(self, row: int) -> str:
        return f"row {row}"

    def read(self, show: ShowRead) -> Read:
        arrow = self._arrow
        try:
            with arrow.parquet.ParquetFile(self._path) as file:
                self._check(file.schema_arrow)
                total, number = file.metadata.num_rows, 1
                for batch in file.iter_batches(_ROWS_AT_A_TIME):
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


def check_columns(found: Iterable[str], file: str) -> None:
    """A mistyped column would be ignored silently."""
    names = list(found)
    allowed = ", ".join(COLUMNS)
    unknown = [name for name in names if name not in COLUMNS]
    for name in unknown:
        meant = _LOWER.get(name.lower())
        if meant in names:
            raise UnusableFile(f"{file}: the columns {meant!r} and {name!r} differ only in case; remove one")
    if unknown:
        raise UnusableFile(f"{file}: there is no column {unknown[0]!r}; the columns are {allowed}")
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise UnusableFile(f"{file}: the column {missing[0]!r} is missing; the columns are {allowed}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UnusableFile(f"{file}: the column {twice[0]!r} is there twice")


FORMATS: Final[Mapping[str, Callable[[Path], PriceFile]]] = {
    "csv": CsvFile,
    "jsonl": JsonLinesFile,
    "parquet": ParquetFile,
}
_GIVE_FORMAT: Final = f"give --format {'|'.join(FORMATS)}"
SUFFIXES: Final[Mapping[str, str]] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


class FolderFile:
    """All files of a folder and of the folders in it, in the order of their paths, as one."""

    def __init__(self, folder: Path, format_name: str | None) -> None:
        """Raises UnusableFile, as `folder_format` does."""
        self._paths = folder_paths(folder)
        files = {str(path): path.relative_to(folder).parts for path in self._paths}
        make = FORMATS[folder_format(str(folder), files, format_name)]
        self._files = [make(path) for path in self._paths]

    def place(self, row: int) -> str:
        number, in_file = divmod(row, 1 << _ROW_BITS)
        return f"{self._paths[number]}, {self._files[number].place(in_file)}"

    def read(self, show: ShowRead) -> Read:
        sizes = [path.stat().st_size for path in self._paths]
        total, before = sum(sizes), 0
        for number, (file, size) in enumerate(zip(self._files, sizes, strict=True)):
            first = number << _ROW_BITS

            def show_bytes(done: int, of: int, before: int = before, size: int = size) -> None:
                show(before + size * done // max(of, 1), total)

            for each in file.read(show_bytes):
                if isinstance(each, RowMistake):
                    yield RowMistake(first + each.row, each.message)
                else:
                    yield first + each[0], each[1]
            before += size


def folder_paths(folder: Path) -> list[Path]:
    """All files below, but for hidden ones, in the order of their paths. Raises OSError for a folder that cannot be
    read, whose files would be missing."""

    def fail(error: OSError) -> None:
        raise error

    found = [Path(parent, name) for parent, _, names in os.walk(folder, onerror=fail) for name in names]
    return sorted(path for path in found if path.is_file() and not is_hidden(path.relative_to(folder).parts))


def folder_format(folder: str, files: Mapping[str, Sequence[str]], format_name: str | None) -> str:
    """The one format of a folder's files, which are named with the parts of their paths within the folder. Raises
    UnusableFile for a file that would be left out, and for a column in a folder's name, which is in no row."""
    if not files:
        raise UnusableFile(f"there is no file of prices in {folder}")
    first: dict[str, str] = {}
    for file, (*folders, name) in files.items():
        for part in folders:
            column = _LOWER.get(part.partition("=")[0].lower()) if "=" in part else None
            if column is not None:
                raise UnusableFile(f"{file}: {part} is not read as a column; write {column} into the files")
        found = SUFFIXES.get(Path(name).suffix.lower()) or format_name
        if found is None:
            raise UnusableFile(f"{file}: the format is not known by its suffix; {_GIVE_FORMAT}")
        first.setdefault(found, file)
    one, *others = first.items()
    if others:
        raise UnusableFile(f"{one[1]} is {one[0]} and {others[0][1]} is {others[0][0]}; a folder has one format")
    if format_name is not None and one[0] != format_name:
        raise UnusableFile(f"{one[1]} is {one[0]} by its suffix, not {format_name}; leave --format out")
    return one[0]


def price_file(path: Path, format_name: str | None = None) -> PriceFile:
    """By the format, or else by the file's suffix. Raises UnusableFile; without pyarrow, ModuleNotFoundError."""
    if path.is_dir():
        return FolderFile(path, format_name)
    if not path.is_file():
        raise UnusableFile(f"there is no file {path}" if not path.exists() else f"{path} is not a file")
    name = format_name or SUFFIXES.get(path.suffix.lower())
    if name is None:
        raise UnusableFile(f"{path}: the format is not known by its suffix; {_GIVE_FORMAT}")
    return FORMATS[name](path)
