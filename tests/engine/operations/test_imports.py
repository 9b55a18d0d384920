"""ImportTable, DescribeImport, ListImports."""

from __future__ import annotations

import gzip
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.janitor import imports
from sortkey.engine.operations.imports import zstd
from sortkey.engine.tables.core import Settings
from sortkey.values import ion
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, n, s
from tests.engine.vector_samples import vector, vector_index
from tests.values.test_ion import needs_ion

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"
TABLE = {
    "TableName": "orders",
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "number", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "number", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def db(clock: ManualClock, tmp_path: Path) -> Iterator[Database]:
    database = Database(None, clock, Settings(buckets=tmp_path))
    yield database
    assert check_database(database).problems == []
    database.close()


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    folder = tmp_path / "imports"
    (folder / "daily").mkdir(parents=True)
    return folder


def begin(call: Call, **more: Any) -> dict[str, Any]:
    asked = {
        "S3BucketSource": {"S3Bucket": "imports", "S3KeyPrefix": "daily/"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": TABLE,
    }
    description: dict[str, Any] = call("ImportTable", **asked | more)["ImportTableDescription"]
    return description


def imported(db: Database, call: Call, **more: Any) -> dict[str, Any]:
    begun = begin(call, **more)
    assert begun["ImportStatus"] == "IN_PROGRESS"
    db.janitor.sweep()
    description: dict[str, Any] = call("DescribeImport", ImportArn=begun["ImportArn"])["ImportTableDescription"]
    return description


def counts(description: dict[str, Any]) -> tuple[str, int, int, int]:
    return (
        description["ImportStatus"],
        description["ProcessedItemCount"],
        description["ImportedItemCount"],
        description["ErrorCount"],
    )


def lines(numbers: range) -> bytes:
    items = [{"Item": {"id": s("a"), "number": n(number), "text": s("ü")}} for number in numbers]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def numbers(call: Call) -> list[int]:
    return [int(item["number"]["N"]) for item in call("Scan", TableName="orders")["Items"]]


def zstd_compress(content: bytes) -> bytes:
    compressed: bytes = zstd().compress(content)
    return compressed


@pytest.mark.parametrize(
    ("compression", "compress"), [("NONE", bytes), ("GZIP", gzip.compress), ("ZSTD", zstd_compress)]
)
@pytest.mark.parametrize("chunk", [1, 7, 500])
def test_files_of_dynamodb_json(
    db: Database, call: Call, bucket: Path, monkeypatch: pytest.MonkeyPatch, compression: str, compress: Any, chunk: int
) -> None:
    monkeypatch.setattr(imports, "CHUNK_RECORDS", chunk)
    (bucket / "daily" / "one").write_bytes(compress(lines(range(10))))
    (bucket / "daily" / "two").write_bytes(compress(lines(range(10, 15))))
    (bucket / "other").write_bytes(compress(lines(range(50, 60))))
    description = imported(db, call, InputCompressionType=compression)
    assert counts(description) == ("COMPLETED", 15, 15, 0)
    assert description["ProcessedSizeBytes"] == len(lines(range(15)))
    assert numbers(call) == [*range(15)]
    assert call("DescribeTable", TableName="orders")["Table"]["ItemCount"] == 15


@needs_ion
def test_files_of_ion(db: Database, call: Call, bucket: Path, caplog: pytest.LogCaptureFixture) -> None:
    item = '$ion_1_0 {Item:{id:"a",number:6d2,authors:$dynamodb_SS::["x"],more:{\'a b\':[true,null.int,{{aGk=}}]}}}'
    (bucket / "daily" / "one").write_text(f"{item}\n\n$ion_1_0 {{Item:{{id:2026-01-01T}}}}\nword\n")
    assert counts(imported(db, call, InputFormat="ION")) == ("COMPLETED", 3, 1, 2)
    more = {"M": {"a b": {"L": [{"BOOL": True}, {"NULL": True}, {"B": "aGk="}]}}}
    expected = {"id": s("a"), "number": n(600), "authors": {"SS": ["x"]}, "more": more}
    assert call("Scan", TableName="orders")["Items"] == [expected]
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == [
        "DynamoDB has no timestamp",
        "not a line of {Item:{…}}",
    ]


def test_ion_needs_its_extra(call: Call, expect_error: ExpectError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amazon.ion.simpleion", None)
    ion.library.cache_clear()
    with expect_error("ValidationException") as caught:
        begin(call, InputFormat="ION")
    assert "pip install 'sortkey[ion]'" in caught.value.message


# Each import begins with a janitor that knows nothing, as after a kill.
def test_another_janitor_continues(db: Database, call: Call, bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "CHUNK_RECORDS", 3)
    (bucket / "daily" / "one").write_bytes(lines(range(10)))
    begin(call)
    for _ in range(2):
        next(imports.Imports()(db))
    db.janitor.sweep()
    assert numbers(call) == [*range(10)]


def test_csv(db: Database, call: Call, bucket: Path) -> None:
    (bucket / "daily" / "one").write_text('\ufeffid,number,text\na,1,"x, y"\nb,2,\n', encoding="utf-8")
    assert counts(imported(db, call, InputFormat="CSV")) == ("COMPLETED", 2, 2, 0)
    found = {item["id"]["S"]: item for item in call("Scan", TableName="orders")["Items"]}
    assert found == {
        "a": {"id": s("a"), "number": n(1), "text": s("x, y")},
        "b": {"id": s("b"), "number": n(2), "text": s("")},
    }


def test_csv_with_a_header_of_its_own(db: Database, call: Call, bucket: Path) -> None:
    (bucket / "daily" / "one").write_text("1;a\n2;a\n")
    options = {"Csv": {"Delimiter": ";", "HeaderList": ["number", "id"]}}
    assert counts(imported(db, call, InputFormat="CSV", InputFormatOptions=options)) == ("COMPLETED", 2, 2, 0)
    assert numbers(call) == [1, 2]


def test_bad_records_are_counted_logged_and_skipped(
    db: Database, call: Call, bucket: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [
        b"no json",
        b"[]",
        b'{"Other": {}}',
        b'{"Item": []}',
        b'{"Item": {"id": {"S": "a"}}}',
        b'{"Item": {"id": {"N": "1"}, "number": {"N": "1"}}}',
        b'{"Item": {"id": {"S": "a"}, "number": {"N": "x"}}}',
        b'{"Item": {"id": {"S": "a"}, "number": {"N": "1"}, "text": {"S": "%b"}}}' % (b"x" * 500_000),
    ]
    (bucket / "daily" / "one").write_bytes(lines(range(3)) + b"\n".join(bad) + b"\n\n" + lines(range(3, 5)))
    with caplog.at_level(logging.WARNING):
        assert counts(imported(db, call)) == ("COMPLETED", 13, 5, 8)
    assert numbers(call) == [*range(5)]
    assert "import into orders: daily/one, record 4: not a line of" in caplog.text
    assert caplog.text.count("import into orders") == 8


@pytest.mark.parametrize(
    ("compression", "damaged"),
    [
        ("GZIP", gzip.compress(lines(range(5)), mtime=0)[:-4]),
        ("GZIP", b"no gzip"),
        ("ZSTD", zstd_compress(lines(range(5)))[:-4]),
        ("ZSTD", b"no zstd"),
        ("NONE", b"x" * (5 << 20)),
    ],
)
def test_the_rest_of_a_damaged_file_is_skipped(
    db: Database, call: Call, bucket: Path, compression: str, damaged: bytes
) -> None:
    (bucket / "daily" / "one").write_bytes(damaged)
    good: Any = {"GZIP": gzip.compress, "ZSTD": zstd_compress}.get(compression, bytes)
    (bucket / "daily" / "two").write_bytes(good(lines(range(10, 12))))
    description = imported(db, call, InputCompressionType=compression)
    assert (description["ImportStatus"], description["ErrorCount"]) == ("COMPLETED", 1)
    assert numbers(call)[-2:] == [10, 11]


@pytest.mark.parametrize(
    ("source", "code"),
    [({"S3Bucket": "missing"}, "S3NoSuchBucket"), ({"S3Bucket": "imports", "S3KeyPrefix": "none"}, "S3NoSuchKey")],
)
@pytest.mark.usefixtures("bucket")
def test_what_is_not_there_fails_and_leaves_no_table(
    db: Database, call: Call, source: dict[str, str], code: str
) -> None:
    description = imported(db, call, S3BucketSource=source)
    assert (description["ImportStatus"], description["FailureCode"]) == ("FAILED", code)
    assert call("ListTables")["TableNames"] == []


# A prefix is compared with keys, and so leads nowhere.
@pytest.mark.parametrize("prefix", ["../", "/etc/passwd", "daily/../../"])
def test_no_prefix_leads_out_of_the_bucket(db: Database, call: Call, bucket: Path, prefix: str) -> None:
    (bucket.parent / "secret").write_bytes(lines(range(3)))
    description = imported(db, call, S3BucketSource={"S3Bucket": "imports", "S3KeyPrefix": prefix})
    assert description["FailureCode"] == "S3NoSuchKey"


def test_a_table_is_creating_until_it_is_imported(
    db: Database, call: Call, bucket: Path, expect_error: ExpectError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "CHUNK_RECORDS", 3)
    (bucket / "daily" / "one").write_bytes(lines(range(10)))
    begun = begin(call)
    next(imports.Imports()(db))
    assert call("DescribeTable", TableName="orders")["Table"]["TableStatus"] == "CREATING"
    with expect_error("ResourceNotFoundException"):
        call("Scan", TableName="orders")
    call("DeleteTable", TableName="orders")
    db.janitor.sweep()
    described = call("DescribeImport", ImportArn=begun["ImportArn"])["ImportTableDescription"]
    assert described["ImportStatus"] == "CANCELLED"


@pytest.mark.parametrize(
    "more",
    [
        {"InputFormatOptions": {"Csv": {"Delimiter": ","}}},
        {"TableCreationParameters": TABLE | {"KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}]}},
    ],
)
def test_what_cannot_be_imported(call: Call, expect_error: ExpectError, more: dict[str, Any]) -> None:
    with expect_error("ValidationException"):
        begin(call, **more)


def test_the_table_must_be_new(call: Call, expect_error: ExpectError) -> None:
    create(call, "orders", "id:S")
    with expect_error("ResourceInUseException", "Table already exists: orders"):
        begin(call)


def test_a_token_makes_one_import(call: Call, expect_error: ExpectError) -> None:
    first = begin(call, ClientToken="token")
    assert begin(call, ClientToken="token") == first
    with expect_error("ImportConflictException"):
        begin(call, ClientToken="token", InputFormat="CSV")


def test_imports_are_listed(
    db: Database, call: Call, bucket: Path, clock: ManualClock, expect_error: ExpectError
) -> None:
    (bucket / "daily" / "one").write_bytes(lines(range(3)))
    arns = []
    for name in ("one", "two", "orders"):
        arns.append(imported(db, call, TableCreationParameters=TABLE | {"TableName": name})["ImportArn"])
        clock.advance(1)
    page = call("ListImports", PageSize=2)
    assert [each["ImportArn"] for each in page["ImportSummaryList"]] == [arns[2], arns[1]]
    rest = call("ListImports", PageSize=2, NextToken=page["NextToken"])
    assert [each["ImportArn"] for each in rest["ImportSummaryList"]] == [arns[0]]
    assert "NextToken" not in rest
    assert len(call("ListImports", TableArn=ARN)["ImportSummaryList"]) == 1
    missing = f"{ARN}/import/01489602797149-73d8d5bc"
    with expect_error("ImportNotFoundException", f"Import not found: {missing}"):
        call("DescribeImport", ImportArn=missing)


def test_a_table_with_a_vector_index(db: Database, call: Call, bucket: Path) -> None:
    items = [{"id": s("a"), "number": n(1), "taste": vector(1.0, 0.0, 0.0)}, {"id": s("b"), "number": n(2)}]
    wrong = {"id": s("c"), "number": n(3), "taste": vector(1.0)}
    (bucket / "daily" / "a.json").write_bytes(
        b"".join(orjson.dumps({"Item": each}) + b"\n" for each in (*items, wrong))
    )
    done = imported(db, call, TableCreationParameters=TABLE | {"VectorIndexes": [vector_index()]})
    assert counts(done) == ("COMPLETED", 3, 2, 1)
    found = call(
        "SearchVectors", TableName="orders", IndexName="by_taste", SearchVector=vector(1.0, 0.1, 0.0)["L"], TopK=5
    )
    assert [each["Item"]["id"] for each in found["SearchResults"]] == [s("a")]
