"""ExportTableToPointInTime, DescribeExport, ListExports."""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.janitor import exports
from sortkey.engine.tables.core import Settings
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, n, s

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"


@pytest.fixture
def db(clock: ManualClock, tmp_path: Path) -> Iterator[Database]:
    database = Database(None, clock, Settings(buckets=tmp_path))
    yield database
    database.close()


@pytest.fixture(autouse=True)
def orders(call: Call, clock: ManualClock) -> None:
    create(call, "orders", "id:S")
    wanted = {"PointInTimeRecoveryEnabled": True}
    call("UpdateContinuousBackups", TableName="orders", PointInTimeRecoverySpecification=wanted)
    clock.advance(1)


def put(call: Call, key: str, number: int) -> None:
    call("PutItem", TableName="orders", Item={"id": s(key), "number": n(number)})


def export(db: Database, call: Call, **more: Any) -> dict[str, Any]:
    asked = {"TableArn": ARN, "S3Bucket": "exports"} | more
    begun = call("ExportTableToPointInTime", **asked)["ExportDescription"]
    assert begun["ExportStatus"] == "IN_PROGRESS"
    db.janitor.sweep()
    described: dict[str, Any] = call("DescribeExport", ExportArn=begun["ExportArn"])["ExportDescription"]
    return described


def lines_of(folder: Path, description: dict[str, Any]) -> list[Any]:
    """The lines of an export's data files, found by its manifests as AWS's readers do. All checksums must be right."""
    bucket = folder / "exports"
    summary = json.loads(checked(bucket / description["ExportManifest"]))
    files = [json.loads(line) for line in checked(bucket / summary["manifestFilesS3Key"]).splitlines()]
    found = []
    for file in files:
        content = (bucket / file["dataFileS3Key"]).read_bytes()
        assert b64encode(hashlib.md5(content).digest()).decode() == file["md5Checksum"]
        lines = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        assert len(lines) == file["itemCount"]
        found += lines
    assert len(found) == summary["itemCount"] == description["ItemCount"]
    return found


def checked(path: Path) -> bytes:
    content = path.read_bytes()
    assert path.with_suffix(".md5").read_bytes() == b64encode(hashlib.md5(content).digest())
    return content


def test_a_full_export(db: Database, call: Call, clock: ManualClock, tmp_path: Path) -> None:
    for number in range(10):
        put(call, f"o{number}", number)
    described = export(db, call, S3Prefix="daily/")
    identity = described["ExportArn"].partition("/export/")[2]
    assert described | {"ExportArn": "", "TableId": ""} == {
        "ExportArn": "",
        "ExportStatus": "COMPLETED",
        "StartTime": clock.now(),
        "EndTime": clock.now(),
        "ExportManifest": f"daily/AWSDynamoDB/{identity}/manifest-summary.json",
        "TableArn": ARN,
        "TableId": "",
        "ExportTime": clock.now(),
        "S3Bucket": "exports",
        "S3Prefix": "daily/",
        "S3SseAlgorithm": "AES256",
        "ExportFormat": "DYNAMODB_JSON",
        "ExportType": "FULL_EXPORT",
        "BilledSizeBytes": call("DescribeTable", TableName="orders")["Table"]["TableSizeBytes"],
        "ItemCount": 10,
    }
    found = lines_of(tmp_path, described)
    assert sorted(line["Item"]["id"]["S"] for line in found) == [f"o{number}" for number in range(10)]
    assert (tmp_path / "exports/daily/AWSDynamoDB" / identity / "_started").read_bytes() == b""


# Also in several files, with changes in between.
def test_an_export_of_a_time(
    db: Database, call: Call, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "FILE_BYTES", 100)
    for number in range(10):
        put(call, f"o{number}", number)
    then = clock.now()
    clock.advance(10)
    put(call, "o3", 33)
    begun = call("ExportTableToPointInTime", TableArn=ARN, S3Bucket="exports", ExportTime=then)["ExportDescription"]
    writing = exports.write_exports(db)
    next(writing)
    for number in range(5):
        put(call, f"o{number}", 99)
    call("DeleteItem", TableName="orders", Key={"id": s("o9")})
    db.janitor.sweep()
    described = call("DescribeExport", ExportArn=begun["ExportArn"])["ExportDescription"]
    assert sorted(line["Item"]["number"]["N"] for line in lines_of(tmp_path, described)) == [*map(str, range(10))]
    assert len(list(tmp_path.rglob("*.json.gz"))) > 3


