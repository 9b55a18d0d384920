"""Copies between stores of the process, and to an endpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sortkey
from sortkey.client.interface import Client
from sortkey.copies.store_copy import Options, StoreCopy

Make = Callable[..., StoreCopy]


class Notes:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parts: list[str] = []

    def note(self, message: str) -> None:
        self.lines.append(message)

    def part(self, name: str, unit: str = "") -> Callable[[int, int], None]:
        return lambda done, total: self.parts.append(f"{name}: {done} of {total} {unit}")


@pytest.fixture
def source() -> Iterator[Client]:
    with sortkey.client("memory:") as client:
        yield client


@pytest.fixture
def target(store: str) -> Iterator[Client]:
    with sortkey.client(store) as client:
        yield client


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def copy(source: Client, target: Client, notes: Notes) -> Make:
    def make(**options: Any) -> StoreCopy:
        return StoreCopy(source, target, Options(**options), notes, threading.Event())

    return make


def orders(client: Client, name: str = "orders", rows: int = 300, **members: Any) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "s", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
        **members,
    )
    for number in range(rows):
        client.put_item(TableName=name, Item=order(number))


def order(number: int, **more: Any) -> dict[str, Any]:
    return {
        "p": {"S": f"customer {number % 7}"},
        "s": {"N": str(number)},
        "total": {"N": f"{number}.50"},
        "tags": {"SS": ["a", "b"]},
        "raw": {"B": bytes([number % 256])},
        **more,
    }


def rows(client: Client, table: str = "orders") -> list[dict[str, Any]]:
    found = client.scan(TableName=table)["Items"]
    for row in found:
        row["tags"]["SS"].sort()
    return sorted(found, key=lambda row: float(row["s"]["N"]))


def test_all_rows_are_copied(source: Client, target: Client, copy: Make) -> None:
    orders(source)
    report = copy().run()
    assert (report.rows, report.differences) == (300, [])
    assert rows(target) == rows(source)
    assert len(rows(target)) == 300


def test_a_cut_over_fences_the_source(source: Client, target: Client, copy: Make) -> None:
    orders(source)
    report = copy().run("http://new:8000")
    assert report.fenced_seconds is not None
    assert report.fenced_seconds < 1
    with pytest.raises(source.exceptions.TableMovedException, match="moved to http://new:8000"):
        source.put_item(TableName="orders", Item=order(1))
    target.put_item(TableName="orders", Item=order(1))
