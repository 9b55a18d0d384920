"""The fast path gives what the general path gives, or None."""

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
from sortkey.engine.operations.fast_path import FAST_READS, FAST_WRITES, FastAnswer, rows_by_text_keys
from sortkey.errors import DynamoDBError

CUSTOMERS = ["ann", "bob", "zoë"]
ORDERS = [f"2026-{month:02}" for month in range(1, 13)]
LONG = "x" * 5_000


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    # Without a janitor: its snapshot of before the table would make the fast path forget the table.
    database = Database(None)
    for name, sort in (("orders", "S"), ("numbered", "N"), ("customers", None)):
        keys = [("customer", "S", "HASH")] + ([] if sort is None else [("order", sort, "RANGE")])
        database.call(
            "CreateTable",
            {
                "TableName": name,
                "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, _, kind in keys],
                "AttributeDefinitions": [{"AttributeName": key, "AttributeType": type_} for key, type_, _ in keys],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
    for number, (customer, order) in enumerate((customer, order) for customer in CUSTOMERS for order in ORDERS):
        text = {"S": LONG if number % 7 == 0 else order}
        item = {"customer": {"S": customer}, "order": {"S": order}, "text": text, "raw": {"B": "AAEC"}}
        database.call("PutItem", {"TableName": "orders", "Item": item})
        database.call("PutItem", {"TableName": "numbered", "Item": item | {"order": {"N": str(number)}}})
        database.call("PutItem", {"TableName": "customers", "Item": item})
    yield database
    database.close()


texts = strategies.sampled_from([*CUSTOMERS, *ORDERS, "nobody", "", "x" * 300, "2026", "é"])
values = strategies.one_of(
    texts.map(lambda text: {"S": text}),
    texts.map(lambda text: {"S": text, "N": "1"}),
    strategies.sampled_from([{"N": "3"}, {"S": 3}, {"S": None}, {}, None, "ann", ["ann"]]),
)
text_values = strategies.sampled_from([*CUSTOMERS, *ORDERS]).map(lambda text: {"S": text})
any_values = text_values | values
keys = strategies.fixed_dictionaries({"customer": any_values}, optional={"order": any_values, "other": any_values})
tables = strategies.sampled_from(["orders", "orders", "customers", "numbered", "nowhere", "n", "t/x"])
flags = strategies.sampled_from([True, False, None])
asked = strategies.sampled_from(["NONE", "TOTAL", "INDEXES", "?"])
names = strategies.dictionaries(
    strategies.sampled_from(["#c", "#o", "#u", "c"]), strategies.sampled_from(["customer", "order", "", "x"])
)

gets = strategies.fixed_dictionaries(
    {"TableName": tables, "Key": keys},
    optional={
        "ConsistentRead": flags,
        "ReturnConsumedCapacity": asked,
        "ProjectionExpression": strategies.just("customer"),
        "Unheard": flags,
    },
)
batches = strategies.fixed_dictionaries(
    {
        "RequestItems": strategies.dictionaries(
            tables | strategies.just("arn:aws:dynamodb:local:000000000000:table/orders"),
            strategies.fixed_dictionaries(
                {"Keys": strategies.lists(keys, max_size=4)},
                optional={"ConsistentRead": flags, "AttributesToGet": flags},
            ),
            max_size=3,
        )
    },
    optional={"ReturnConsumedCapacity": asked},
)
conditions = strategies.sampled_from(
    [
        "customer = :c",
        "#c = :c",
        "customer = :c AND #o > :o",
        "customer = :c AND begins_with(#o, :o)",
        "#o <= :o AND customer = :c",
        "customer = :c AND customer = :o",
        "customer > :c",
        "customer = :c AND other = :o",
        "customer.x = :c",
        "customer = :c OR #o = :o",
        "nonsense (",
    ]
)
queries = strategies.fixed_dictionaries(
    {
        "TableName": tables,
        "KeyConditionExpression": conditions,
        "ExpressionAttributeValues": strategies.dictionaries(
            strategies.sampled_from([":c", ":o", ":u", "c"]), any_values, max_size=3
        ),
    },
    optional={
        "ExpressionAttributeNames": names,
        "Limit": strategies.integers(0, 14),
        "ScanIndexForward": flags,
        "ConsistentRead": flags,
        "ReturnConsumedCapacity": asked,
        "Select": strategies.just("COUNT"),
        "FilterExpression": strategies.just("attribute_exists(customer)"),
    },
)


def general_answer(database: Database, operation: str, members: dict[str, Any]) -> dict[str, Any]:
    request = requests.decode(operation, orjson.dumps(members | {"ReturnConsumedCapacity": "TOTAL"}))
    answer: dict[str, Any] = orjson.loads(to_json(database.execute(operation, request)))
    return answer


def units_of(consumed: Any) -> dict[str, float]:
    parts = consumed if isinstance(consumed, list) else [consumed]
    return {part["TableName"]: part["CapacityUnits"] for part in parts}


@given(
    request=gets.map(lambda get: ("GetItem", get))
    | batches.map(lambda batch: ("BatchGetItem", batch))
    | queries.map(lambda query: ("Query", query))
)
def test_fast_and_general_path_agree(database: Database, request: tuple[str, dict[str, Any]]) -> None:
    operation, members = request
    answered = FAST_READS[operation](database, orjson.dumps(members))
    if answered is None:
        return
    expected = general_answer(database, operation, members)
    assert isinstance(answered, FastAnswer)
    assert answered.units == units_of(expected.pop("ConsumedCapacity"))
    assert orjson.loads(answered.text) == expected


ANN = {"customer": {"S": "ann"}}
FIRST = ANN | {"order": {"S": "2026-01"}}
QUERY = {
    "TableName": "orders",
    "KeyConditionExpression": "customer = :c",
    "ExpressionAttributeValues": {":c": {"S": "ann"}},
}


# A fast path that no request takes would pass the test above.
@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("GetItem", {"TableName": "orders", "Key": FIRST}),
        ("GetItem", {"TableName": "customers", "Key": ANN, "ConsistentRead": True}),
        (
            "GetItem",
            {"TableName": "orders", "Key": FIRST | {"order": {"S": "never"}}, "ReturnConsumedCapacity": "NONE"},
        ),
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [FIRST]}, "customers": {"Keys": [ANN]}}}),
        ("Query", QUERY),
        ("Query", QUERY | {"Limit": 3, "ScanIndexForward": False}),
        (
            "Query",
            QUERY
            | {
                "KeyConditionExpression": "#c = :c AND begins_with(#o, :o)",
                "ExpressionAttributeNames": {"#c": "customer", "#o": "order"},
                "ExpressionAttributeValues": {":c": {"S": "ann"}, ":o": {"S": "2026-1"}},
            },
        ),
    ],
)
def test_common_requests_take_the_fast_path(database: Database, operation: str, members: dict[str, Any]) -> None:
    answered = FAST_READS[operation](database, orjson.dumps(members))
    assert isinstance(answered, FastAnswer)
    expected = general_answer(database, operation, members)
    expected.pop("ConsumedCapacity")
    assert orjson.loads(answered.text) == expected


