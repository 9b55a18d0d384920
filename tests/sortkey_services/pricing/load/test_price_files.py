"""CSV, JSON lines and Parquet give the same rows; what cannot be read is named by its line."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from sortkey_services.pricing.load import price_files
from sortkey_services.pricing.load.price_files import RowMistake, UnusableFile, price_file

ALL = "store,product,channel,kind,action,amount,currency,effectiveAt"
AT = datetime(2026, 8, 24, 10, tzinfo=UTC)


def read(path: Path, format_name: str | None = None) -> list[Any]:
    return list(price_file(path, format_name).read(lambda _done, _total: None))


def csv(folder: Path, text: str | bytes) -> Path:
    path = folder / "prices.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines(folder: Path, text: str | bytes) -> Path:
    path = folder / "prices.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(folder: Path, **columns: Any) -> Path:
    path = folder / "prices.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def test_all_columns_of_csv(tmp_path: Path) -> None:
    text = f"{ALL}\n7,P1,WEB,SWAP,SET,1.50,EUR,2026-08-24T10:00:00Z\n8,P1,,,DELETE,,,\n"
    assert read(csv(tmp_path, text)) == [
        (2, ("7", "P1", "WEB", "SWAP", "SET", "1.50", "EUR", "2026-08-24T10:00:00Z")),
        (3, ("8", "P1", None, None, "DELETE", None, None, None)),
    ]


def test_columns_of_csv_in_any_order_with_quotes_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = '\ufeffamount,product,store\n"1,50","a ""b""",7\n\n2.00,"two\nlines",8\n3.00,P3,9'
    assert read(csv(tmp_path, text)) == [
        (2, ("7", 'a "b"', None, None, None, "1,50", None, None)),
        # An empty line is skipped; a line that a cell continues on has no number of its own.
        (4, ("8", "two\nlines", None, None, None, "2.00", None, None)),
        (6, ("9", "P3", None, None, None, "3.00", None, None)),
    ]


def test_mistakes_of_csv(tmp_path: Path) -> None:
    assert read(csv(tmp_path, "store,product,amount\n7,P1\n8,P1,2.00,x\n9,P1,3.00\n")) == [
        RowMistake(2, "has 2 cells, but the first line names 3 columns"),
        RowMistake(3, "has 4 cells, but the first line names 3 columns"),
        (4, ("9", "P1", None, None, None, "3.00", None, None)),
    ]
    (_, end) = read(csv(tmp_path, 'store,product,amount\n7,P1,1.00\n8,"P1,1.00\n9,P1,1.00\n'))
    assert end.row == 3
    assert "nothing after it was read" in end.message


# The checks find the byte together with the line that has it.
def test_bytes_that_are_not_utf_8_stay_recognisable(tmp_path: Path) -> None:
    ((_, row),) = read(csv(tmp_path, b"store,product\n7,P\xff\n"))
    assert row[1] == "P\udcff"
    with pytest.raises(UnicodeEncodeError):
        row[1].encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; its first line names the columns: store, product, channel"),
        ("store,produkt\n", "there is no column 'produkt'; the columns are store, product"),
        ("store,amount\n", "the column 'product' is missing"),
        ("store,product,AMOUNT,amount\n", "the columns 'amount' and 'AMOUNT' differ only in case"),
        ("store,product,effectiveAt,effectiveat\n", "the columns 'effectiveAt' and 'effectiveat' differ only in case"),
        ("store,product,AMOUNT\n", "there is no column 'AMOUNT'"),
        ("store,product,store\n", "the column 'store' is there twice"),
        ('"store\n', "the first line is not CSV"),
    ],
)
def test_csv_that_has_no_prices(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UnusableFile, match=message):
        read(csv(tmp_path, text))


def test_json_lines(tmp_path: Path) -> None:
    text = (
        '{"store": "7", "product": "P1", "amount": 1.10, "kind": "SWAP", "channel": "WEB", "action": "SET"}\n\n'
        '{"store": "8", "product": "P1", "amount": "2.50", "currency": "EUR", "effectiveAt": "2026-08-24T10:00:00Z"}'
    )
    assert read(lines(tmp_path, text)) == [
        (1, ("7", "P1", "WEB", "SWAP", "SET", "1.10", None, None)),
        (3, ("8", "P1", None, None, None, "2.50", "EUR", "2026-08-24T10:00:00Z")),
    ]


def test_members_that_differ_only_in_case(tmp_path: Path) -> None:
    text = '{"AMOUNT": 2, "store": "7", "product": "P1", "amount": 1}\n{"AMOUNT": 2, "store": "7", "product": "P1"}\n'
    both, unknown = read(lines(tmp_path, text))
    assert both == RowMistake(1, "the members 'amount' and 'AMOUNT' differ only in case; remove one")
    assert "unknown field `AMOUNT`" in unknown.message


def test_json_lines_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert read(lines(tmp_path, '\ufeff{"store": "7", "product": "P1"}\n')) == [
        (1, ("7", "P1", None, None, None, None, None, None))
    ]


