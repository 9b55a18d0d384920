"""A subclass may read the fields of its base otherwise: reads and writes through the base go by what its items show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pytest

import sortkey as sk

TASKS = sk.Table("family-tasks", transactions=True)


class Task(sk.Item, table=TASKS, tag="task"):
    id: str
    status: str = "OPEN"
    kind: str = "?"
    key = sk.Key("TASKS", "T#{id}")
    by_kind = sk.Index("gsi1", "KIND#{kind}", projection=("status",))


class Default(Task, tag="default"):
    status: str = "NEW"


class Renamed(Task, tag="renamed", rename={"status": "state"}):
    status: str = "OPEN"


class Upgraded(Task, tag="upgraded", version=2):
    pass


@Upgraded.upgrade(1)
def in_capitals(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "status": row.get("status", "new").upper()}


ROWS: dict[type[Task], dict[str, Any]] = {
    Default: {"type": {"S": "default"}},
    Renamed: {"type": {"S": "renamed"}, "state": {"S": "NEW"}, "status": {"S": "OPEN"}},
    Upgraded: {"type": {"S": "upgraded"}, "status": {"S": "new"}},
}
"""Each shows NEW, which the declarations of the base do not find in the row."""
ONE = Task.key(id="1")


@pytest.fixture(params=ROWS, ids=lambda cls: cls.__name__)
def cls(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def db(cls: type[Task]) -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[TASKS]) as session:
        session.create_tables()
        row = {"pk": {"S": "TASKS"}, "sk": {"S": "T#1"}, "id": {"S": "1"}, "kind": {"S": "?"}, **ROWS[cls]}
        session.client.put_item(TableName="family-tasks", Item=row)
        session.put(Task(id="2", status="DONE"))
        yield session


def test_filters(db: sk.Session, cls: type[Task]) -> None:
    for status, found in (("NEW", [cls]), ("OPEN", []), ("new", []), ("DONE", [Task])):
        where = {"status": status}
        assert [type(each) for each in db.scan(Task, where=where)] == found
        assert [type(each) for each in db.iterate(Task.key(), where=where)] == found
        assert db.count(Task.key(), where=where) == len(found)


def test_only_some_fields(db: sk.Session, cls: type[Task]) -> None:
    found = db.get(ONE, only=["status"])
    assert isinstance(found, cls)
    assert found.status == "NEW"
    assert [each.status for each in db.iterate(Task.key(), only=["status"])] == ["NEW", "DONE"]


def test_deletes(db: sk.Session) -> None:
    for status in ("OPEN", "new"):
        with pytest.raises(sk.ConditionFailed):
            db.delete(ONE, where={"status": status})
    deleted = db.delete(ONE, where={"status": "NEW"})
    assert deleted is not None
    assert deleted.status == "NEW"
    assert db.delete(Task.key(id="2"), where={"status": "DONE"}) == Task(id="2", status="DONE")


def test_checks(db: sk.Session) -> None:
    for status in ("OPEN", "new"):
        wrong = sk.Transaction()
        wrong.check(ONE, where={"status": status})
        with pytest.raises(sk.TransactionFailed):
            db.transact(wrong)
    right = sk.Transaction()
    right.check(ONE, where={"status": "NEW"})
    db.transact(right)


def test_puts(db: sk.Session) -> None:
    task = Task(id="1", status="DONE")
    for status in ("OPEN", "new"):
        with pytest.raises(sk.ConditionFailed):
            db.put(task, where={"status": status})
    assert not db.put(sk.replace(task, status="A"), newer_by="status")
    assert db.put(task, where={"status": "NEW"})
    assert db.get(ONE) == task


def test_updates(db: sk.Session, cls: type[Task]) -> None:
    with pytest.raises(sk.ConditionFailed):
        db.update(ONE, {"kind": "b"}, where={"status": "OPEN"})
    changed = db.update(ONE, {"kind": "b"}, where={"status": "NEW"})
    assert (type(changed), changed.kind, changed.status) == (cls, "b", "NEW")


def test_deletes_of_many(db: sk.Session) -> None:
    assert db.delete_all(Task.key(), where={"status": "OPEN"}).items == 0
    assert db.delete_all(Task, where={"status": "NEW"}, scan=True).items == 1
    assert [each.id for each in db.scan(Task)] == ["2"]


# The rows there lack what the program would need.
def test_an_index_with_a_part_of_the_items_has_no_filter(db: sk.Session) -> None:
    with pytest.raises(sk.NoAccessPath, match="a subclass declares fields of Task otherwise"):
        list(db.iterate(Task.by_kind(kind="?"), where={"status": "NEW"}))


# Whole rows, and second requests, are only for classes that need them.
def test_a_subclass_that_only_adds_fields_reads_alike() -> None:
    table = sk.Table("family-alike")

    class Plain(sk.Item, table=table, tag=True):
        id: str
        labels: Annotated[list[str], "shown"] = sk.field(default_factory=list)
        note: str | None = None
        key = sk.Key("P#{id}")

    class More(Plain):
        note: str | None = None
        size: int = 0

    class Elsewhere(Plain):
        note: str | None = "other"
        key = sk.Key("E#{id}")

    assert Plain.__schema__.exclusive_tags is None
    assert Task.__schema__.exclusive_tags == ("type", [{"S": "task"}])
    assert Default.__schema__.exclusive_tags is None