def incremental(since: float, **more: Any) -> dict[str, Any]:
    return {
        "ExportType": "INCREMENTAL_EXPORT",
        "IncrementalExportSpecification": {"ExportFromTime": since, **more},
    }


def test_an_incremental_export(db: Database, call: Call, clock: ManualClock, tmp_path: Path) -> None:
    for key in ("changed", "deleted", "kept", "later"):
        put(call, key, 1)
    clock.advance(100)
    since = clock.now()
    put(call, "changed", 2)
    call("DeleteItem", TableName="orders", Key={"id": s("deleted")})
    put(call, "passing", 1)
    clock.advance(950)
    put(call, "changed", 3)
    call("DeleteItem", TableName="orders", Key={"id": s("passing")})
    put(call, "new", 1)
    last = clock.now()
    clock.advance(50)
    until = clock.now()
    put(call, "later", 2)
    put(call, "changed", 4)
    described = export(db, call, **incremental(since, ExportToTime=until))
    found = {line["Keys"]["id"]["S"]: line for line in lines_of(tmp_path, described)}
    assert found == {
        "changed": change("changed", 1, 3, last),
        "deleted": change("deleted", 1, None, since),
        "new": change("new", None, 1, last),
    }
    data = [path.relative_to(tmp_path / "exports").parent.as_posix() for path in tmp_path.rglob("*.json.gz")]
    assert data == ["AWSDynamoDB/data"]
    summary = json.loads((tmp_path / "exports" / described["ExportManifest"]).read_bytes())
    assert summary["outputView"] == "NEW_AND_OLD_IMAGES"
    assert summary["exportType"] == "INCREMENTAL_EXPORT"


def change(key: str, old: int | None, new: int | None, at: float) -> dict[str, Any]:
    images = {"OldImage": old, "NewImage": new}
    return {
        "Metadata": {"WriteTimestampMicros": {"N": str(int(at * 1_000_000))}},
        "Keys": {"id": s(key)},
    } | {name: {"id": s(key), "number": n(number)} for name, number in images.items() if number is not None}


def test_new_images_only(db: Database, call: Call, clock: ManualClock, tmp_path: Path) -> None:
    put(call, "one", 1)
    clock.advance(1)
    since = clock.now()
    clock.advance(1000)
    put(call, "one", 2)
    clock.advance(1)
    described = export(db, call, **incremental(since, ExportViewType="NEW_IMAGE"))
    (line,) = lines_of(tmp_path, described)
    assert line.keys() == {"Metadata", "Keys", "NewImage"}


def ion_lines(folder: Path) -> list[str]:
    (file,) = folder.rglob("*.ion.gz")
    return sorted(gzip.decompress(file.read_bytes()).decode().splitlines())


# The shapes are those of the examples in AWS's guide.
def test_an_export_as_ion(db: Database, call: Call, tmp_path: Path) -> None:
    put(call, "one", 600)
    call("PutItem", TableName="orders", Item={"id": s("two"), "authors": {"SS": ["a", "b"]}, "a b": {"NULL": True}})
    described = export(db, call, ExportFormat="ION")
    assert described["ExportFormat"] == "ION"
    assert ion_lines(tmp_path) == [
        '$ion_1_0 {Item:{id:"one",number:600.}}',
        """$ion_1_0 {Item:{id:"two",authors:$dynamodb_SS::["a","b"],'a b':null}}""",
    ]
    summary = json.loads((tmp_path / "exports" / described["ExportManifest"]).read_bytes())
    assert summary["outputFormat"] == "ION"


def test_an_incremental_export_as_ion(db: Database, call: Call, clock: ManualClock, tmp_path: Path) -> None:
    put(call, "one", 1)
    clock.advance(1)
    since = clock.now()
    clock.advance(1000)
    put(call, "one", 2)
    at = int(clock.now() * 1_000_000)
    clock.advance(1)
    export(db, call, ExportFormat="ION", **incremental(since))
    assert ion_lines(tmp_path) == [
        f'$ion_1_0 {{Record:{{Keys:{{id:"one"}},Metadata:{{WriteTimestampMicros:{at}.}},'
        'OldImage:{id:"one",number:1.},NewImage:{id:"one",number:2.}}}'
    ]


