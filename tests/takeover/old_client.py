"""boto3 as the old program uses it, and the table that it created."""

from __future__ import annotations

import os
from typing import Any, Final

import boto3

from tests.takeover.legacy import Row

ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "takeover",
    "AWS_SECRET_ACCESS_KEY": "takeover",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
"""For all programs on the table: DynamoDB Local has other tables for other credentials."""


def old_client(url: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=ENVIRONMENT["AWS_DEFAULT_REGION"],
        aws_access_key_id=ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
    )


def environment() -> dict[str, str]:
    return {**os.environ, **ENVIRONMENT}


def create_table(client: Any, table: str) -> None:
    types = {"PK": "N", "SK": "S", "GSI1PK": "S", "GSI1SK": "S", "GSI2PK": "S", "GSI2SK": "N"}
    client.create_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": tag} for name, tag in types.items()],
        KeySchema=_key_schema("PK", "SK"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": index,
                "KeySchema": _key_schema(f"{index}PK", f"{index}SK"),
                "Projection": {"ProjectionType": "ALL"},
            }
            for index in ("GSI1", "GSI2")
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=table)
    client.update_time_to_live(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})


def _key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def put_all(client: Any, table: str, rows: list[Row]) -> None:
    """Puts up to 25 rows."""
    unprocessed = {table: [{"PutRequest": {"Item": row}} for row in rows]}
    while unprocessed:
        unprocessed = client.batch_write_item(RequestItems=unprocessed)["UnprocessedItems"]


def all_rows(client: Any, table: str) -> list[Row]:
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [row for page in pages for row in page["Items"]]
