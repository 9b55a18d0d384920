"""Fifty tests of a program that uses boto3, as people write them for moto: a client and a resource for each.

`python -m benchmarks._boto3_tests WAY [URL]` runs them all in one of four ways, prints how long each took, as JSON, and
ends with 1 if one failed.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from importlib import import_module
from time import perf_counter
from typing import Any, Final

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

Test = Callable[["Aws"], None]
TESTS: Final[list[Test]] = []
PEOPLE: Final = "people"
ORDERS: Final = "orders"


class Aws:
    """What a test has of boto3. Each test makes its own, as tests under moto do."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.client: Any = boto3.client("dynamodb", **options)
        self.resource: Any = boto3.resource("dynamodb", **options)

    def streams(self) -> Any:
        return boto3.client("dynamodbstreams", **self._options)

    def people(self, **options: Any) -> Any:
        """A table with a partition key alone."""
        return self.resource.create_table(
            TableName=PEOPLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            **options,
        )

    def orders(self, rows: int = 0) -> Any:
        """A table with a sort key, a global and a local index, and so many orders of two customers."""
        index = {"Projection": {"ProjectionType": "ALL"}}
        table = self.resource.create_table(
            TableName=ORDERS,
            KeySchema=[_key("customer", "HASH"), _key("number", "RANGE")],
            AttributeDefinitions=[
                {"AttributeName": "customer", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
                {"AttributeName": "status", "AttributeType": "S"},
                {"AttributeName": "total", "AttributeType": "N"},
            ],
            GlobalSecondaryIndexes=[
                {"IndexName": "by-status", "KeySchema": [_key("status", "HASH"), _key("number", "RANGE")], **index}
            ],
            LocalSecondaryIndexes=[
                {"IndexName": "by-total", "KeySchema": [_key("customer", "HASH"), _key("total", "RANGE")], **index}
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        with table.batch_writer() as batch:
            for number in range(rows):
                batch.put_item(Item=order("ada" if number % 2 else "bob", number))
        return table


def _key(name: str, kind: str) -> dict[str, str]:
    return {"AttributeName": name, "KeyType": kind}


def order(customer: str, number: int) -> dict[str, Any]:
    status = "PAID" if number % 3 else "OPEN"
    return {"customer": customer, "number": number, "status": status, "total": 100 - number, "note": f"note {number}"}


def test(function: Test) -> Test:
    TESTS.append(function)
    return function


@contextmanager
def fails(code: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] != code:
            raise
    else:
        raise AssertionError(f"no {code}")


def numbers(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["number"]) for item in items]


# Tables


@test
def a_table_is_described(aws: Aws) -> None:
    aws.orders()
    table = aws.client.describe_table(TableName=ORDERS)["Table"]
    assert table["TableStatus"] == "ACTIVE"
    assert [each["IndexName"] for each in table["GlobalSecondaryIndexes"]] == ["by-status"]


@test
def a_waiter_waits_for_a_table(aws: Aws) -> None:
    aws.people()
    aws.client.get_waiter("table_exists").wait(TableName=PEOPLE)
    assert aws.resource.Table(PEOPLE).table_status == "ACTIVE"


@test
def tables_are_listed_by_pages(aws: Aws) -> None:
    aws.people()
    aws.orders()
    pages = aws.client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
    assert sorted(name for page in pages for name in page["TableNames"]) == [ORDERS, PEOPLE]


@test
def a_table_is_not_created_twice(aws: Aws) -> None:
    aws.people()
    with fails("ResourceInUseException"):
        aws.people()


@test
def a_missing_table_is_an_error(aws: Aws) -> None:
    with fails("ResourceNotFoundException"):
        aws.client.describe_table(TableName=PEOPLE)
    with fails("ResourceNotFoundException"):
        aws.resource.Table(PEOPLE).get_item(Key={"id": "ada"})


@test
def a_table_is_deleted(aws: Aws) -> None:
    aws.people().delete()
    aws.client.get_waiter("table_not_exists").wait(TableName=PEOPLE)
    assert aws.client.list_tables()["TableNames"] == []


@test
def a_table_changes_its_billing(aws: Aws) -> None:
    aws.people()
    throughput = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    aws.client.update_table(TableName=PEOPLE, BillingMode="PROVISIONED", ProvisionedThroughput=throughput)
    table = aws.client.describe_table(TableName=PEOPLE)["Table"]
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


@test
def a_table_has_a_ttl(aws: Aws) -> None:
    aws.people()
    setting = {"Enabled": True, "AttributeName": "expires"}
    aws.client.update_time_to_live(TableName=PEOPLE, TimeToLiveSpecification=setting)
    described = aws.client.describe_time_to_live(TableName=PEOPLE)["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


@test
def an_item_with_a_ttl_in_the_future_stays(aws: Aws) -> None:
    people = aws.people()
    setting = {"Enabled": True, "AttributeName": "expires"}
    aws.client.update_time_to_live(TableName=PEOPLE, TimeToLiveSpecification=setting)
    people.put_item(Item={"id": "ada", "expires": 4_000_000_000})
    assert people.get_item(Key={"id": "ada"})["Item"]["expires"] == 4_000_000_000


# Items


@test
def an_item_is_put_and_read(aws: Aws) -> None:
    aws.people()
    aws.client.put_item(TableName=PEOPLE, Item={"id": {"S": "ada"}, "age": {"N": "36"}})
    found = aws.client.get_item(TableName=PEOPLE, Key={"id": {"S": "ada"}}, ConsistentRead=True)
    assert found["Item"] == {"id": {"S": "ada"}, "age": {"N": "36"}}


@test
def a_missing_item_is_no_error(aws: Aws) -> None:
    assert "Item" not in aws.people().get_item(Key={"id": "ada"})


@test
def every_type_comes_back(aws: Aws) -> None:
    item = {
        "id": "ada",
        "number": Decimal("1.5"),
        "list": [1, "two", None, True],
        "map": {"deep": {"deeper": [{"deepest": Decimal("-3")}]}},
        "texts": {"a", "b"},
        "numbers": {Decimal(1), Decimal(2)},
    }
    people = aws.people()
    people.put_item(Item=item | {"binary": b"\0\1"})
    found = people.get_item(Key={"id": "ada"})["Item"]
    assert found.pop("binary").value == b"\0\1"
    assert found == item


@test
def a_put_returns_what_was_there(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "age": 36})
    old = people.put_item(Item={"id": "ada", "age": 37}, ReturnValues="ALL_OLD")
    assert old["Attributes"] == {"id": "ada", "age": 36}


@test
def a_put_that_must_be_new(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada"}, ConditionExpression=Attr("id").not_exists())
    with fails("ConditionalCheckFailedException"):
        people.put_item(Item={"id": "ada"}, ConditionExpression=Attr("id").not_exists())


@test
def a_condition_on_values(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "age": 36, "tags": {"x"}})
    condition = Attr("age").between(30, 40) & Attr("tags").contains("x") & ~Attr("left").exists()
    people.put_item(Item={"id": "ada", "age": 41}, ConditionExpression=condition)
    with fails("ConditionalCheckFailedException"):
        people.put_item(Item={"id": "ada", "age": 42}, ConditionExpression=condition)


@test
def an_update_sets_and_removes(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "age": 36, "former": 1})
    answer = people.update_item(
        Key={"id": "ada"},
        UpdateExpression="SET #n = :n, age = age + :one REMOVE former",
        ExpressionAttributeNames={"#n": "name"},
        ExpressionAttributeValues={":n": "Ada", ":one": 1},
        ReturnValues="ALL_NEW",
    )
    assert answer["Attributes"] == {"id": "ada", "age": 37, "name": "Ada"}


@test
def an_update_counts(aws: Aws) -> None:
    people = aws.people()
    for _ in range(3):
        people.update_item(Key={"id": "ada"}, UpdateExpression="ADD visits :one", ExpressionAttributeValues={":one": 1})
    assert people.get_item(Key={"id": "ada"})["Item"]["visits"] == 3


@test
def an_update_changes_sets_and_lists(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "tags": {"a", "b"}, "log": [1]})
    people.update_item(
        Key={"id": "ada"},
        UpdateExpression="SET #log = list_append(#log, :two) DELETE tags :a",
        ExpressionAttributeNames={"#log": "log"},
        ExpressionAttributeValues={":two": [2], ":a": {"a"}},
    )
    assert people.get_item(Key={"id": "ada"})["Item"] == {"id": "ada", "tags": {"b"}, "log": [1, 2]}


