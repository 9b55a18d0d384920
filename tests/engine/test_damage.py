"""A damaged record is an error that names it, on every path that reads it, and never an answer."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import orjson
import pytest

from sortkey.clock import ManualClock
from sortkey.engine import requests
from sortkey.engine.check.database_check import check
from sortkey.engine.database import Database
from sortkey.engine.operations.fast_path import FAST_READS, FastAnswer, rows_by_text_keys
from sortkey.engine.operations.rehearsal import CostlyWork
from sortkey.engine.operations.slices import finish
from sortkey.engine.rows import records
from sortkey.engine.tables.core import Catalog
from sortkey.errors import InternalServerError
from sortkey.storage import DamagedFolder, Transaction, after_prefix, ascending

TABLE = records.space_bytes(records.FIRST_FREE)
KEY = {"author": {"S": "a"}, "at": {"S": "2"}}
OTHER = {"author": {"S": "b"}, "at": {"S": "1"}}
VALUES = {":o": {"S": "a"}}
QUERY = {"TableName": "notes", "KeyConditionExpression": "author = :o", "ExpressionAttributeValues": VALUES}


@pytest.fixture
def folder(tmp_path: Path, clock: ManualClock) -> Path:
    """Notes; one of them says "sound"."""
    path = tmp_path / "data"
    database = Database(path, clock)
    database.call(
        "CreateTable",
        {
            "TableName": "notes",
            "KeySchema": [
                {"AttributeName": "author", "KeyType": "HASH"},
                {"AttributeName": "at", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "author", "AttributeType": "S"},
                {"AttributeName": "at", "AttributeType": "S"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        },
    )
    for key, text in ((OTHER, "first"), (KEY, "sound"), ({**KEY, "at": {"S": "3"}}, "last")):
        database.call("PutItem", {"TableName": "notes", "Item": {**key, "text": {"S": text}}})
    database.close()
    return path


def edit(folder: Path, change: Callable[[Transaction], object]) -> None:
    with (
        lmdb.open(str(folder), map_size=1 << 30, lib_version=1) as environment,
        environment.begin(write=True) as transaction,
    ):
        change(transaction)


def damage_value(transaction: Transaction) -> None:
    for key, value in list(ascending(transaction, TABLE, after_prefix(TABLE))):
        # One bit: d becomes e.
        transaction.put(key, value.replace(b"sound", b"soune"))


def damage_key(transaction: Transaction) -> None:
    for key, value in list(ascending(transaction, TABLE, after_prefix(TABLE))):
        if b"sound" in value:
            transaction.delete(key)
            transaction.put(key[:-1] + bytes([key[-1] ^ 1]), value)


@pytest.fixture
def damaged(folder: Path, clock: ManualClock) -> Database:
    edit(folder, damage_value)
    return Database(folder, clock)


def fast(database: Database, operation: str, request: dict[str, Any]) -> object:
    answer = FAST_READS[operation](database, orjson.dumps(request))
    assert answer is not None
    return answer if isinstance(answer, FastAnswer) else finish(answer)


GET = {"TableName": "notes", "Key": KEY}
BATCH = {"RequestItems": {"notes": {"Keys": [OTHER, KEY]}}}
UPDATE = {
    "TableName": "notes",
    "Key": KEY,
    "UpdateExpression": "SET n = :n",
    "ExpressionAttributeValues": {":n": KEY["at"]},
}
PATHS: dict[str, Callable[[Database], object]] = {
    "GetItem": lambda db: db.call("GetItem", GET),
    "fast GetItem": lambda db: fast(db, "GetItem", GET),
    "BatchGetItem": lambda db: db.call("BatchGetItem", BATCH),
    "fast BatchGetItem": lambda db: fast(db, "BatchGetItem", BATCH),
    "rows by text keys": lambda db: rows_by_text_keys(db, "notes", [("b", "1"), ("a", "2")], False, False),
    "TransactGetItems": lambda db: db.call("TransactGetItems", {"TransactItems": [{"Get": GET}]}),
    "Query": lambda db: db.call("Query", QUERY),
    "Query backwards": lambda db: db.call("Query", {**QUERY, "ScanIndexForward": False}),
    "fast Query": lambda db: fast(db, "Query", QUERY),
    "Scan": lambda db: db.call("Scan", {"TableName": "notes"}),
    "Scan that counts": lambda db: db.call("Scan", {"TableName": "notes", "Select": "COUNT"}),
    "UpdateItem": lambda db: db.call("UpdateItem", UPDATE),
    "PutItem": lambda db: db.call("PutItem", {"TableName": "notes", "Item": KEY}),
    "DeleteItem": lambda db: db.call("DeleteItem", GET),
}


@pytest.mark.parametrize("path", PATHS)
def test_damaged_row_is_an_error_that_names_it(damaged: Database, path: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InternalServerError, match=r"damaged: table notes, record [0-9a-f]{44}") as raised:
        PATHS[path](damaged)
    assert raised.value.status == 500
    assert raised.value.message in caplog.text
    damaged.close()


def test_other_rows_are_answered(damaged: Database) -> None:
    assert damaged.call("GetItem", {"TableName": "notes", "Key": OTHER})["Item"]["text"] == {"S": "first"}
    damaged.close()


# Verifying many rows takes a twentieth of the time of a read, so it is done where it was not done when opening.
@pytest.mark.parametrize("path", ["Query", "fast Query", "Scan", "fast BatchGetItem", "rows by text keys"])
def test_many_rows_of_a_folder_too_large_to_be_checked_when_opened(
    folder: Path, clock: ManualClock, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "CHECKED_BYTES", 0)
    edit(folder, damage_value)
    database = Database(folder, clock)
    with pytest.raises(InternalServerError, match="damaged: table notes"):
        PATHS[path](database)
    database.close()


def test_rows_of_a_sound_folder_are_not_verified_again(folder: Path, clock: ManualClock) -> None:
    database = Database(folder, clock)
    assert not database.verifies_many
    database.close()


def test_damaged_row_is_logged_when_the_folder_is_opened(
    folder: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    edit(folder, damage_value)
    with caplog.at_level(logging.ERROR):
        Database(folder, clock).close()
    assert f"{folder} is damaged: table notes, record" in caplog.text


def test_damaged_row_is_named_by_the_check(folder: Path) -> None:
    edit(folder, damage_value)
    (problem,) = check(folder).problems
    assert problem.startswith("table notes, record ")
    assert problem.endswith("does not match its checksum")


# The item would be missing, and nothing would say so.
def test_folder_with_a_damaged_key_is_not_opened(folder: Path, clock: ManualClock) -> None:
    edit(folder, damage_key)
    with pytest.raises(DamagedFolder, match=r"table notes, record [0-9a-f]+: is damaged, or its key is"):
        Database(folder, clock)
    assert "is damaged, or its key is" in check(folder).problems[0]


@pytest.mark.parametrize(
    ("record", "owner"),
    [
        pytest.param(records.TABLE_PREFIX + b"notes", "the catalog", id="catalog entry"),
        pytest.param(records.CATALOG_VERSION, "the catalog", id="version"),
        pytest.param(records.LAST_SEQUENCE, "the catalog", id="sequence"),
        pytest.param(records.NEXT_SPACE, "the catalog", id="space"),
        pytest.param(records.COUNTS + TABLE, "the counts", id="count"),
        pytest.param(records.space_bytes(records.FIRST_FREE + 1), "stream notes/", id="stream record"),
    ],
)
def test_every_record_is_checked(folder: Path, record: bytes, owner: str) -> None:
    def harm(transaction: Transaction) -> None:
        key, value = next(ascending(transaction, record, after_prefix(record)))
        transaction.put(key, bytes([value[0] ^ 1]) + value[1:])

    edit(folder, harm)
    assert any(problem.startswith(f"{owner}") for problem in check(folder).problems)


def test_damaged_catalog_answers_nothing(folder: Path, clock: ManualClock) -> None:
    def harm(transaction: Transaction) -> None:
        key = records.TABLE_PREFIX + b"notes"
        transaction.put(key, (transaction.get(key) or b"").replace(b"author", b"ownes"))

    edit(folder, harm)
    database = Database(folder, clock)
    for operation, request in (("GetItem", GET), ("ListTables", {}), ("DescribeTable", {"TableName": "notes"})):
        with pytest.raises(InternalServerError, match="damaged: the catalog"):
            database.call(operation, request)
    database.close()


# The row is not decoded, and the work is rejected in the writer's turn.
def test_costly_condition_is_not_evaluated_on_a_damaged_row(damaged: Database) -> None:
    members = {**GET, "ConditionExpression": " OR ".join(["contains(note, :o)"] * 100)}
    work = damaged.plan("DeleteItem", requests.convert("DeleteItem", {**members, "ExpressionAttributeValues": VALUES}))
    assert isinstance(work, CostlyWork)
    finish(work.rehearse(damaged))
    with pytest.raises(InternalServerError, match="damaged: table notes"):
        damaged.store.write(work)
    damaged.close()


def fail_with(error: lmdb.Error) -> Callable[..., object]:
    # LMDB's binding sets it, except in errors that are made by hand.
    vars(error)["code"] = errno.EIO

    def fail(*_: object) -> object:
        raise error

    return fail


# LMDB notices some damaged pages by itself.
def test_page_that_lmdb_cannot_read_is_an_error_that_says_so(
    folder: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(folder, clock)
    monkeypatch.setattr(Catalog, "tables_at", fail_with(lmdb.CorruptedError("page 7")))
    monkeypatch.setattr(Catalog, "require_in", fail_with(lmdb.PageNotFoundError("page 7")))
    with pytest.raises(InternalServerError, match=r"^The stored data is damaged: page 7\. Run `sortkey check`"):
        database.call("GetItem", GET)
    with pytest.raises(InternalServerError, match=r"^Nothing was written: The stored data is damaged: page 7"):
        database.call("DeleteItem", GET)
    database.close()


# It may be written or not, if the error came from the commit. So it must not look like an answer of DynamoDB's.
def test_other_errors_of_the_disk_stay_what_they_are(
    folder: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(folder, clock)
    monkeypatch.setattr(Catalog, "require_in", fail_with(lmdb.DiskError("input/output error")))
    with pytest.raises(lmdb.DiskError):
        database.call("DeleteItem", GET)
    database.close()
