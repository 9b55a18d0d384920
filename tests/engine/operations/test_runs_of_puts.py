"""Bulk puts of many items of a partition in key order: they leave full pages, and nothing else is different."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.operations import write
from sortkey.engine.operations.write import BulkPut
from sortkey.storage import environment
from sortkey.storage.gradual_check import GradualCheck
from tests.engine.conftest import Call
from tests.engine.samples import create, index, n, s, walk

PARTITIONS = 20
ROWS = 500
TEXT = "x" * 100


@pytest.fixture
def table(call: Call) -> None:
    create(call, "table", "id:S", "at:N", indexes=[index("by_kind", "kind:S", "at:N")])


def put(db: Database, partition: str, numbers: Iterable[int], text: str = TEXT) -> None:
    puts = BulkPut(db)
    for number in numbers:
        puts.add("table", {"id": s(partition), "at": n(number), "kind": s(str(number % 7)), "text": s(text)})
    db.store.write(puts.work)


def leaves(db: Database) -> int:
    return int(db.store._environment.stat()["leaf_pages"])


def texts(call: Call, partition: str) -> list[str]:
    found = walk(
        call,
        "Query",
        TableName="table",
        KeyConditionExpression="id = :id",
        ExpressionAttributeValues={":id": s(partition)},
    )
    return [item["text"]["S"] for item in found]


# Partitions lie in the order of their hashes, so nearly every one comes before others.
def test_partitions_in_key_order_have_full_pages(db: Database, call: Call) -> None:
    create(call, "table", "id:S", "at:N")
    for partition in range(PARTITIONS):
        put(db, str(partition), range(ROWS))
    rows = walk(call, "Scan", TableName="table")
    assert len(rows) == PARTITIONS * ROWS
    with db.store.read() as snapshot:
        stored = sum(len(key) + len(value) for key, value in snapshot.cursor())
    assert stored > leaves(db) * 4096 * 0.8


@pytest.mark.usefixtures("table")
def test_a_run_between_others_leaves_them_as_they_are(db: Database, call: Call) -> None:
    put(db, "p", range(200), "before")
    put(db, "p", range(1000, 1200), "after")
    put(db, "p", range(400, 800), "between")
    assert texts(call, "p") == ["before"] * 200 + ["between"] * 400 + ["after"] * 200
    assert len(walk(call, "Scan", TableName="table", IndexName="by_kind")) == 800


@pytest.mark.usefixtures("table")
def test_a_run_that_replaces_items_remains(db: Database, call: Call) -> None:
    put(db, "p", range(0, 400, 2), "old")
    put(db, "p", range(300), "new")
    assert texts(call, "p") == ["new"] * 300 + ["old"] * 50
    assert len(walk(call, "Scan", TableName="table", IndexName="by_kind")) == 350


@pytest.mark.usefixtures("table")
def test_of_a_key_that_comes_again_the_last_item_remains(db: Database, call: Call) -> None:
    put(db, "p", [1000])
    puts = BulkPut(db)
    for text in ("first", "second"):
        for number in range(250):
            puts.add("table", {"id": s("p"), "at": n(number), "text": s(text)})
    db.store.write(puts.work)
    assert texts(call, "p") == ["second"] * 250 + [TEXT]


# What follows the run has been taken out when its first put fails. The queue must not commit that.
@pytest.mark.usefixtures("table")
def test_a_run_that_fails_leaves_everything_as_it_was(
    db: Database, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(db, "p", range(1000, 1200))

    def fail(*_: object) -> float:
        raise RuntimeError("at the first put")

    with monkeypatch.context() as patched:
        patched.setattr(write, "put_prepared", fail)
        with pytest.raises(RuntimeError, match="at the first put"):
            put(db, "p", range(300))
    assert texts(call, "p") == [TEXT] * 200
    put(db, "q", [1])
    assert texts(call, "p") == [TEXT] * 200


# Deletes of a folder that is still being checked check the leaves that LMDB may merge.
@pytest.mark.slow
def test_a_run_goes_into_a_large_folder_while_that_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = Database(tmp_path)
    create(lambda operation, **members: db.call(operation, members), "table", "id:S", "at:N")
    for partition in range(PARTITIONS):
        put(db, str(partition), range(0, ROWS, 2))
    db.close()
    monkeypatch.setattr(environment, "CHECKED_BYTES", 0)
    monkeypatch.setattr(GradualCheck, "start", lambda *_: None)
    db = Database(tmp_path)
    for partition in range(PARTITIONS):
        put(db, str(partition), range(ROWS, 2 * ROWS))
    assert db.store.check is not None
    assert not db.store.check.ended
    assert check_database(db).problems == []
    with db.store.read() as snapshot:
        assert len(list(snapshot.cursor().iternext(values=False))) > PARTITIONS * ROWS * 3 // 2
    db.close()