# A signalling NaN cannot even be looked up, and the digits of 1e999999999 would fill the memory.
def test_strange_numbers_of_json_lines_are_left_to_the_checks(tmp_path: Path) -> None:
    amounts = ("1e2", "1E-2", "1e999999999", '"sNaN"', '"Infinity"', "-0")
    path = lines(tmp_path, "\n".join(f'{{"store": "7", "product": "P1", "amount": {each}}}' for each in amounts))
    assert [row[5] for _, row in read(path)] == ["100", "0.01", "1E+999999999", "sNaN", "Infinity", "0"]


def test_mistakes_of_json_lines(tmp_path: Path) -> None:
    texts = (
        '{"store": 7, "product": "P1"}',
        '{"store": "7"}',
        '{"store": "7", "product": "P1", "price": 1}',
        "{",
        '{"store": "7", "product": "P\xff"}',
        "[]",
    )
    found = read(lines(tmp_path, "\n".join(texts).encode("latin-1")))
    assert [each.row for each in found] == [1, 2, 3, 4, 5, 6]
    messages = [each.message for each in found]
    assert messages[0] == "Expected `str`, got `int` - at `$.store`"
    assert "missing required field `product`" in messages[1]
    assert "unknown field `price`" in messages[2]
    assert messages[3].startswith("is not JSON: ")
    assert messages[4].startswith("is not JSON: ")
    assert "Expected `object`" in messages[5]


def test_parquet(tmp_path: Path) -> None:
    path = parquet(
        tmp_path,
        store=pyarrow.array(["7", "8"]).dictionary_encode(),
        product=["P1", "P2"],
        amount=pyarrow.array([Decimal("1.50"), None], pyarrow.decimal128(10, 2)),
        effectiveAt=pyarrow.array([AT, None], pyarrow.timestamp("us")),
    )
    assert read(path) == [
        (1, ("7", "P1", None, None, None, Decimal("1.50"), None, AT)),
        (2, ("8", "P2", None, None, None, None, None, None)),
    ]


@pytest.mark.parametrize("amount", [[1, 2], [1.5, 2.25], ["1.50", "2.25"]])
def test_amounts_of_parquet_may_have_any_type_of_number(tmp_path: Path, amount: list[Any]) -> None:
    assert [row[5] for _, row in read(parquet(tmp_path, store=["7", "8"], product=["P", "P"], amount=amount))] == amount


def test_a_timestamp_with_a_zone(tmp_path: Path) -> None:
    at = pyarrow.array([AT], pyarrow.timestamp("ms", tz="Europe/Berlin"))
    ((_, row),) = read(parquet(tmp_path, store=["7"], product=["P"], effectiveAt=at))
    assert row[7] == AT


# What pandas writes by default.
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_timestamp_of_nanoseconds(tmp_path: Path, zone: str | None) -> None:
    at = pyarrow.array([1_787_565_600_123_456_789], pyarrow.timestamp("ns", tz=zone))
    ((_, row),) = read(parquet(tmp_path, store=["7"], product=["P"], effectiveAt=at))
    assert row[7] == datetime(2026, 8, 24, 10, 0, 0, 123_456, tzinfo=UTC)


