"""The catalog: every process and every transaction sees the tables of its snapshot."""

from __future__ import annotations

from pathlib import Path

from sortkey.engine.database import Database
from sortkey.engine.rows import records
from sortkey.engine.tables.table import Table
from tests.engine.conftest import Call
from tests.engine.samples import create, s


def find(db: Database, name: str) -> Table | None:
    with db.read() as snapshot:
        return db.catalog.find(snapshot, name)


# Parsing a table costs more than a read; it happens once per change, not per request.
def test_tables_are_parsed_once(db: Database, call: Call) -> None:
    create(call, "table", "id:S")
    first = find(db, "table")
    call("PutItem", TableName="table", Item={"id": s("1")})
    assert find(db, "table") is first
    create(call, "another", "id:S")
    assert find(db, "table") is not first


# A reader that began before a table was dropped still reads it.
def test_snapshot_keeps_its_tables(db: Database, call: Call) -> None:
    create(call, "table", "id:S")
    with db.read() as before:
        call("DeleteTable", TableName="table")
        assert find(db, "table") is None
        assert db.catalog.find(before, "table") is not None
    assert find(db, "table") is None


# Spaces are never used again, so rows of a dropped table that still wait for the janitor cannot show up in a new one.
def test_table_of_the_same_name_begins_empty(db: Database, call: Call) -> None:
    create(call, "table", "id:S")
    call("PutItem", TableName="table", Item={"id": s("1")})
    old = find(db, "table")
    call("DeleteTable", TableName="table")
    create(call, "table", "id:S")
    new = find(db, "table")
    assert old is not None
    assert new is not None
    assert new.space > old.space >= records.space_bytes(records.FIRST_FREE)
    assert call("Scan", TableName="table")["Count"] == 0


def test_tables_outlive_the_process(tmp_path: Path) -> None:
    first = Database(tmp_path)
    create(lambda operation, **members: first.call(operation, members), "table", "id:S")
    first.call("PutItem", {"TableName": "table", "Item": {"id": s("1")}})
    first.close()
    second = Database(tmp_path)
    assert second.call("Scan", {"TableName": "table"})["Items"] == [{"id": s("1")}]
    second.close()