# The general path words every error.
@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("GetItem", {"TableName": "nowhere", "Key": FIRST}),
        ("GetItem", {"TableName": "orders", "Key": ANN}),
        ("GetItem", {"TableName": "orders", "Key": FIRST | {"order": {"S": ""}}}),
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [FIRST, FIRST]}}}),
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": []}}}),
        ("BatchGetItem", {"RequestItems": {}}),
        ("Query", QUERY | {"ExpressionAttributeNames": {}}),
        ("Query", QUERY | {"ExpressionAttributeNames": {"#unused": "x"}}),
        ("Query", QUERY | {"Limit": 0}),
    ],
)
def test_errors_are_left_to_the_general_path(database: Database, operation: str, members: dict[str, Any]) -> None:
    assert FAST_READS[operation](database, orjson.dumps(members)) is None
    with pytest.raises(DynamoDBError):
        general_answer(database, operation, members)


# JSON escapes these characters, and the compiled readers of keys do not: a BatchGetItem was a 500.
@pytest.mark.parametrize("key", ['a"b', "a\\b", "a\nb"])
def test_key_names_that_json_escapes(database: Database, key: str) -> None:
    table = f"escaped-{ord(key[1])}"
    database.call(
        "CreateTable",
        {
            "TableName": table,
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    for operation, members in (
        ("GetItem", {"TableName": table, "Key": {key: {"S": "ann"}}}),
        ("BatchGetItem", {"RequestItems": {table: {"Keys": [{key: {"S": "ann"}}]}}}),
    ):
        database.call("PutItem", {"TableName": table, "Item": {key: {"S": "ann"}}})
        answered = FAST_READS[operation](database, orjson.dumps(members))
        expected = general_answer(database, operation, members)
        expected.pop("ConsumedCapacity")
        if answered is not None:
            assert isinstance(answered, FastAnswer)
            assert orjson.loads(answered.text) == expected


def put_on_both_paths(database: Database, members: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the fast and the general path answer, and leave in the store, each from the same state."""
    body = orjson.dumps(members)
    work = FAST_WRITES["PutItem"](database, body)
    assert work is not None
    results = []
    for path in (work, database.plan("PutItem", requests.decode("PutItem", body))):
        key = {name: members["Item"][name] for name in ("customer", "order")}
        database.call("DeleteItem", {"TableName": members["TableName"], "Key": key})
        answer = database.store.write(path)
        text = answer.text if isinstance(answer, FastAnswer) else to_json(answer)
        stored = database.call("GetItem", {"TableName": members["TableName"], "Key": key})
        count = database.call("DescribeTable", {"TableName": members["TableName"]})["Table"]
        results.append({"answer": orjson.loads(text), "stored": stored, "bytes": count["TableSizeBytes"]})
    return results[0], results[1]


@given(
    members=strategies.dictionaries(
        strategies.sampled_from(["a", "b", "zoë"]),
        strategies.sampled_from(
            [{"S": "é"}, {"N": "1.50"}, {"B": "AAE="}, {"SS": ["b", "a"]}, {"M": {"x": {"L": []}}}]
        ),
    )
)
def test_a_fast_put_leaves_what_a_general_put_leaves(database: Database, members: dict[str, Any]) -> None:
    item = {"customer": {"S": "put"}, "order": {"S": "2026-01"}} | members
    fast, general = put_on_both_paths(database, {"TableName": "orders", "Item": item})
    assert fast == general


# A table may get an index or a stream between the request and the commit.
def test_a_put_into_a_table_that_gets_a_stream_is_recorded() -> None:
    with closing(Database(None)) as database:
        create = {
            "TableName": "changing",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        database.call("CreateTable", create)
        body = orjson.dumps({"TableName": "changing", "Item": {"id": {"S": "x"}}})
        database.call("GetItem", {"TableName": "changing", "Key": {"id": {"S": "x"}}})
        work = FAST_WRITES["PutItem"](database, body)
        assert work is not None
        stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        arn = database.call("UpdateTable", {"TableName": "changing", "StreamSpecification": stream})
        answer = database.store.write(work)
        assert isinstance(answer, FastAnswer)
        assert answer.units == {"changing": 1.0}
        shard = database.call("DescribeStream", {"StreamArn": arn["TableDescription"]["LatestStreamArn"]})
        where = {
            "StreamArn": shard["StreamDescription"]["StreamArn"],
            "ShardId": shard["StreamDescription"]["Shards"][0]["ShardId"],
            "ShardIteratorType": "TRIM_HORIZON",
        }
        records = database.call("GetRecords", database.call("GetShardIterator", where))["Records"]
        assert [record["eventName"] for record in records] == ["INSERT"]
        assert check_database(database).problems == []


pairs_of_texts = strategies.tuples(texts, texts)


@given(table=tables, pairs=strategies.sets(pairs_of_texts, max_size=5), consistent=strategies.booleans())
def test_pairs_of_texts_find_what_their_keys_find(
    database: Database, table: str, pairs: set[tuple[str, str]], consistent: bool
) -> None:
    found = rows_by_text_keys(database, table, pairs, consistent, gaps=False)
    if found is None or not pairs:
        return
    wanted = [{"customer": {"S": customer}, "order": {"S": order}} for customer, order in pairs]
    request = {"RequestItems": {table: {"Keys": wanted, "ConsistentRead": consistent}}}
    expected = general_answer(database, "BatchGetItem", request)
    items = expected["Responses"][table]
    assert orjson.loads(found.items.text) == items
    assert found.number == len(items)
    assert found.units == expected["ConsumedCapacity"][0]["CapacityUnits"]
    with_gaps = rows_by_text_keys(database, table, pairs, consistent, gaps=True)
    assert with_gaps is not None
    by_key = {(item["customer"]["S"], item["order"]["S"]): item for item in items}
    assert orjson.loads(with_gaps.items.text) == [by_key.get(pair) for pair in pairs]
    assert (with_gaps.number, with_gaps.units) == (found.number, found.units)


def test_only_tables_with_two_text_keys_are_looked_up() -> None:
    with closing(Database(None)) as database:
        keys = [("p", "S", "HASH"), ("s", "N", "RANGE")]
        create = {
            "TableName": "numbers",
            "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, _, kind in keys],
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": type_} for key, type_, _ in keys],
            "BillingMode": "PAY_PER_REQUEST",
        }
        database.call("CreateTable", create)
        assert rows_by_text_keys(database, "numbers", [("x", "1")], consistent=False, gaps=False) is None
        assert rows_by_text_keys(database, "nowhere", [("x", "1")], consistent=False, gaps=False) is None


@pytest.mark.parametrize(
    "pair", [("", "x"), ("x", ""), ("y" * 300, "x"), ("x", "y" * 1025), ("x", "ä" * 513), ("x", "\ud800")]
)
def test_long_and_empty_texts_are_left_to_the_general_path(database: Database, pair: tuple[str, str]) -> None:
    assert rows_by_text_keys(database, "orders", [("x", "y"), pair], consistent=False, gaps=False) is None
