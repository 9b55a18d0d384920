"""A page that is read in many slices, each in a newer snapshot, is the page that is read in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from hypothesis import given, strategies

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations import SLICED_READS, pages
from sortkey.engine.operations.answers import to_dict
from sortkey.engine.operations.fast_path import FAST_READS, FastAnswer

ROWS = 150
FILTERS = ["a = :v", "a <> :v AND size(t) > :v", "NOT (a = :v OR contains(l, :v))", "a IN (:v, :w) OR b = :w"]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    database = Database(None)
    database.call(
        "CreateTable",
        {
            "TableName": "rows",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "s", "i")],
            "LocalSecondaryIndexes": [
                {
                    "IndexName": "local",
                    "KeySchema": [
                        {"AttributeName": "p", "KeyType": "HASH"},
                        {"AttributeName": "i", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
        },
    )
    for number in range(ROWS):
        value = {"N": str(number % 5)}
        item: dict[str, Any] = {
            "p": {"S": "p" if number % 4 else "q"},
            "s": {"S": f"{number:04}"},
            "i": {"S": str(number % 7)},
        }
        item |= {"a": value, "b": {"B": "AAEC"}, "l": {"L": [value]}, "t": {"S": "x" * (20_000 if number < 60 else 9)}}
        database.call("PutItem", {"TableName": "rows", "Item": item})
    yield database
    database.close()


@contextmanager
def small_slices(units: int, chunk: int, slices_a_snapshot: int) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(patch.object(pages, "SLICE_UNITS", units))
        stack.enter_context(patch.object(pages, "CHUNK", chunk))
        stack.enter_context(patch.object(pages, "FIRST_CHUNK", chunk))
        stack.enter_context(patch.object(pages, "SLICES_A_SNAPSHOT", slices_a_snapshot))
        stack.enter_context(patch("sortkey.engine.operations.fast_path.SLICE_ROWS", chunk))
        yield


sizes = strategies.builds(small_slices, *[strategies.integers(1, 40)] * 3)
limits = strategies.none() | strategies.integers(1, ROWS + 10)
reads = strategies.fixed_dictionaries(
    {
        "Limit": limits,
        "FilterExpression": strategies.none() | strategies.sampled_from(FILTERS),
        "ProjectionExpression": strategies.none() | strategies.sampled_from(["a", "s, l[0]", "absent"]),
        "ReturnConsumedCapacity": strategies.sampled_from([None, "INDEXES"]),
        "IndexName": strategies.sampled_from([None, None, "local"]),
        "backward": strategies.booleans(),
        "query": strategies.booleans(),
    }
)


def request_of(page: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    members = {name: value for name, value in page.items() if value is not None and name not in ("backward", "query")}
    if page["IndexName"] is not None:
        members.pop("FilterExpression", None)
    text = members.get("FilterExpression", "")
    values = {":v": {"N": "3"}, ":w": {"N": "4"}, ":p": {"S": "p"}}
    if page["query"]:
        members |= {"KeyConditionExpression": "p = :p", "ScanIndexForward": not page["backward"]}
        text += ":p"
    used = {name: value for name, value in values.items() if name in text}
    if used:
        members["ExpressionAttributeValues"] = used
    return "Query" if page["query"] else "Scan", {"TableName": "rows", **members}


def in_slices(database: Database, operation: str, members: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The number of slices, and the answer."""
    slices = SLICED_READS[operation](database, requests.convert(operation, members))
    for number in range(1, 10 * ROWS):
        try:
            next(slices)
        except StopIteration as end:
            return number, to_dict(end.value)
    raise AssertionError("it does not end")


@given(page=reads, small=sizes)
def test_slices_do_not_change_the_answer(database: Database, page: dict[str, Any], small: Any) -> None:
    operation, members = request_of(page)
    expected = database.call(operation, members)
    with small:
        assert in_slices(database, operation, members)[1] == expected


@given(limit=limits, forward=strategies.booleans(), small=sizes)
def test_nor_on_the_fast_path(database: Database, limit: int | None, forward: bool, small: Any) -> None:
    members: dict[str, Any] = {
        "TableName": "rows",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ScanIndexForward": forward,
    }
    members |= {} if limit is None else {"Limit": limit}
    with small:
        answer = FAST_READS["Query"](database, orjson.dumps(members))
        while answer is not None and not isinstance(answer, FastAnswer):
            try:
                next(answer)
            except StopIteration as end:
                answer = end.value
    assert answer is not None
    assert orjson.loads(answer.text) == database.call("Query", members)
