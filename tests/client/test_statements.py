"""A statement and the request that it is said to stand for have the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore import xform_name

import sortkey as sk
from sortkey.client import Client
from sortkey.client.statements import explain_statement
from sortkey.errors import ValidationException

KEY = {"id": {"S": "a"}, "seq": {"N": "1"}}


@pytest.fixture
def shop() -> Iterator[Client]:
    kinds = {"id": "S", "seq": "N", "city": "S"}

    def schema(*names: str) -> Any:
        return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=True)]

    index = {"IndexName": "by_city", "KeySchema": schema("city", "seq"), "Projection": {"ProjectionType": "ALL"}}
    with sk.client("memory:") as client:
        client.create_table(
            TableName="shop",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()],
            KeySchema=schema("id", "seq"),
            GlobalSecondaryIndexes=[index],
            BillingMode="PAY_PER_REQUEST",
        )
        for seq in range(4):
            item = {"city": {"S": "Rome"}, "n": {"N": str(seq)}, "date": {"S": "d"}, "m": {"M": {"x": {"N": "1"}}}}
            client.put_item(TableName="shop", Item=KEY | {"seq": {"N": str(seq)}} | item)
        yield client


@pytest.mark.parametrize(
    ("statement", "operation"),
    [
        ("SELECT * FROM shop WHERE id = 'a' AND seq = 1", "GetItem"),
        ('SELECT n, "date" FROM shop WHERE seq = 2 AND id = ?', "GetItem"),
        ("SELECT * FROM shop WHERE id = 'a'", "Query"),
        ("SELECT seq FROM shop WHERE id = 'a' AND seq BETWEEN 1 AND 2 AND \"date\" = 'd' ORDER BY seq DESC", "Query"),
        ('SELECT * FROM "shop"."by_city" WHERE city = \'Rome\' AND 1 < seq AND (n = 2 OR m.x = 2)', "Query"),
        ("SELECT * FROM shop WHERE NOT (n IN [1, 2] AND size(city) = 4) OR n IS MISSING", "Scan"),
        ("SELECT * FROM shop WHERE m.x >= 1 AND begins_with(city, 'Ro') AND n IS NOT NULL", "Scan"),
        ("SELECT * FROM shop", "Scan"),
    ],
)
def test_reads(shop: Client, statement: str, operation: str) -> None:
    meant = explain_statement(shop, statement, [KEY["id"]] if "?" in statement else ())
    assert (meant.operation, meant.requests) == (operation, 1)
    answer = getattr(shop, xform_name(operation))(**meant.request)
    items = answer["Items"] if "Items" in answer else [answer["Item"]]
    parameters = {"Parameters": [KEY["id"]]} if "?" in statement else {}
    assert shop.execute_statement(Statement=statement, **parameters)["Items"] == items != []


@pytest.mark.parametrize(
    ("statement", "operation"),
    [
        ("INSERT INTO shop VALUE {'id': 'a', 'seq': 9, 's': <<'x'>>}", "PutItem"),
        (
            "UPDATE shop SET n = n + 5, t = set_add(t, <<'x'>>), m.y = 2 REMOVE city "
            "WHERE id = 'a' AND seq = 1 AND n = 1 RETURNING ALL NEW *",
            "UpdateItem",
        ),
        ("DELETE FROM shop WHERE id = 'a' AND seq = 1 AND n < 2 RETURNING ALL OLD *", "DeleteItem"),
    ],
)
def test_writes(shop: Client, statement: str, operation: str) -> None:
    before = shop.scan(TableName="shop")["Items"]
    meant = explain_statement(shop, statement)
    assert meant.operation == operation
    answer = getattr(shop, xform_name(operation))(**meant.request)
    after = shop.scan(TableName="shop")["Items"]
    for item in after:
        shop.delete_item(TableName="shop", Key={name: item[name] for name in KEY})
    for item in before:
        shop.put_item(TableName="shop", Item=item)
    found = shop.execute_statement(Statement=statement)["Items"]
    assert found == ([answer["Attributes"]] if "Attributes" in answer else [])
    assert shop.scan(TableName="shop")["Items"] == after != before


def test_a_read_of_several_partitions_is_several_requests(shop: Client) -> None:
    meant = explain_statement(shop, "SELECT * FROM shop WHERE id IN ['a', ?, 'a']", [{"S": "b"}])
    assert (meant.operation, meant.requests) == ("Query", 2)
    assert meant.request["ExpressionAttributeValues"] == {":0": {"S": "a"}}


def test_a_write_needs_the_key(shop: Client) -> None:
    with pytest.raises(ValidationException, match="mandatory equality on all key attributes"):
        explain_statement(shop, "UPDATE shop SET n = 1 WHERE id = 'a'")