def selecting(**specification: Any) -> dict[str, Any]:
    return {"FilterSpecification": specification}


def test_a_filter_selects_items_and_a_projection_attributes(db: Database, call: Call, tmp_path: Path) -> None:
    for number in range(10):
        put(call, f"o{number}", number)
    asked = {
        "FilterExpression": "#n > :n AND begins_with(id, :o)",
        "ProjectionExpression": "id",
        "ExpressionAttributeNames": {"#n": "number"},
        "ExpressionAttributeValues": {":n": n(7), ":o": s("o")},
    }
    described = export(db, call, **selecting(**asked))
    assert sorted(line["Item"]["id"]["S"] for line in lines_of(tmp_path, described)) == ["o8", "o9"]
    assert described["FilterSpecification"] == asked
    # What a filter leaves out is read all the same, and billed.
    assert described["BilledSizeBytes"] == call("DescribeTable", TableName="orders")["Table"]["TableSizeBytes"]


@pytest.mark.parametrize("condition", ["id = :id AND line BETWEEN :a AND :b", "id = :id AND line < :b", "id = :id"])
def test_a_key_condition_reads_one_partition(db: Database, call: Call, tmp_path: Path, condition: str) -> None:
    create(call, "lines", "id:S", "line:N")
    wanted = {"PointInTimeRecoveryEnabled": True}
    call("UpdateContinuousBackups", TableName="lines", PointInTimeRecoverySpecification=wanted)
    for order in range(20):
        for item in range(5):
            call("PutItem", TableName="lines", Item={"id": s(f"o{order}"), "line": n(item), "kept": n(item % 2)})
    values = {name: value for name, value in ((":id", s("o7")), (":a", n(1)), (":b", n(3))) if name in condition}
    query: dict[str, Any] = {"KeyConditionExpression": condition, "FilterExpression": "kept = :one"}
    query["ExpressionAttributeValues"] = values | {":one": n(1)}
    described = export(db, call, TableArn=ARN.replace("orders", "lines"), **selecting(**query))
    expected = call("Query", TableName="lines", **query)
    assert [line["Item"] for line in lines_of(tmp_path, described)] == expected["Items"]
    item_bytes = call("DescribeTable", TableName="lines")["Table"]["TableSizeBytes"] / 100
    assert described["BilledSizeBytes"] <= (expected["ScannedCount"] + 1) * item_bytes


def test_a_filter_in_several_files(db: Database, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "READ_BYTES", 40)
    for number in range(30):
        put(call, f"o{number}", number)
    asked = {"FilterExpression": "contains(id, :seven)", "ExpressionAttributeValues": {":seven": s("7")}}
    found = lines_of(tmp_path, export(db, call, **selecting(**asked)))
    assert sorted(line["Item"]["id"]["S"] for line in found) == ["o17", "o27", "o7"]


