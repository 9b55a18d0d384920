"""The hash that index rows with equal keys are ordered by, in the engine and for readers that merge them."""

from __future__ import annotations

import sortkey as sk
from sortkey.values.key_bytes import row_hash


def test_the_engine_orders_equal_index_keys_by_the_row_hash() -> None:
    with sk.client("memory:") as client:
        client.create_table(
            TableName="ties",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": tag} for name, tag in (("pk", "S"), ("sk", "N"), ("g", "S"))
            ],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "same",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
        )
        keys = [(f"p{number % 5}", str(number - 20)) for number in range(40)]
        for pk, number in keys:
            client.put_item(TableName="ties", Item={"pk": {"S": pk}, "sk": {"N": number}, "g": {"S": "x"}})
        found = client.query(
            TableName="ties",
            IndexName="same",
            KeyConditionExpression="g = :g",
            ExpressionAttributeValues={":g": {"S": "x"}},
        )
        order = [(row["pk"]["S"], row["sk"]["N"]) for row in found["Items"]]
        assert order == sorted(keys, key=lambda key: row_hash(("S", key[0]), ("N", key[1])))
