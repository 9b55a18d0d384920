"""The prefix of table names is invisible to callers, in every shape that names a table."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.client.prefixed import TableNames
from sortkey.client.stores import ALTERNATOR
from tests.client.orders import EVERY_TYPE, ORDERS, key
from tests.stores import needs

NAMES = TableNames("dev-")


@pytest.fixture
def url(store: str) -> str:
    """Any store, prefixed once more where it is already."""
    return f"{store}dev-" if "?" in store else f"{store}?prefix=dev-"


def test_two_prefixes_are_two_worlds(store: str) -> None:
    bare, _, prefix = store.partition("?prefix=")
    if bare == "memory:":
        pytest.skip("each client in memory has a store of its own")
    with sk.client(f"{bare}?prefix={prefix}a-") as one, sk.client(f"{bare}?prefix={prefix}b-") as other:
        one.create_table(**ORDERS)
        assert other.list_tables()["TableNames"] == []
        other.create_table(**ORDERS)
        one.put_item(TableName="orders", Item=EVERY_TYPE)
        assert other.scan(TableName="orders")["Count"] == 0
        with sk.client(store) as both:
            assert both.list_tables()["TableNames"] == ["a-orders", "b-orders"]


def test_answers_name_the_table_as_it_was_asked_for(url: str) -> None:
    with sk.client(url) as client:
        needs(client.capabilities(), "consumed_capacity")
        assert client.create_table(**ORDERS)["TableDescription"]["TableName"] == "orders"
        assert client.describe_table(TableName="orders")["Table"]["TableName"] == "orders"
        assert client.list_tables()["TableNames"] == ["orders"]
        put = client.put_item(TableName="orders", Item=EVERY_TYPE, ReturnConsumedCapacity="TOTAL")
        assert put["ConsumedCapacity"]["TableName"] == "orders"
        got = client.batch_get_item(RequestItems={"orders": {"Keys": [key(1)]}}, ReturnConsumedCapacity="TOTAL")
        assert got["Responses"] == {"orders": [EVERY_TYPE]}
        assert got["ConsumedCapacity"][0]["TableName"] == "orders"
        client.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": key(2)}}]})
        client.transact_write_items(TransactItems=[{"Delete": {"TableName": "orders", "Key": key(2)}}])
        found = client.transact_get_items(
            TransactItems=[{"Get": {"TableName": "orders", "Key": key(number)}} for number in (1, 2)]
        )
        assert found["Responses"] == [{"Item": EVERY_TYPE}, {}]
        assert client.delete_table(TableName="orders")["TableDescription"]["TableName"] == "orders"


def test_statements_name_the_table_as_the_caller_does(url: str) -> None:
    with sk.client(url) as client:
        if client.capabilities() == ALTERNATOR:
            pytest.skip("needs PartiQL")
        client.create_table(**ORDERS)
        client.put_item(TableName="orders", Item=EVERY_TYPE)
        where = f"WHERE {' AND '.join(f'{name} = ?' for name in key(1))}"
        select = {"Statement": f"SELECT * FROM orders {where}", "Parameters": [*key(1).values()]}
        answer = client.execute_statement(**select, ReturnConsumedCapacity="TOTAL")
        assert answer["Items"] == [EVERY_TYPE]
        # DynamoDB Local reports none.
        assert answer.get("ConsumedCapacity", {"TableName": "orders"})["TableName"] == "orders"
        (response,) = client.batch_execute_statement(Statements=[select])["Responses"]
        assert response == {"TableName": "orders", "Item": EVERY_TYPE}
        delete = select | {"Statement": f"DELETE FROM /* its */ orders {where}"}
        client.execute_transaction(TransactStatements=[delete])
        assert client.scan(TableName="orders")["Count"] == 0
        # What is not understood could reach a table without the prefix.
        with pytest.raises(ClientError, match="well formed"):
            client.execute_statement(Statement="SELECT * FROM orders WHERE")


@pytest.mark.parametrize(
    ("statement", "prefixed"),
    [
        ("SELECT * FROM orders", 'SELECT * FROM "dev-orders"'),
        ('select "orders" from "orders"."by_a"', 'select "orders" from "dev-orders"."by_a"'),
        ("UPDATE orders SET orders = 'orders'", "UPDATE \"dev-orders\" SET orders = 'orders'"),
        ("INSERT INTO orders VALUE {'orders': ?}", "INSERT INTO \"dev-orders\" VALUE {'orders': ?}"),
    ],
)
def test_the_prefix_in_statements(statement: str, prefixed: str) -> None:
    assert NAMES.add("ExecuteStatement", {"Statement": statement}) == {"Statement": prefixed}


def test_so_do_backups_and_what_is_restored() -> None:
    with sk.client("memory:?prefix=dev-") as client:
        client.create_table(**ORDERS)
        arn = client.create_backup(TableName="orders", BackupName="daily")["BackupDetails"]["BackupArn"]
        described = client.describe_backup(BackupArn=arn)["BackupDescription"]
        assert described["SourceTableDetails"]["TableName"] == "orders"
        (summary,) = client.list_backups(TableName="orders")["BackupSummaries"]
        assert summary["TableName"] == "orders"
        client.update_continuous_backups(
            TableName="orders", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        restored = client.restore_table_to_point_in_time(
            SourceTableName="orders", TargetTableName="restored", UseLatestRestorableTime=True
        )
        assert restored["TableDescription"]["TableName"] == "restored"
        assert "restored" in client.list_tables()["TableNames"]


# An ARN comes from an answer, and names the table as the store does.
def test_arns_are_left_alone() -> None:
    members = {"TableName": "arn:aws:dynamodb:eu-west-1:1:table/dev-orders", "ResourceArn": "arn:aws:x"}
    assert NAMES.add("DescribeTable", members) == members


def test_listing_goes_page_by_page_and_ends_with_the_prefix(url: str) -> None:
    with sk.client(url) as client:
        for name in ("aaa", "bbb", "ccc"):
            client.create_table(**{**ORDERS, "TableName": name})
        pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
        assert [page["TableNames"] for page in pages] == [["aaa", "bbb"], ["ccc"]]


# Attributes may be called anything.
def test_items_are_left_alone() -> None:
    item: dict[str, Any] = {"TableName": {"S": "orders"}, "Responses": {"M": {"dev-x": {"S": ""}}}}
    request = {"TableName": "orders", "Item": item}
    assert NAMES.add("PutItem", request) == {"TableName": "dev-orders", "Item": item}
    assert NAMES.strip("GetItem", {"Item": item}) == {"Item": item}
    assert request["TableName"] == "orders"


def test_what_was_not_processed_can_be_sent_again() -> None:
    keys = {"Keys": [key(1)]}
    answer = NAMES.strip("BatchGetItem", {"Responses": {}, "UnprocessedKeys": {"dev-orders": keys}})
    assert answer["UnprocessedKeys"] == {"orders": keys}
    assert NAMES.add("BatchGetItem", {"RequestItems": answer["UnprocessedKeys"]}) == {
        "RequestItems": {"dev-orders": keys}
    }


# botocore says what is wrong with it, in its own words.
@pytest.mark.parametrize(
    "members",
    [{"TableName": 5}, {"Statement": 5}, {"Statements": ["x"]}, {"TransactItems": ["x"]}, {"RequestItems": []}],
)
def test_mistakes_are_passed_on(members: dict[str, Any]) -> None:
    assert NAMES.add("PutItem", members) == members