def test_a_timestamp_beyond_all_datetimes(tmp_path: Path) -> None:
    at = pyarrow.array([10**15], pyarrow.timestamp("s"))
    with pytest.raises(UnusableFile, match="cannot be read as Parquet"):
        read(parquet(tmp_path, store=["7"], product=["P"], effectiveAt=at))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"store": ["7"]}, "the column 'product' is missing"),
        ({"store": ["7"], "product": ["P"], "price": [1]}, "there is no column 'price'"),
        ({"Store": ["7"], "store": ["8"], "product": ["P"]}, "the columns 'store' and 'Store' differ only in case"),
        ({"store": [7], "product": ["P"]}, "the column 'store' is int64; it must be text"),
        ({"store": ["7"], "product": ["P"], "amount": [True]}, "the column 'amount' is bool; it must be decimal, int"),
        ({"store": ["7"], "product": ["P"], "effectiveAt": [1]}, "'effectiveAt' is int64; it must be timestamp or"),
    ],
)
def test_parquet_that_has_no_prices(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(UnusableFile, match=message):
        read(parquet(tmp_path, **columns))


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(UnusableFile, match=r"prices\.csv cannot be read as Parquet: "):
        read(csv(tmp_path, "store,product\n"), "parquet")


def test_the_format_is_told_by_the_suffix_or_given(tmp_path: Path) -> None:
    for name, kind in (
        ("a.CSV", price_files.CsvFile),
        ("a.jsonl", price_files.JsonLinesFile),
        ("a.ndjson", price_files.JsonLinesFile),
        ("a.parquet", price_files.ParquetFile),
    ):
        (tmp_path / name).touch()
        assert type(price_file(tmp_path / name)) is kind
    (tmp_path / "a.txt").touch()
    assert type(price_file(tmp_path / "a.txt", "csv")) is price_files.CsvFile
    with pytest.raises(UnusableFile, match=r"a\.txt: the format is not known by its suffix; give --format csv\|jsonl"):
        price_file(tmp_path / "a.txt")
    with pytest.raises(UnusableFile, match="there is no file"):
        price_file(tmp_path / "b.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(UnusableFile, match=r"pipe\.csv is not a file"):
        price_file(tmp_path / "pipe.csv")


def test_the_progress_of_reading_ends_at_the_whole(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    path = parquet(tmp_path, store=["7"] * 20_000, product=["P"] * 20_000)
    assert sum(1 for _ in price_file(path).read(lambda done, total: shown.append((done, total)))) == 20_000
    assert shown == [(8192, 20_000), (16_384, 20_000), (20_000, 20_000)]


class TestAFolder:
    def folder(self, path: Path, **files: str) -> Path:
        for name, text in files.items():
            file = path / "prices" / name.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".csv").write_text(text)
        return path / "prices"

    # What a later file says wins over an earlier one, so the order must not be that of the disk.
    def test_its_files_are_one_in_the_order_of_their_paths(self, tmp_path: Path) -> None:
        head = "store,product\n"
        folder = self.folder(tmp_path, b__1=f"{head}7,P2\n", a=f"{head}7,P1\n\n7,P0\n", b__0="product,store\nP3,8\n")
        found = read(folder)
        assert [each[1][:2] for each in found if not isinstance(each, RowMistake)] == [
            ("7", "P1"),
            ("7", "P0"),
            ("8", "P3"),
            ("7", "P2"),
        ]
        file = price_file(folder)
        assert [file.place(each[0]) for each in found] == [
            f"{folder}/a.csv, line 2",
            f"{folder}/a.csv, line 4",
            f"{folder}/b/0.csv, line 2",
            f"{folder}/b/1.csv, line 2",
        ]
        assert [each[0] for each in found] == sorted(each[0] for each in found)

    def test_a_row_that_cannot_be_read(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, a="store,product\n", b="store,product\n7\n")
        (mistake,) = read(folder)
        assert isinstance(mistake, RowMistake)
        assert price_file(folder).place(mistake.row) == f"{folder}/b.csv, line 2"

    def test_the_columns_of_every_file_are_checked(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, a="store,product\n", b="store,price\n")
        with pytest.raises(UnusableFile, match=r"b\.csv: there is no column 'price'"):
            read(folder)

    def test_hidden_files_are_skipped(self, tmp_path: Path) -> None:
        rows = "store,product\n7,P1\n"
        folder = self.folder(tmp_path, a=rows, _temporary__b=rows, _c=rows)
        (folder / ".d.csv").write_text(rows)
        (folder / "_SUCCESS").touch()
        assert len(read(folder)) == 1

    def test_the_names_of_partitions_are_no_columns(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, **{"date=2026-01-01__a": "store,product\n7,P1\n"})
        assert len(read(folder)) == 1
        self.folder(tmp_path, **{"channel=APP__a": "store,product\n7,P1\n"})
        line = r"channel=APP/a\.csv: channel=APP is not read as a column; write channel into the files"
        with pytest.raises(UnusableFile, match=line):
            price_file(folder)

    def test_a_folder_in_it_that_cannot_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = self.folder(tmp_path, a="store,product\n7,P1\n", b__a="store,product\n7,P2\n")
        scan = os.scandir

        def scandir(path: str) -> Any:
            if path == str(folder / "b"):
                raise PermissionError(13, "Permission denied", path)
            return scan(path)

        monkeypatch.setattr(os, "scandir", scandir)
        with pytest.raises(PermissionError):
            price_file(folder)

    # A file that is left out silently is a price that is missing.
    def test_files_of_one_format(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, a="store,product\n7,P1\n")
        (folder / "b").write_text("store,product\n7,P2\n")
        with pytest.raises(UnusableFile, match=r"prices/b: the format is not known by its suffix; give --format csv"):
            price_file(folder)
        assert len(read(folder, "csv")) == 2
        with pytest.raises(UnusableFile, match=r"a\.csv is csv and .*b is jsonl; a folder has one format"):
            price_file(folder, "jsonl")
        (folder / "b").unlink()
        with pytest.raises(UnusableFile, match=r"a\.csv is csv by its suffix, not jsonl; leave --format out"):
            price_file(folder, "jsonl")
        (folder / "a.csv").unlink()
        with pytest.raises(UnusableFile, match=r"there is no file of prices in .*prices"):
            price_file(folder)

    def test_the_progress_of_reading_is_that_of_all_files(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            rows = [f'{{"store": "7", "product": "{number:04}"}}\n' for number in range(8192)]
            (tmp_path / f"{name}.jsonl").write_text("".join(rows))
        shown: list[tuple[int, int]] = []
        assert sum(1 for _ in price_file(tmp_path).read(lambda done, total: shown.append((done, total)))) == 16_384
        half = (tmp_path / "a.jsonl").stat().st_size
        assert shown == [(half * part // 2, 2 * half) for part in (1, 2, 3, 4)]
