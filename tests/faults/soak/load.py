"""Clients of an endpoint that read and write at a steady rate. The table stays as large as it is; items come and go."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from random import Random
from threading import Event
from typing import Any, Final

from tests.wire.serving import RawClient, request

TABLE: Final = "soaked"
KEYS: Final = 400
"""Of each client; no two clients write the same items."""
KINDS: Final = ("red", "green", "blue")
PAUSE_SECONDS: Final = 0.008
REQUESTS_OF_A_CONNECTION: Final = 200
"""The system chooses a worker for each connection; a worker that is new gets none of those that are open."""
EXPECTED: Final = ("ConditionalCheckFailedException", "TransactionCanceledException")


def layout() -> dict[str, Any]:
    schema = [{"AttributeName": "kind", "KeyType": "HASH"}]
    return {
        "TableName": TABLE,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")],
        "GlobalSecondaryIndexes": [
            {"IndexName": "by-kind", "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


class Client:
    """One connection. It is opened again when it breaks, which it does when its server is killed."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._random = Random(name)
        self._writes = 0
        self._connection: RawClient | None = None
        self.answered = 0
        self.broken = 0
        self.wrong: list[str] = []
        """Answers that should not be."""
        self._reads: list[Callable[[], tuple[str, Any]]] = [self._get, self._batch_get, self._query, self._scan]
        self._changes: list[Callable[[], tuple[str, Any]]] = [
            *(self._put, self._put, self._update, self._delete, self._put_expiring),
            *(self._batch, self._transaction),
        ]

    def run(self, over: Event) -> None:
        while not over.wait(PAUSE_SECONDS):
            kind = self._changes if self._random.random() < 0.4 else self._reads
            self._call(*self._random.choice(kind)())
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _call(self, operation: str, members: dict[str, Any]) -> None:
        try:
            if self._connection is None:
                self._connection = RawClient(self._url)
            self._connection.send(request(operation, members))
            answer = self._connection.answer()
        # An answer that is cut off has no status in its first line.
        except (OSError, IndexError):
            self.broken += 1
            self._disconnect()
            return
        self.answered += 1
        if self.answered % REQUESTS_OF_A_CONNECTION == 0:
            self._disconnect()
        if answer.status != 200 and not json.loads(answer.body).get("__type", "").endswith(EXPECTED):
            self.wrong.append(f"{operation}: {answer.status} {answer.body[:200]!r}")

    def _key(self) -> dict[str, Any]:
        return {"id": {"S": f"{self._name}-{self._random.randrange(KEYS)}"}}

    def _item(self, **more: Any) -> dict[str, Any]:
        # The number makes each write a change, which the stream must have.
        self._writes += 1
        text = "x" * self._random.randrange(200)
        kind = {"S": self._random.choice(KINDS)}
        return {**self._key(), "kind": kind, "number": {"N": str(self._writes)}, "text": {"S": text}, **more}

    def _put(self) -> tuple[str, Any]:
        return "PutItem", {"TableName": TABLE, "Item": self._item()}

    def _put_expiring(self) -> tuple[str, Any]:
        return "PutItem", {"TableName": TABLE, "Item": self._item(expires={"N": str(int(time.time()) + 1)})}

    def _update(self) -> tuple[str, Any]:
        values = {":one": {"N": "1"}, ":kind": {"S": self._random.choice(KINDS)}}
        return "UpdateItem", {
            "TableName": TABLE,
            "Key": self._key(),
            "UpdateExpression": "ADD updates :one SET kind = :kind",
            "ConditionExpression": "attribute_exists(id)",
            "ExpressionAttributeValues": values,
        }

    def _delete(self) -> tuple[str, Any]:
        return "DeleteItem", {"TableName": TABLE, "Key": self._key()}

    def _batch(self) -> tuple[str, Any]:
        items = {item["id"]["S"]: item for item in (self._item() for _ in range(5))}
        return "BatchWriteItem", {"RequestItems": {TABLE: [{"PutRequest": {"Item": item}} for item in items.values()]}}

    def _transaction(self) -> tuple[str, Any]:
        items = {item["id"]["S"]: item for item in (self._item() for _ in range(3))}
        *puts, last = items.values()
        actions = [{"Put": {"TableName": TABLE, "Item": item}} for item in puts]
        condition = "attribute_exists(id)"
        actions.append({"Put": {"TableName": TABLE, "Item": last, "ConditionExpression": condition}})
        return "TransactWriteItems", {"TransactItems": actions}

    def _get(self) -> tuple[str, Any]:
        return "GetItem", {"TableName": TABLE, "Key": self._key()}

    def _batch_get(self) -> tuple[str, Any]:
        keys = {key["id"]["S"]: key for key in (self._key() for _ in range(10))}
        return "BatchGetItem", {"RequestItems": {TABLE: {"Keys": list(keys.values())}}}

    def _query(self) -> tuple[str, Any]:
        return "Query", {
            "TableName": TABLE,
            "IndexName": "by-kind",
            "KeyConditionExpression": "kind = :kind",
            "ExpressionAttributeValues": {":kind": {"S": self._random.choice(KINDS)}},
            "Limit": 20,
        }

    def _scan(self) -> tuple[str, Any]:
        return "Scan", {
            "TableName": TABLE,
            "FilterExpression": "contains(#t, :text)",
            "ExpressionAttributeNames": {"#t": "text"},
            "ExpressionAttributeValues": {":text": {"S": "x" * 190}},
            "Limit": 300,
        }