@test
def an_update_within_a_document(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "address": {"city": "London", "lines": ["a", "b"]}})
    answer = people.update_item(
        Key={"id": "ada"},
        UpdateExpression="SET address.city = :city, address.#l[1] = :line",
        ExpressionAttributeNames={"#l": "lines"},
        ExpressionAttributeValues={":city": "Paris", ":line": "c"},
        ReturnValues="UPDATED_NEW",
    )
    assert answer["Attributes"]["address"]["city"] == "Paris"
    assert people.get_item(Key={"id": "ada"})["Item"]["address"] == {"city": "Paris", "lines": ["a", "c"]}


@test
def an_update_with_a_default(aws: Aws) -> None:
    people = aws.people()
    for _ in range(2):
        people.update_item(
            Key={"id": "ada"},
            UpdateExpression="SET score = if_not_exists(score, :start) + :step",
            ExpressionAttributeValues={":start": 10, ":step": 5},
        )
    assert people.get_item(Key={"id": "ada"})["Item"]["score"] == 20


@test
def an_update_that_must_find_its_item(aws: Aws) -> None:
    with fails("ConditionalCheckFailedException"):
        aws.people().update_item(
            Key={"id": "ada"},
            UpdateExpression="SET age = :age",
            ConditionExpression="attribute_exists(id)",
            ExpressionAttributeValues={":age": 1},
        )


