"""Updates that are written together: what similar ones have in common is checked once, which no one must notice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

import sortkey as sk
from sortkey.client import typed_requests
from sortkey.client.interface import AsyncClient, Request
from sortkey.engine.requests.shapes import Shape

COUNTS: dict[str, Any] = {
    "TableName": "counts",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
NAMES = {"#n": "number", "#m": "mark", "#l": "list"}


def key(number: int) -> dict[str, Any]:
    return {"pk": {"S": "counts"}, "sk": {"S": f"{number:03}"}}


def add(number: int, **other: Any) -> Request:
    """Counts one, unless the mark is a later one; `other` replaces parameters."""
    return "UpdateItem", {
        "TableName": "counts",
        "Key": key(number),
        "UpdateExpression": "SET #m = :m ADD #n :n",
        "ConditionExpression": "attribute_not_exists(#m) OR #m < :m",
        "ExpressionAttributeNames": {name: NAMES[name] for name in ("#n", "#m")},
        "ExpressionAttributeValues": values(),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        "ReturnConsumedCapacity": "TOTAL",
        **other,
    }


def values(**other: Any) -> dict[str, Any]:
    return {":n": {"N": "1"}, ":m": {"S": "b"}} | {f":{name}": value for name, value in other.items()}


def between(number: int, low: str, high: str) -> Request:
    bounds = {":n": {"N": "1"}, ":low": {"S": low}, ":high": {"S": high}}
    return add(
        number,
        UpdateExpression="ADD #n :n",
        ConditionExpression="NOT #m BETWEEN :low AND :high",
        ExpressionAttributeValues=bounds,
    )


def has_type(number: int, tag: str) -> Request:
    of_type = {":n": {"N": "1"}, ":t": {"S": tag}}
    condition = "NOT attribute_type(#m, :t)"
    return add(number, UpdateExpression="ADD #n :n", ConditionExpression=condition, ExpressionAttributeValues=of_type)


LEGACY: Request = (
    "UpdateItem",
    {
        "TableName": "counts",
        "Key": key(1),
        "AttributeUpdates": {"number": {"Action": "ADD", "Value": {"N": "1"}}},
    },
)
SEQUENCES: dict[str, list[Request]] = {
    "alike": [add(number) for number in range(5)],
    "the same item": [add(1, ExpressionAttributeValues=values(m={"S": mark})) for mark in "bcad"],
    "other values": [add(1), add(2, ExpressionAttributeValues=values(n={"N": "-2.5"}, m={"S": "é"}))],
    "a number in other words": [add(1), add(2, ExpressionAttributeValues=values(n={"N": "1.50e2"}))],
    "no number": [add(1), add(2, ExpressionAttributeValues=values(n={"N": "one"}))],
    "too many digits": [add(1), add(2, ExpressionAttributeValues=values(n={"N": "1" * 39}))],
    "another type": [add(1), add(2, ExpressionAttributeValues=values(n={"S": "1"}))],
    "a set, then another": [add(n, ExpressionAttributeValues=values(n={"NS": [str(n), "7"]})) for n in (1, 2)],
    "two types in a value": [add(1), add(2, ExpressionAttributeValues=values(n={"N": "1", "S": "1"}))],
    "no dict": [add(1), add(2, ExpressionAttributeValues=values(n="1"))],
    "a value that is missing": [add(1), add(2, ExpressionAttributeValues={":n": {"N": "1"}})],
    "a value that is not used": [add(1), add(2, ExpressionAttributeValues=values(x={"N": "1"}))],
    "no values": [add(1), add(2, ExpressionAttributeValues={})],
    "a large value": [add(1), add(2, ExpressionAttributeValues=values(m={"S": "x" * 410_000}))],
    "values that are too large": [add(1), add(2, ExpressionAttributeValues=values(m={"S": "x" * 2_100_000}))],
    "other names": [add(1), add(2, ExpressionAttributeNames={"#n": "number", "#m": "other"})],
    "another condition": [add(1), add(1, ConditionExpression="attribute_exists(#m)")],
    "another table": [add(1), add(2, TableName="missing")],
    "what is returned": [add(1), add(1, ReturnValues="ALL_NEW", ExpressionAttributeValues=values(m={"S": "c"}))],
    "an unknown parameter": [add(1), add(2, Surprise=True)],
    "an empty key": [add(1), add(2, Key={"pk": {"S": ""}, "sk": {"S": "1"}})],
    "a key of another type": [add(1), add(2, Key={"pk": {"S": "counts"}, "sk": {"N": "1"}})],
    "a key of other attributes": [add(1), add(2, Key={"pk": {"S": "counts"}, "other": {"S": "1"}})],
    "a key of an attribute without a name": [add(1), add(2, Key={"pk": {"S": "counts"}, "": {"S": "1"}})],
    "no key": [add(1), ("UpdateItem", {name: it for name, it in add(2)[1].items() if name != "Key"})],
    "an attribute of the key": [add(n, ExpressionAttributeNames={"#n": "sk", "#m": "mark"}) for n in (1, 2)],
    "bounds in order, then not": [between(1, "a", "c"), between(2, "c", "a")],
    "a type, then none": [has_type(1, "N"), has_type(2, "Z")],
    "legacy parameters": [add(1), LEGACY, LEGACY, add(2)],
    "other writes between": [add(1), ("DeleteItem", {"TableName": "counts", "Key": key(1)}), add(2)],
}


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_updates_together_do_what_they_do_one_by_one(sequence: list[Request]) -> None:
    async def outcomes() -> tuple[list[Any], list[Any]]:
        async with sk.async_client("memory:") as one, sk.async_client("memory:") as other:
            for client in (one, other):
                await client.create_table(**COUNTS)
            assert one.write_together is not None
            together = [outcome(answer) for answer in await one.write_together(sequence)]
            alone = [outcome(await answer_of(other, *request)) for request in sequence]
            return [together, await rows(one)], [alone, await rows(other)]

    together, alone = asyncio.run(outcomes())
    assert together == alone


async def answer_of(client: AsyncClient, operation: str, members: dict[str, Any]) -> Any:
    try:
        return await client._call(operation, members)
    except (ClientError, ParamValidationError) as error:
        return error


def outcome(answer: Any) -> Any:
    if isinstance(answer, ClientError):
        response: Any = answer.response
        return type(answer).__name__, response["Error"], response.get("Item")
    if isinstance(answer, Exception):
        return type(answer).__name__, str(answer)
    return {name: member for name, member in answer.items() if name != "ResponseMetadata"}


async def rows(client: AsyncClient) -> list[Any]:
    items: list[Any] = (await client.scan(TableName="counts"))["Items"]
    return items


# Otherwise the tests above would compare the general way with itself.
def test_updates_that_are_alike_are_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    general = typed_requests.typed_request
    converted: list[dict[str, Any]] = []

    def typed_request(operation: str, members: dict[str, Any]) -> Shape:
        converted.append(members)
        return general(operation, members)

    with sk.client("memory:") as client:
        database = client.database
        assert database is not None
        updates = typed_requests.SimilarUpdates(database)
        requests = [members for _, members in SEQUENCES["alike"]]
        monkeypatch.setattr(typed_requests, "typed_request", typed_request)
        assert all(callable(updates.plan(members)) for members in requests)
    assert converted == requests[:1]
