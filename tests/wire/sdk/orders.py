"""The table that every SDK's session works on, in the low-level shapes that most of them share."""

from __future__ import annotations

from typing import Any

CREDENTIALS: dict[str, Any] = {
    "aws_access_key_id": "AKIDEXAMPLE",
    "aws_secret_access_key": "secret",
    "region_name": "eu-west-1",
}


def orders(name: str) -> dict[str, Any]:
    """Orders of customers, found by status through an index, with a stream of changes."""
    return {
        "TableName": name,
        "AttributeDefinitions": [
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "number", "AttributeType": "N"},
            {"AttributeName": "status", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "number", "KeyType": "RANGE"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-status",
                "KeySchema": [
                    {"AttributeName": "status", "KeyType": "HASH"},
                    {"AttributeName": "number", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def order(number: int, status: str = "open") -> dict[str, Any]:
    return {
        "customer": {"S": "ann"},
        "number": {"N": str(number)},
        "status": {"S": status},
        "note": {"S": "größer ☃"},
    }


def key(number: int) -> dict[str, Any]:
    return {"customer": {"S": "ann"}, "number": {"N": str(number)}}


SHIP: dict[str, Any] = {
    "UpdateExpression": "SET #s = :shipped",
    "ConditionExpression": "#s = :open",
    "ExpressionAttributeNames": {"#s": "status"},
    "ExpressionAttributeValues": {":shipped": {"S": "shipped"}, ":open": {"S": "open"}},
}
BY_STATUS: dict[str, Any] = {
    "IndexName": "by-status",
    "KeyConditionExpression": "#s = :open",
    "ExpressionAttributeNames": {"#s": "status"},
    "ExpressionAttributeValues": {":open": {"S": "open"}},
}
OF_ANN: dict[str, Any] = {
    "KeyConditionExpression": "customer = :ann",
    "ExpressionAttributeValues": {":ann": {"S": "ann"}},
}