@test
def an_item_is_deleted(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "age": 36})
    assert people.delete_item(Key={"id": "ada"}, ReturnValues="ALL_OLD")["Attributes"]["age"] == 36
    assert "Item" not in people.get_item(Key={"id": "ada"})


@test
def a_delete_with_a_condition(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "age": 36})
    with fails("ConditionalCheckFailedException"):
        people.delete_item(Key={"id": "ada"}, ConditionExpression=Attr("age").lt(30))
    people.delete_item(Key={"id": "ada"}, ConditionExpression=Attr("age").gte(30))


@test
def a_projection_of_a_read(aws: Aws) -> None:
    people = aws.people()
    people.put_item(Item={"id": "ada", "name": "Ada", "address": {"city": "London", "zip": "1"}})
    found = people.get_item(
        Key={"id": "ada"}, ProjectionExpression="#n, address.city", ExpressionAttributeNames={"#n": "name"}
    )
    assert found["Item"] == {"name": "Ada", "address": {"city": "London"}}


@test
def the_capacity_of_a_write(aws: Aws) -> None:
    people = aws.people()
    answer = people.put_item(Item={"id": "ada", "text": "x" * 1500}, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"]["TableName"] == PEOPLE


# Queries


@test
def a_query_of_a_partition(aws: Aws) -> None:
    found = aws.orders(20).query(KeyConditionExpression=Key("customer").eq("ada"))
    assert numbers(found["Items"]) == list(range(1, 20, 2))


@test
def a_query_of_a_range(aws: Aws) -> None:
    condition = Key("customer").eq("ada") & Key("number").between(5, 11)
    assert numbers(aws.orders(20).query(KeyConditionExpression=condition)["Items"]) == [5, 7, 9, 11]


@test
def a_query_downward(aws: Aws) -> None:
    condition = Key("customer").eq("bob")
    found = aws.orders(20).query(KeyConditionExpression=condition, ScanIndexForward=False, Limit=3)
    assert numbers(found["Items"]) == [18, 16, 14]


@test
def a_query_by_pages(aws: Aws) -> None:
    table = aws.orders(20)
    options: dict[str, Any] = {"KeyConditionExpression": Key("customer").eq("ada"), "Limit": 4}
    seen: list[int] = []
    last = None
    while last is not None or not seen:
        page = table.query(**options, **({} if last is None else {"ExclusiveStartKey": last}))
        seen += numbers(page["Items"])
        last = page.get("LastEvaluatedKey")
    assert seen == list(range(1, 20, 2))


@test
def a_paginator_of_a_query(aws: Aws) -> None:
    aws.orders(30)
    pages = aws.client.get_paginator("query").paginate(
        TableName=ORDERS,
        KeyConditionExpression="customer = :customer",
        ExpressionAttributeValues={":customer": {"S": "ada"}},
        PaginationConfig={"PageSize": 5},
    )
    assert sum(page["Count"] for page in pages) == 15


@test
def a_query_with_a_filter(aws: Aws) -> None:
    condition, wanted = Key("customer").eq("ada"), Attr("status").eq("OPEN")
    found = aws.orders(20).query(KeyConditionExpression=condition, FilterExpression=wanted)
    assert (numbers(found["Items"]), found["ScannedCount"]) == ([3, 9, 15], 10)


@test
def a_query_that_counts(aws: Aws) -> None:
    found = aws.orders(20).query(KeyConditionExpression=Key("customer").eq("ada"), Select="COUNT")
    assert found["Count"] == 10
    assert "Items" not in found


@test
def a_query_of_a_global_index(aws: Aws) -> None:
    found = aws.orders(20).query(IndexName="by-status", KeyConditionExpression=Key("status").eq("OPEN"))
    assert numbers(found["Items"]) == [0, 3, 6, 9, 12, 15, 18]


@test
def a_query_of_a_local_index(aws: Aws) -> None:
    condition = Key("customer").eq("ada") & Key("total").lt(90)
    found = aws.orders(20).query(IndexName="by-total", KeyConditionExpression=condition)
    assert numbers(found["Items"]) == [19, 17, 15, 13, 11]


@test
def a_query_without_its_partition_key_is_an_error(aws: Aws) -> None:
    with fails("ValidationException"):
        aws.orders().query(KeyConditionExpression=Key("number").eq(1))


# Scans


@test
def a_scan_with_a_filter(aws: Aws) -> None:
    found = aws.orders(20).scan(FilterExpression=Attr("number").gte(15) & Attr("note").begins_with("note"))
    assert sorted(numbers(found["Items"])) == [15, 16, 17, 18, 19]


@test
def a_paginator_of_a_scan(aws: Aws) -> None:
    aws.orders(30)
    pages = aws.client.get_paginator("scan").paginate(TableName=ORDERS, PaginationConfig={"PageSize": 7})
    assert sum(page["Count"] for page in pages) == 30


@test
def a_scan_in_segments(aws: Aws) -> None:
    table = aws.orders(20)
    found = [table.scan(Segment=segment, TotalSegments=3)["Items"] for segment in range(3)]
    assert sorted(number for items in found for number in numbers(items)) == list(range(20))


# Batches


@test
def a_batch_of_writes(aws: Aws) -> None:
    aws.people()
    puts = [{"PutRequest": {"Item": {"id": {"S": f"{number}"}}}} for number in range(25)]
    assert aws.client.batch_write_item(RequestItems={PEOPLE: puts})["UnprocessedItems"] == {}
    deletes = [{"DeleteRequest": {"Key": {"id": {"S": f"{number}"}}}} for number in range(10)]
    aws.client.batch_write_item(RequestItems={PEOPLE: deletes})
    assert aws.client.scan(TableName=PEOPLE, Select="COUNT")["Count"] == 15


@test
def a_batch_of_reads(aws: Aws) -> None:
    aws.orders(20)
    keys = [{"customer": {"S": "ada"}, "number": {"N": f"{number}"}} for number in range(10)]
    found = aws.client.batch_get_item(RequestItems={ORDERS: {"Keys": keys}})
    assert len(found["Responses"][ORDERS]) == 5


@test
def a_batch_writer(aws: Aws) -> None:
    table = aws.orders(60)
    with table.batch_writer() as batch:
        for number in range(0, 60, 2):
            batch.delete_item(Key={"customer": "bob", "number": number})
    assert table.scan(Select="COUNT")["Count"] == 30


@test
def a_batch_with_a_key_twice_is_an_error(aws: Aws) -> None:
    aws.people()
    put = {"PutRequest": {"Item": {"id": {"S": "ada"}}}}
    with fails("ValidationException"):
        aws.client.batch_write_item(RequestItems={PEOPLE: [put, put]})


# Transactions


def _transfer(amount: str) -> list[dict[str, Any]]:
    def change(person: str, sign: str) -> dict[str, Any]:
        return {
            "TableName": PEOPLE,
            "Key": {"id": {"S": person}},
            "UpdateExpression": f"SET money = money {sign} :amount",
            "ConditionExpression": "money >= :amount",
            "ExpressionAttributeValues": {":amount": {"N": amount}},
        }

    return [{"Update": change("ada", "-")}, {"Update": change("bob", "+")}]


def _accounts(aws: Aws) -> Any:
    people = aws.people()
    for person in ("ada", "bob"):
        people.put_item(Item={"id": person, "money": 100})
    return people


@test
def a_transaction_writes_all(aws: Aws) -> None:
    people = _accounts(aws)
    aws.client.transact_write_items(TransactItems=_transfer("30"))
    assert [people.get_item(Key={"id": person})["Item"]["money"] for person in ("ada", "bob")] == [70, 130]


@test
def a_transaction_writes_nothing_if_a_condition_fails(aws: Aws) -> None:
    people = _accounts(aws)
    people.put_item(Item={"id": "bob", "money": 1})
    with fails("TransactionCanceledException"):
        aws.client.transact_write_items(TransactItems=_transfer("30"))
    assert people.get_item(Key={"id": "ada"})["Item"]["money"] == 100


@test
def a_transaction_says_why(aws: Aws) -> None:
    _accounts(aws).delete_item(Key={"id": "bob"})
    try:
        aws.client.transact_write_items(TransactItems=_transfer("30"))
    except aws.client.exceptions.TransactionCanceledException as error:
        codes = [reason["Code"] for reason in error.response["CancellationReasons"]]
        assert codes == ["None", "ConditionalCheckFailed"]
    else:
        raise AssertionError("not cancelled")


@test
def a_transaction_of_several_kinds(aws: Aws) -> None:
    people = _accounts(aws)
    check = {"TableName": PEOPLE, "Key": {"id": {"S": "ada"}}, "ConditionExpression": "attribute_exists(id)"}
    aws.client.transact_write_items(
        TransactItems=[
            {"ConditionCheck": check},
            {"Put": {"TableName": PEOPLE, "Item": {"id": {"S": "eve"}}}},
            {"Delete": {"TableName": PEOPLE, "Key": {"id": {"S": "bob"}}}},
        ]
    )
    assert {item["id"] for item in people.scan()["Items"]} == {"ada", "eve"}


@test
def a_transaction_of_reads(aws: Aws) -> None:
    _accounts(aws)
    gets = [{"Get": {"TableName": PEOPLE, "Key": {"id": {"S": person}}}} for person in ("ada", "nobody")]
    answers = aws.client.transact_get_items(TransactItems=gets)["Responses"]
    assert [answer.get("Item", {}).get("id") for answer in answers] == [{"S": "ada"}, None]


# Streams


def _stream(aws: Aws, view: str) -> tuple[Any, Callable[[], list[dict[str, Any]]]]:
    people = aws.people(StreamSpecification={"StreamEnabled": True, "StreamViewType": view})
    arn = aws.client.describe_table(TableName=PEOPLE)["Table"]["LatestStreamArn"]
    streams = aws.streams()

    def records() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            found += streams.get_records(ShardIterator=iterator)["Records"]
        return found

    return people, records


@test
def a_stream_has_every_change(aws: Aws) -> None:
    people, records = _stream(aws, "NEW_AND_OLD_IMAGES")
    people.put_item(Item={"id": "ada", "age": 1})
    people.put_item(Item={"id": "ada", "age": 2})
    people.delete_item(Key={"id": "ada"})
    found = records()
    assert [record["eventName"] for record in found] == ["INSERT", "MODIFY", "REMOVE"]
    assert found[1]["dynamodb"]["OldImage"]["age"] == {"N": "1"}


@test
def a_stream_of_keys(aws: Aws) -> None:
    people, records = _stream(aws, "KEYS_ONLY")
    people.put_item(Item={"id": "ada", "age": 1})
    (record,) = records()
    assert record["dynamodb"]["Keys"] == {"id": {"S": "ada"}}
    assert "NewImage" not in record["dynamodb"]


# Errors


@test
def an_item_without_its_key_is_an_error(aws: Aws) -> None:
    with fails("ValidationException"):
        aws.orders().put_item(Item={"customer": "ada"})


@test
def a_wrong_expression_is_an_error(aws: Aws) -> None:
    with fails("ValidationException"):
        aws.people().update_item(Key={"id": "ada"}, UpdateExpression="SET = 1")


@contextmanager
def moto(**settings: Any) -> Iterator[Aws]:
    with import_module("moto").mock_aws(**settings):
        yield Aws()


@contextmanager
def moto_with_boto3s_session() -> Iterator[Aws]:
    """moto makes boto3 forget its session, so that botocore's model is loaded again; this is its setting to keep it."""
    with moto(config={"core": {"reset_boto3_session": False}}) as aws:
        yield aws


@contextmanager
def in_process() -> Iterator[Aws]:
    with import_module("sortkey.testing").local():
        yield Aws()


@contextmanager
def endpoint(url: str) -> Iterator[Aws]:
    """The tables of a test are deleted after it."""
    aws = Aws(endpoint_url=url)
    try:
        yield aws
    finally:
        for name in aws.client.list_tables()["TableNames"]:
            aws.client.delete_table(TableName=name)


WAYS: Final[dict[str, tuple[str, Callable[..., AbstractContextManager[Aws]]]]] = {
    "local": ("sortkey.testing", in_process),
    "moto": ("moto", moto),
    "moto-kept": ("moto", moto_with_boto3s_session),
    "endpoint": ("boto3", endpoint),
}
"""By name: the module that a test program imports, and what is around a test."""


def main(way: str, *arguments: str) -> int:
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
    module, around = WAYS[way]
    import_module(module)
    seconds: dict[str, float] = {}
    failed = 0
    for each in TESTS:
        began = perf_counter()
        try:
            with around(*arguments) as aws:
                each(aws)
        except Exception:  # noqa: BLE001 - a failed test is shown, and the others go on
            failed += 1
            sys.stderr.write(f"{each.__name__}: {traceback.format_exc()}\n")
        seconds[each.__name__] = perf_counter() - began
    json.dump(seconds, sys.stdout)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
