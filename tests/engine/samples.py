"""Short functions for the tables and values of the engine's tests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from tests.engine.conftest import Call

Members = dict[str, Any]


def s(text: str) -> Members:
    return {"S": text}


def n(number: float | str) -> Members:
    return {"N": str(number)}


def b(raw: bytes) -> Members:
    return {"B": b64encode(raw).decode()}


def index(name: str, *key: str, projection: str = "ALL", include: Sequence[str] = ()) -> Members:
    """`index("by_city", "city:S", "age:N", projection="KEYS_ONLY")`; a multi-attribute key is `"city:S street:S"`."""
    shape: Members = {"ProjectionType": "INCLUDE" if include else projection}
    if include:
        shape["NonKeyAttributes"] = list(include)
    return {"IndexName": name, "key": key, "Projection": shape}


def create(call: Call, name: str, *key: str, local: Sequence[Members] = (), indexes: Sequence[Members] = ()) -> Members:
    """`create(call, "people", "team:S", "age:N", local=[index(…)], indexes=[index(…)])`."""
    request: Members = {"TableName": name, "KeySchema": _schema(key), "BillingMode": "PAY_PER_REQUEST"}
    attributes = set(key)
    for member, given in (("LocalSecondaryIndexes", local), ("GlobalSecondaryIndexes", indexes)):
        if given:
            request[member] = [
                {"IndexName": one["IndexName"], "KeySchema": _schema(one["key"]), "Projection": one["Projection"]}
                for one in given
            ]
            attributes.update(attribute for one in given for part in one["key"] for attribute in part.split())
    request["AttributeDefinitions"] = [
        {"AttributeName": attribute.split(":")[0], "AttributeType": attribute.split(":")[1]}
        for attribute in sorted(attributes)
    ]
    return call("CreateTable", **request)


def _schema(key: Sequence[str]) -> list[Members]:
    return [
        {"AttributeName": attribute.split(":")[0], "KeyType": key_type}
        for part, key_type in zip(key, ("HASH", "RANGE"), strict=False)
        for attribute in part.split()
    ]


def pages(call: Call, operation: str, **members: Any) -> Iterator[Members]:
    """Every page of a Query or Scan."""
    while True:
        page = call(operation, **members)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        members["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def walk(call: Call, operation: str, **members: Any) -> list[Members]:
    """The items of every page of a Query or Scan."""
    return [item for page in pages(call, operation, **members) for item in page["Items"]]
