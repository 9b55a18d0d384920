"""Costly conditions are evaluated before the writer's turn, and not again in it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations.fast_path import FAST_WRITES
from sortkey.engine.operations.rehearsal import CostlyWork, NotRehearsed
from sortkey.engine.operations.slices import finish
from sortkey.errors import ConditionalCheckFailedException, TransactionCanceledException
from sortkey.expressions import Condition
from tests.engine.conftest import Call

LONG = "y" * 300_000
COSTLY = " OR ".join(["contains(t, :v)"] * 100)
OPERATIONS: dict[str, dict[str, Any]] = {
    "PutItem": {"Item": {"p": {"S": "a"}}},
    "DeleteItem": {"Key": {"p": {"S": "a"}}},
    "UpdateItem": {"Key": {"p": {"S": "a"}}, "UpdateExpression": "REMOVE t"},
}


@pytest.fixture(autouse=True)
def rows(call: Call) -> None:
    call(
        "CreateTable",
        TableName="rows",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
    )
    call("PutItem", TableName="rows", Item={"p": {"S": "a"}, "t": {"S": LONG}})


def plan(db: Database, operation: str, text: str = COSTLY, wanted: str = "z", **members: Any) -> Any:
    condition = {"ConditionExpression": text, "ExpressionAttributeValues": {":v": {"S": wanted}}}
    members = {"TableName": "rows", **OPERATIONS[operation], **condition, **members}
    return db.plan(operation, requests.convert(operation, members))


def transaction(db: Database, wanted: str, actions: int = 3, *others: dict[str, Any]) -> Any:
    check = {
        "TableName": "rows",
        "ConditionExpression": COSTLY,
        "ExpressionAttributeValues": {":v": {"S": wanted}},
    }
    keys = ["a", *(f"missing {number}" for number in range(actions - 1))]
    items = [{"ConditionCheck": {"Key": {"p": {"S": key}}, **check}} for key in keys]
    return db.plan("TransactWriteItems", requests.convert("TransactWriteItems", {"TransactItems": [*others, *items]}))


def never(*_: object) -> bool:
    raise AssertionError("evaluated in the writer's turn")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_rehearsed_condition_is_not_evaluated_again(
    db: Database, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    false, true = plan(db, operation), plan(db, operation, wanted="y")
    assert sum(1 for _ in false.rehearse(db)) > 5
    finish(true.rehearse(db))
    monkeypatch.setattr(Condition, "__call__", never)
    with pytest.raises(ConditionalCheckFailedException):
        db.store.write(false)
    db.store.write(true)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_row_that_has_changed_is_rehearsed_again(db: Database, call: Call, operation: str) -> None:
    work = plan(db, operation)
    finish(work.rehearse(db))
    changed = {"p": {"S": "a"}, "t": {"S": "z" + LONG}}
    call("PutItem", TableName="rows", Item=changed)
    with pytest.raises(NotRehearsed):
        db.store.write(work)
    assert call("GetItem", TableName="rows", Key={"p": {"S": "a"}})["Item"] == changed
    finish(work.rehearse(db))
    db.store.write(work)
    assert call("GetItem", TableName="rows", Key={"p": {"S": "a"}}).get("Item") != changed


# A put that is queued before the costly write is not on the snapshot of its rehearsal.
def test_so_is_a_row_that_has_appeared(db: Database, call: Call) -> None:
    work = plan(db, "DeleteItem", Key={"p": {"S": "new"}}, wanted="y")
    finish(work.rehearse(db))
    call("PutItem", TableName="rows", Item={"p": {"S": "new"}, "t": {"S": LONG}})
    with pytest.raises(NotRehearsed):
        db.store.write(work)
    finish(work.rehearse(db))
    db.store.write(work)


# Evaluating it takes no longer than comparing it.
def test_a_small_row_that_has_changed_is_evaluated_in_the_writers_turn(db: Database, call: Call) -> None:
    work = plan(db, "DeleteItem", " OR ".join(["contains(t, :v)"] * 10))
    finish(work.rehearse(db))
    call("PutItem", TableName="rows", Item={"p": {"S": "a"}, "t": {"S": "z"}})
    db.store.write(work)
    assert "Item" not in call("GetItem", TableName="rows", Key={"p": {"S": "a"}})


def test_a_row_that_was_deleted_is_evaluated_as_missing(db: Database, call: Call) -> None:
    work = plan(db, "DeleteItem", wanted="y")
    finish(work.rehearse(db))
    call("DeleteItem", TableName="rows", Key={"p": {"S": "a"}})
    with pytest.raises(ConditionalCheckFailedException):
        db.store.write(work)


def test_a_transaction_with_a_row_that_has_changed_writes_nothing(db: Database, call: Call) -> None:
    put = {"Put": {"TableName": "rows", "Item": {"p": {"S": "beside"}}}}
    work = transaction(db, "y", 1, put)
    finish(work.rehearse(db))
    call("PutItem", TableName="rows", Item={"p": {"S": "a"}, "t": {"S": LONG + "y"}})
    with pytest.raises(NotRehearsed):
        db.store.write(work)
    assert "Item" not in call("GetItem", TableName="rows", Key={"p": {"S": "beside"}})


# An embedded client has a thread of its own to wait with.
@pytest.mark.parametrize("operation", OPERATIONS)
def test_work_that_was_not_rehearsed_is_evaluated_in_the_writers_turn(db: Database, operation: str) -> None:
    with pytest.raises(ConditionalCheckFailedException):
        db.store.write(plan(db, operation))
    db.store.write(plan(db, operation, wanted="y"))


def test_the_fast_path_leaves_costly_conditions_to_the_general_operation(db: Database) -> None:
    members = {
        "TableName": "rows",
        **OPERATIONS["UpdateItem"],
        "ConditionExpression": COSTLY,
        "ExpressionAttributeValues": {":v": {"S": "y"}},
    }
    work = FAST_WRITES["UpdateItem"](db, orjson.dumps(members))
    assert isinstance(work, CostlyWork)
    finish(work.rehearse(db))
    db.store.write(work)
    assert "Item" in db.call("GetItem", {"TableName": "rows", "Key": {"p": {"S": "a"}}})


def test_rehearsal_of_a_transaction(db: Database) -> None:
    work = transaction(db, "z")
    assert isinstance(work, CostlyWork)
    finish(work.rehearse(db))
    with pytest.raises(TransactionCanceledException) as caught:
        db.store.write(work)
    reasons = [reason["Code"] for reason in caught.value.members["CancellationReasons"]]
    assert reasons == ["ConditionalCheckFailed"] * 3


# The general operation words the errors, not the rehearsal.
@pytest.mark.parametrize("members", [{"TableName": "nowhere"}, {"Key": {"p": {"N": "1"}}}, {"Key": {"q": {"S": "a"}}}])
def test_a_rehearsal_raises_nothing(db: Database, members: dict[str, Any]) -> None:
    assert finish(plan(db, "DeleteItem", **members).rehearse(db)) == {}


# They take microseconds, and a rehearsal is not free.
def test_simple_conditions_are_not_rehearsed(db: Database) -> None:
    assert not isinstance(plan(db, "PutItem", "attribute_not_exists(p) OR t = :v"), CostlyWork)
