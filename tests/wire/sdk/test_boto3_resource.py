"""boto3's resource: tables as objects, items as Python values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary

from tests.wire.sdk.orders import CREDENTIALS, orders
from tests.wire.sdk.test_boto3_client import records
from tests.wire.serving import ServerProcess


def test_session(server: ServerProcess) -> None:
    resource: Any = boto3.resource("dynamodb", endpoint_url=server.url, **CREDENTIALS)
    name = "boto3-resource"
    table = resource.create_table(**orders(name))
    table.wait_until_exists()
    first = {"customer": "ann", "number": 1, "status": "open", "amount": Decimal("12.50"), "tags": {"a", "b"}}
    table.put_item(Item=first | {"blob": Binary(b"\x00\xff"), "nested": {"list": [1, None, True]}})
    found = table.get_item(Key={"customer": "ann", "number": 1})["Item"]
    assert (found["amount"], found["tags"], found["blob"].value) == (Decimal("12.5"), {"a", "b"}, b"\x00\xff")

    ship = {
        "Key": {"customer": "ann", "number": 1},
        "UpdateExpression": "SET #s = :shipped ADD amount :more",
        "ConditionExpression": Attr("status").eq("open"),
        "ExpressionAttributeNames": {"#s": "status"},
        "ExpressionAttributeValues": {":shipped": "shipped", ":more": 1},
    }
    assert table.update_item(ReturnValues="UPDATED_NEW", **ship)["Attributes"]["amount"] == Decimal("13.5")
    with pytest.raises(resource.meta.client.exceptions.ConditionalCheckFailedException):
        table.update_item(**ship)

    with table.batch_writer() as batch:
        for number in range(2, 62):
            batch.put_item(Item={"customer": "ann", "number": number, "status": "open"})
    open_ones = table.query(IndexName="by-status", KeyConditionExpression=Key("status").eq("open"), Select="COUNT")
    assert open_ones["Count"] == 60

    seen = []
    page = table.query(KeyConditionExpression=Key("customer").eq("ann") & Key("number").gt(10), Limit=20)
    seen += page["Items"]
    while "LastEvaluatedKey" in page:
        page = table.query(
            KeyConditionExpression=Key("customer").eq("ann") & Key("number").gt(10),
            Limit=20,
            ExclusiveStartKey=page["LastEvaluatedKey"],
        )
        seen += page["Items"]
    assert [item["number"] for item in seen] == list(range(11, 62))

    keys = [{"customer": "ann", "number": number} for number in range(1, 100)]
    assert len(resource.batch_get_item(RequestItems={name: {"Keys": keys}})["Responses"][name]) == 61
    put = {"Put": {"TableName": name, "Item": {"customer": "bob", "number": 1}}}
    delete = {"Delete": {"TableName": name, "Key": {"customer": "ann", "number": 61}}}
    resource.meta.client.transact_write_items(TransactItems=[put, delete])
    assert len(records(server, resource.meta.client, name)) == 64
    table.delete()
    table.wait_until_not_exists()
