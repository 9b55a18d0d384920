"""Bulk puts: what is checked when an item is added, and tables that change before the writer's turn."""

from __future__ import annotations

import pytest

from sortkey.engine.database import Database
from sortkey.engine.operations.write import BulkPut
from sortkey.errors import ResourceNotFoundException, ValidationException
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s, walk


def test_a_bad_item_is_rejected_and_the_others_are_kept(db: Database, call: Call, expect_error: ExpectError) -> None:
    create(call, "table", "id:S", indexes=[index("by_kind", "kind:S")])
    puts = BulkPut(db)
    puts.add("table", {"id": s("a"), "kind": s("k")})
    for bad in (
        {},
        {"id": n(1)},
        {"id": s("")},
        {"id": s("b"), "kind": n(1)},
        {"id": s("b"), "load": s("x" * 409_600)},
    ):
        with expect_error("ValidationException"):
            call("PutItem", TableName="table", Item=bad)
        with pytest.raises(ValidationException):
            puts.add("table", bad)
    db.store.write(puts.work)
    assert walk(call, "Scan", TableName="table") == [{"id": s("a"), "kind": s("k")}]


def test_a_missing_table_is_named(db: Database) -> None:
    with pytest.raises(ResourceNotFoundException, match="Table: table not found"):
        BulkPut(db).add("table", {"id": s("a")})


# Items that were prepared for the old table have no rows for the new index.
def test_an_index_that_came_meanwhile_has_the_items(db: Database, call: Call) -> None:
    create(call, "table", "id:S")
    puts = BulkPut(db)
    puts.add("table", {"id": s("a"), "kind": s("k")})
    call("DeleteTable", TableName="table")
    create(call, "table", "id:S", indexes=[index("by_kind", "kind:S")])
    db.store.write(puts.work)
    assert walk(call, "Scan", TableName="table", IndexName="by_kind") == [{"id": s("a"), "kind": s("k")}]


def test_nothing_is_written_if_the_table_has_become_another(db: Database, call: Call) -> None:
    create(call, "table", "id:S")
    puts = BulkPut(db)
    puts.add("table", {"id": s("a"), "at": n(1)})
    puts.add("table", {"id": s("b")})
    call("DeleteTable", TableName="table")
    create(call, "table", "id:S", "at:N")
    with pytest.raises(ValidationException, match="Missing the key at"):
        db.store.write(puts.work)
    assert walk(call, "Scan", TableName="table") == []
    call("DeleteTable", TableName="table")
    with pytest.raises(ResourceNotFoundException):
        db.store.write(puts.work)