# AWS judges an item by its latest image, and a deleted one by its old image.
def test_a_filter_of_an_incremental_export(db: Database, call: Call, clock: ManualClock, tmp_path: Path) -> None:
    for key, number in (("rises", 1), ("falls", 9), ("goes", 9), ("small", 1)):
        put(call, key, number)
    clock.advance(1)
    since = clock.now()
    clock.advance(1000)
    put(call, "rises", 8)
    put(call, "falls", 2)
    put(call, "small", 3)
    call("DeleteItem", TableName="orders", Key={"id": s("goes")})
    clock.advance(1)
    asked = {
        "FilterExpression": "#n > :n",
        "ProjectionExpression": "#n",
        "ExpressionAttributeNames": {"#n": "number"},
        "ExpressionAttributeValues": {":n": n(5)},
    }
    found = lines_of(tmp_path, export(db, call, **incremental(since), **selecting(**asked)))
    assert {line["Keys"]["id"]["S"]: (line.get("OldImage"), line.get("NewImage")) for line in found} == {
        "rises": ({"number": n(1)}, {"number": n(8)}),
        "goes": ({"number": n(9)}, None),
    }


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"FilterExpression": "a >"}, "Invalid FilterExpression: Syntax error; "),
        ({"ProjectionExpression": "#a"}, "Invalid ProjectionExpression: "),
        ({"KeyConditionExpression": "id > :v", "ExpressionAttributeValues": {":v": s("a")}}, "Query key condition"),
        ({"ExpressionAttributeNames": {"#a": "a"}}, "ExpressionAttributeNames can only be specified when using exp"),
        (
            {"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": s("a"), ":w": s("a")}},
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
        ),
        (
            {
                "KeyConditionExpression": "id = :v",
                "FilterExpression": "id <> :v",
                "ExpressionAttributeValues": {":v": s("a")},
            },
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: id",
        ),
    ],
)
def test_wrong_filters(call: Call, expect_error: ExpectError, asked: dict[str, Any], message: str) -> None:
    with expect_error("ValidationException") as caught:
        call("ExportTableToPointInTime", TableArn=ARN, S3Bucket="exports", FilterSpecification=asked)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"ExportTime": 1.0}, "InvalidExportTimeException"),
        ({"ExportTime": 1e308}, "InvalidExportTimeException"),
        ({"ExportFormat": "CSV"}, "ValidationException"),
        ({"S3Prefix": "../up"}, "ValidationException"),
        ({"S3Prefix": "/etc"}, "ValidationException"),
        ({"ExportType": "INCREMENTAL_EXPORT"}, "ValidationException"),
        (incremental(1_750_000_001), "ValidationException"),
        (incremental(1.0, ExportToTime=1001.0), "InvalidExportTimeException"),
    ],
)
def test_what_cannot_be_exported(call: Call, expect_error: ExpectError, more: dict[str, Any], code: str) -> None:
    with expect_error(code):
        call("ExportTableToPointInTime", TableArn=ARN, S3Bucket="exports", **more)


def test_the_table_must_have_recovery(call: Call, expect_error: ExpectError) -> None:
    create(call, "others", "id:S")
    with expect_error("PointInTimeRecoveryUnavailableException"):
        call("ExportTableToPointInTime", TableArn=ARN.replace("orders", "others"), S3Bucket="exports")
    with expect_error("TableNotFoundException"):
        call("ExportTableToPointInTime", TableArn=ARN.replace("orders", "missing"), S3Bucket="exports")


def test_a_store_without_buckets_says_so(clock: ManualClock, expect_error: ExpectError) -> None:
    database = Database(None, clock)
    with expect_error("ValidationException") as caught:
        database.call("ExportTableToPointInTime", {"TableArn": ARN, "S3Bucket": "exports"})
    assert "--buckets" in caught.value.message
    database.close()


def test_a_bucket_that_cannot_be_written_fails_the_export(db: Database, call: Call, tmp_path: Path) -> None:
    (tmp_path / "exports").write_text("a file")
    described = export(db, call)
    assert described["ExportStatus"] == "FAILED"
    assert "ItemCount" not in described
    assert described["FailureCode"] == "S3Error"


def test_a_link_out_of_the_bucket_fails_the_export(db: Database, call: Call, tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "exports" / "daily").symlink_to(tmp_path / "secret")
    assert export(db, call, S3Prefix="daily")["ExportStatus"] == "FAILED"
    assert list((tmp_path / "secret").iterdir()) == []


def test_a_token_makes_one_export(call: Call, expect_error: ExpectError) -> None:
    asked = {"TableArn": ARN, "S3Bucket": "exports", "ClientToken": "token"}
    first = call("ExportTableToPointInTime", **asked)
    assert call("ExportTableToPointInTime", **asked) == first
    with expect_error("ExportConflictException"):
        call("ExportTableToPointInTime", **asked | {"S3Bucket": "others"})


def test_exports_are_listed(db: Database, call: Call, clock: ManualClock, expect_error: ExpectError) -> None:
    arns = []
    for _ in range(3):
        arns.append(export(db, call)["ExportArn"])
        clock.advance(1)
    page = call("ListExports", TableArn=ARN, MaxResults=2)
    assert [each["ExportArn"] for each in page["ExportSummaries"]] == [arns[2], arns[1]]
    rest = call("ListExports", TableArn=ARN, MaxResults=2, NextToken=page["NextToken"])
    assert rest == {
        "ExportSummaries": [{"ExportArn": arns[0], "ExportStatus": "COMPLETED", "ExportType": "FULL_EXPORT"}]
    }
    missing = f"{ARN}/export/01489602797149-73d8d5bc"
    with expect_error("ExportNotFoundException", f"Export not found: {missing}"):
        call("DescribeExport", ExportArn=missing)
