"""An UpdateItem on the fast path answers, consumes and leaves what it does on the general path, or is left to that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies

from sortkey.engine import requests
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_json
from sortkey.engine.operations.fast_path import FAST_WRITES, FastAnswer
from sortkey.errors import DynamoDBError

KEY = {"id": {"S": "x"}, "at": {"S": "2026"}}
ATTRIBUTES = ["a", "b", "zoë"]
LONG = {"S": "long"}
"""Stands for a text of which two exceed an item's size; a failed test is easier to read without it."""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    # Without a janitor: its snapshot of before the table would make the fast path forget the table.
    with closing(Database(None)) as database:
        keys = [("id", "HASH"), ("at", "RANGE")]
        database.call(
            "CreateTable",
            {
                "TableName": "visits",
                "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys],
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        # The fast path knows only tables that a request has seen.
        database.call("GetItem", {"TableName": "visits", "Key": KEY})
        yield database


values = strategies.sampled_from(
    [
        {"N": "1"},
        {"N": "-2.50"},
        {"N": "9" * 38},
        {"N": "nine"},
        {"S": "é"},
        LONG,
        {"SS": ["b", "a"]},
        {"NS": ["2", "1.0"]},
        {"B": "AAE="},
        {"L": [{"S": "a"}, {"B": "AA=="}]},
        {"M": {"x": {"L": []}, "é": {"N": "07"}}},
        {"BOOL": True},
    ]
)
items = strategies.dictionaries(
    strategies.sampled_from(ATTRIBUTES), values.filter(lambda value: value != {"N": "nine"})
).filter(lambda item: [*item.values()].count(LONG) < 2)
updates = strategies.sampled_from(
    [
        "ADD a :v",
        "ADD #n :v, b :w",
        "SET a = :v",
        "SET #n = :v, b = :w REMOVE a",
        "SET #n = if_not_exists(#n, :v) + :w",
        "SET a = list_append(b, :v)",
        "SET a.x = :v",
        "DELETE #n :v",
        "REMOVE #n, b",
        "SET id = :v",
        "SET id.x = :v",
        "SET a = :v, #n = :w",
        "nonsense (",
    ]
)
conditions = strategies.sampled_from(
    [
        "attribute_exists(a)",
        "attribute_not_exists(id)",
        "#n > :w",
        "size(b) = :v",
        "id.x = :v",
        "a BETWEEN :v AND :w",
        "(",
    ]
)
changes = strategies.fixed_dictionaries(
    {"UpdateExpression": updates},
    optional={
        "ConditionExpression": conditions,
        "ReturnValues": strategies.sampled_from(["NONE", "ALL_NEW"]),
        "ReturnConsumedCapacity": strategies.sampled_from(["NONE", "TOTAL"]),
    },
)
names = strategies.fixed_dictionaries({"#n": strategies.sampled_from([*ATTRIBUTES, *ATTRIBUTES, "id", ""])})
bound = strategies.fixed_dictionaries({":v": values, ":w": values})


def written_out(members: dict[str, Any]) -> dict[str, Any]:
    return {name: {"S": "x" * 300_000} if value == LONG else value for name, value in members.items()}


def result_of(database: Database, before: dict[str, Any] | None, work: Any) -> dict[str, Any]:
    """What the work answers, consumes and leaves in the store, from this state."""
    if before is None:
        database.call("DeleteItem", {"TableName": "visits", "Key": KEY})
    else:
        database.call("PutItem", {"TableName": "visits", "Item": written_out(before)})
    try:
        answer = database.store.write(work)
    except DynamoDBError as error:
        answer = {"code": error.code, "message": error.message}
    if isinstance(answer, FastAnswer):
        ((name, units),) = answer.units.items()
        consumed = {"TableName": name, "CapacityUnits": units}
        answer = orjson.loads(answer.text) | {"ConsumedCapacity": consumed}
    stored = database.call("GetItem", {"TableName": "visits", "Key": KEY})
    size = database.call("DescribeTable", {"TableName": "visits"})["Table"]["TableSizeBytes"]
    return {"answer": orjson.loads(to_json(answer)), "stored": stored, "bytes": size}


def general_work(database: Database, members: dict[str, Any]) -> Any:
    request = requests.decode("UpdateItem", orjson.dumps(members | {"ReturnConsumedCapacity": "TOTAL"}))
    return database.plan("UpdateItem", request)


@given(before=strategies.none() | items.map(lambda item: KEY | item), change=changes, names=names, values=bound)
def test_fast_and_general_path_agree(
    database: Database,
    before: dict[str, Any] | None,
    change: dict[str, Any],
    names: dict[str, str],
    values: dict[str, Any],
) -> None:
    # Placeholders that are not used would be rejected before anything else could be seen.
    text = " ".join((change["UpdateExpression"], change.get("ConditionExpression", "")))
    placeholders = {
        "ExpressionAttributeNames": names if "#n" in text else {},
        "ExpressionAttributeValues": {key: value for key, value in written_out(values).items() if key in text},
    }
    members = {"TableName": "visits", "Key": KEY} | change
    members |= {member: given for member, given in placeholders.items() if given}
    work = FAST_WRITES["UpdateItem"](database, orjson.dumps(members))
    if work is None:
        return
    fast, general = result_of(database, before, work), result_of(database, before, general_work(database, members))
    assert fast == general
    assert check_database(database).problems == []


ADD = {
    "TableName": "visits",
    "Key": KEY,
    "UpdateExpression": "ADD #n :v",
    "ExpressionAttributeNames": {"#n": "a"},
    "ExpressionAttributeValues": {":v": {"N": "1"}},
}


# A fast path that no request takes would pass the test above.
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"ReturnValues": "NONE", "ReturnConsumedCapacity": "NONE"},
        {"ConditionExpression": "attribute_not_exists(#n) OR #n < :v"},
        {"UpdateExpression": "SET #n.x = :v"},
    ],
)
def test_common_requests_take_the_fast_path(database: Database, more: dict[str, Any]) -> None:
    work = FAST_WRITES["UpdateItem"](database, orjson.dumps(ADD | more))
    assert work is not None
    before: dict[str, Any] | None = KEY | {"a": {"M": {}}} if "x" in (ADD | more)["UpdateExpression"] else None
    assert result_of(database, before, work)["answer"] == {
        "ConsumedCapacity": {"TableName": "visits", "CapacityUnits": 1.0}
    }


