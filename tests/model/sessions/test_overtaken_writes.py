"""Writes that another writer overtakes between their first attempt, which the store cannot judge, and their second.

The second attempt is conditional on the row that the first one found. What the row lacked counts, too: the other writer
adds attributes and changes none.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.model.calls.steps import Pacing

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Task(sk.Item, table="overtaken-tasks", version=2):
    id: str
    status: str = "OPEN"
    owner: str | None = None
    rev: int = 0

    key = sk.Key("T#{id}")


@Task.upgrade(1)
def same_fields(old: dict[str, Any]) -> dict[str, Any]:
    return old


class Visit(sk.Item, table="overtaken-visits"):
    id: str
    at: datetime
    owner: str | None = None

    key = sk.Key("V#{id}")


ONE = Task.key(id="1")
VISIT = Visit.key(id="1")
OLD_TASK = {"pk": {"S": "T#1"}, "id": {"S": "1"}, "status": {"S": "OPEN"}}
FOREIGN_TIME = {"pk": {"S": "V#1"}, "id": {"S": "1"}, "at": {"S": "2026-01-01T00:00:00+00:00"}}
FREE = {"owner": None}
Write = Callable[[sk.Session], object]
Call = Callable[..., dict[str, Any]]


@contextmanager
def overtaken(write: Write, other: Write) -> Iterator[sk.Session]:
    """A session in which `write` failed, because `other` was made between its attempts."""
    pending = [other]

    with sk.connect("memory:", pacing=Pacing(chance=lambda: 0.0)) as db:
        db.create_tables(Task, Visit)
        db.client.put_item(TableName=Task.__table__.name, Item=OLD_TASK)
        db.client.put_item(TableName=Visit.__table__.name, Item=FOREIGN_TIME)

        def overtaken_call(call: Call) -> Call:
            def sent(operation: str, *members: Any) -> dict[str, Any]:
                try:
                    return call(operation, *members)
                except ClientError:
                    if pending:
                        pending.pop()(db)
                    raise

            return sent

        with (
            patch.object(db.client, "_call", overtaken_call(db.client._call)),
            patch.object(db.client, "_call_unparsed", overtaken_call(db.client._call_unparsed)),
            pytest.raises((sk.ConditionFailed, sk.TransactionFailed)),
        ):
            write(db)
        assert not pending
        yield db


def claim(db: sk.Session) -> None:
    db.update(ONE, {"owner": "bob"}, where=FREE)


def claim_in_the_old_version(db: sk.Session) -> None:
    db.client.put_item(TableName=Task.__table__.name, Item={**OLD_TASK, "owner": {"S": "bob"}})


def transaction(add: Callable[[sk.Transaction], None]) -> Write:
    def write(db: sk.Session) -> None:
        made = sk.Transaction()
        made.put(Task(id="2"))
        add(made)
        db.transact(made)

    return write


@pytest.mark.parametrize("other", [claim, claim_in_the_old_version])
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda db: db.delete(ONE, where=FREE), id="delete"),
        pytest.param(lambda db: db.put(Task(id="1", owner="ada"), where=FREE), id="put"),
        pytest.param(lambda db: db.update(ONE, {"status": "DONE"}, where=FREE), id="update"),
        pytest.param(lambda db: db.update(ONE, {"owner": "ada"}, where=FREE), id="update of the field"),
        pytest.param(transaction(lambda made: made.check(ONE, where=FREE)), id="check"),
        pytest.param(transaction(lambda made: made.delete(ONE, where=FREE)), id="transaction with delete"),
        pytest.param(transaction(lambda made: made.put(Task(id="1"), where=FREE)), id="transaction with put"),
    ],
)
def test_what_the_old_row_lacked_must_still_be_absent(write: Write, other: Write) -> None:
    with overtaken(write, other) as db:
        assert db.get(ONE) == Task(id="1", owner="bob")
        assert db.get(Task.key(id="2")) is None


def test_one_of_two_puts_of_the_same_version_wins() -> None:
    def other(db: sk.Session) -> None:
        db.put(Task(id="1", owner="bob"), if_version="rev")

    with overtaken(lambda db: db.put(Task(id="1", owner="ada"), if_version="rev"), other) as db:
        assert db.get(ONE) == Task(id="1", owner="bob", rev=1)


# Nobody is faster here: the second attempt succeeds.
def test_without_another_writer_the_write_is_made() -> None:
    with sk.connect("memory:") as db:
        db.create_tables(Task)
        db.client.put_item(TableName=Task.__table__.name, Item=OLD_TASK)
        assert db.update(ONE, {"status": "DONE"}, where=FREE) == Task(id="1", status="DONE")
        db.client.put_item(TableName=Task.__table__.name, Item=OLD_TASK)
        assert db.delete(ONE, where=FREE) == Task(id="1")


_FIELDS = [f"field_{number}" for number in range(140)]
Wide: Any = types.new_class(
    "Wide",
    (sk.Item,),
    {"table": "overtaken-wide", "version": 2},
    lambda namespace: namespace.update(
        dict.fromkeys(_FIELDS),
        __annotations__={"id": str, **dict.fromkeys(_FIELDS, int | None)},
        key=sk.Key("W#{id}"),
    ),
)
Wide.upgrade(1)(same_fields)


# A condition has 4 KB and 300 operators at most.
def test_a_class_that_is_too_wide_to_be_guarded_is_rejected_with_the_way_out() -> None:
    with sk.connect("memory:") as db:
        db.create_tables(Wide)
        db.client.put_item(TableName="overtaken-wide", Item={"pk": {"S": "W#1"}, "id": {"S": "1"}})
        with pytest.raises(sk.Unsupported, match=r"142 attributes .* put the item without a condition first"):
            db.update(Wide.key(id="1"), {"field_1": 3})
        db.put(Wide(id="1"))
        assert db.update(Wide.key(id="1"), {"field_1": 3}).field_1 == 3
