"""The small table that the tests of streams, expiry and the janitor use, and methods to change and read it."""

from __future__ import annotations

from typing import Any

from sortkey.engine.database import Database

NAME = "orders"
DAY = 24 * 3600


def text(value: str) -> dict[str, str]:
    return {"S": value}


def number(value: float) -> dict[str, str]:
    return {"N": str(value)}


class Orders:
    """Orders by `id`."""

    def __init__(self, db: Database, view: str | None = None, name: str = NAME) -> None:
        self.db = db
        self.name = name
        members: dict[str, Any] = {} if view is None else {"StreamSpecification": _specification(view)}
        db.call(
            "CreateTable",
            {
                "TableName": name,
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
                **members,
            },
        )

    def put(self, key: str, **attributes: dict[str, Any]) -> None:
        self.db.call("PutItem", {"TableName": self.name, "Item": {"id": text(key), **attributes}})

    def delete(self, key: str) -> None:
        self.db.call("DeleteItem", {"TableName": self.name, "Key": {"id": text(key)}})

    def ids(self) -> set[str]:
        return {item["id"]["S"] for item in self.db.call("Scan", {"TableName": self.name})["Items"]}

    def update(self, **members: Any) -> dict[str, Any]:
        table: dict[str, Any] = self.db.call("UpdateTable", {"TableName": self.name, **members})["TableDescription"]
        return table

    def add_index(
        self, attribute: str, attribute_type: str = "S", projection: str = "ALL", name: str = "by_attribute"
    ) -> None:
        self.update(
            AttributeDefinitions=[
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": attribute, "AttributeType": attribute_type},
            ],
            GlobalSecondaryIndexUpdates=[
                {
                    "Create": {
                        "IndexName": name,
                        "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": projection},
                    }
                }
            ],
        )

    def index(self) -> dict[str, Any]:
        described = self.db.call("DescribeTable", {"TableName": self.name})["Table"]
        shown: dict[str, Any] = described["GlobalSecondaryIndexes"][0]
        return shown

    def expire_by(self, attribute: str, enabled: bool = True) -> None:
        specification = {"AttributeName": attribute, "Enabled": enabled}
        self.db.call("UpdateTimeToLive", {"TableName": self.name, "TimeToLiveSpecification": specification})

    def enable_stream(self, view: str) -> None:
        self.update(StreamSpecification=_specification(view))

    def disable_stream(self) -> None:
        self.update(StreamSpecification={"StreamEnabled": False})

    @property
    def arn(self) -> str:
        arn: str = self.db.call("DescribeTable", {"TableName": self.name})["Table"]["LatestStreamArn"]
        return arn

    def shards(self) -> list[dict[str, Any]]:
        described = self.db.call("DescribeStream", {"StreamArn": self.arn})
        shards: list[dict[str, Any]] = described["StreamDescription"]["Shards"]
        return shards

    def iterator(self, iterator_type: str = "TRIM_HORIZON", shard: int = 0, **members: Any) -> str:
        request = {
            "StreamArn": self.arn,
            "ShardId": self.shards()[shard]["ShardId"],
            "ShardIteratorType": iterator_type,
            **members,
        }
        found: str = self.db.call("GetShardIterator", request)["ShardIterator"]
        return found

    def read(self, iterator: str, **members: Any) -> dict[str, Any]:
        return self.db.call("GetRecords", {"ShardIterator": iterator, **members})

    def records(self, shard: int = 0) -> list[dict[str, Any]]:
        """Everything in a shard, from its oldest record on."""
        records: list[dict[str, Any]] = self.read(self.iterator(shard=shard))["Records"]
        return records


def _specification(view: str) -> dict[str, Any]:
    return {"StreamEnabled": True, "StreamViewType": view}


def sequence(record: dict[str, Any]) -> str:
    found: str = record["dynamodb"]["SequenceNumber"]
    return found


def events(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What happened to which order."""
    return [(record["eventName"], record["dynamodb"]["Keys"]["id"]["S"]) for record in records]
