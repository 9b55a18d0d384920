"""Vector indexes through boto3: the shapes of AWS's service model, on our endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.wire.sdk.orders import CREDENTIALS

TABLE = "sdk-vectors"


@pytest.fixture
def client(our_endpoint: str) -> Iterator[Any]:
    client = boto3.client("dynamodb", endpoint_url=our_endpoint, **CREDENTIALS)
    if not hasattr(client, "search_vectors"):
        pytest.skip("this boto3 is older than vector indexes")
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[
            {
                "IndexName": "near",
                "VectorAttribute": {"AttributeName": "vector"},
                "SearchSchema": [{"AttributeName": "kind", "SearchSchemaElementType": "INLINE_FILTER"}],
                "Projection": {"ProjectionType": "ALL"},
                "Dimensions": 3,
                "DistanceFunction": "COSINE",
            }
        ],
    )
    yield client
    client.delete_table(TableName=TABLE)


@pytest.mark.slow
def test_a_session_of_boto3(client: Any, our_endpoint: str) -> None:
    (described,) = client.describe_table(TableName=TABLE)["Table"]["VectorIndexes"]
    assert (described["IndexStatus"], described["Dimensions"], described["ItemCount"]) == ("ACTIVE", 3, 0)
    table = boto3.resource("dynamodb", endpoint_url=our_endpoint, **CREDENTIALS).Table(TABLE)
    for name, vector in (("a", (1, 0, 0)), ("b", (0, 1, 0)), ("c", (1, 1, 0))):
        item = {"id": name, "kind": "x" if name < "c" else "y", "vector": [Decimal(each) for each in vector]}
        table.put_item(Item=item)
    query = [{"N": "2"}, {"N": "0.5"}, {"N": "0"}]
    found = client.search_vectors(
        TableName=TABLE,
        IndexName="near",
        SearchVector=query,
        TopK=2,
        SearchConditionExpression="kind = :k",
        ExpressionAttributeValues={":k": {"S": "x"}},
        ReturnConsumedCapacity="INDEXES",
    )
    assert [each["Item"]["id"]["S"] for each in found["SearchResults"]] == ["a", "b"]
    assert found["ConsumedCapacity"] == {"VectorSearchRequestBytes": 1024.0}
    written = client.put_item(
        TableName=TABLE,
        Item={"id": {"S": "d"}, "vector": {"L": [{"N": "1"}] * 3}},
        ReturnConsumedCapacity="INDEXES",
    )
    assert written["ConsumedCapacity"]["VectorIndexes"] == {"near": {"VectorWriteRequestBytes": 1024.0}}
    with pytest.raises(ClientError, match="Invalid size for parameter vector, Expected: 3, Actual: 1 IndexName: near"):
        table.put_item(Item={"id": "e", "vector": [Decimal(1)]})
    with pytest.raises(ClientError, match="Query operation not supported on this index type"):
        table.query(IndexName="near", KeyConditionExpression="kind = :k", ExpressionAttributeValues={":k": "x"})