# The general path words every error, and returns attributes.
@pytest.mark.parametrize(
    "more",
    [
        {"TableName": "nowhere"},
        {"Key": {"id": {"S": "x"}}},
        {"Key": KEY | {"at": {"N": "1"}}},
        {"UpdateExpression": "ADD #n"},
        {"UpdateExpression": "ADD a :v"},
        {"ExpressionAttributeNames": {"#n": "id"}},
        {"ExpressionAttributeValues": {":v": {"S": "one"}}},
        {"ConditionExpression": "id.x = :v"},
        {"ReturnValues": "UPDATED_NEW"},
        {"ReturnConsumedCapacity": "TOTAL"},
        {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"},
        {"Expected": {}},
    ],
)
def test_the_rest_is_left_to_the_general_path(database: Database, more: dict[str, Any]) -> None:
    assert FAST_WRITES["UpdateItem"](database, orjson.dumps(ADD | more)) is None


# A table may get an index, a stream or a time to live between the request and the commit.
def test_an_update_in_a_table_that_gets_ttl_is_indexed() -> None:
    with closing(Database(None)) as database:
        create = {
            "TableName": "changing",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        database.call("CreateTable", create)
        database.call("GetItem", {"TableName": "changing", "Key": {"id": {"S": "x"}}})
        body = orjson.dumps(ADD | {"TableName": "changing", "Key": {"id": {"S": "x"}}})
        work = FAST_WRITES["UpdateItem"](database, body)
        assert work is not None
        expiry = {"Enabled": True, "AttributeName": "a"}
        database.call("UpdateTimeToLive", {"TableName": "changing", "TimeToLiveSpecification": expiry})
        answer = database.store.write(work)
        assert isinstance(answer, dict)
        assert answer["ConsumedCapacity"] == {"TableName": "changing", "CapacityUnits": 1.0}
        assert check_database(database).problems == []
