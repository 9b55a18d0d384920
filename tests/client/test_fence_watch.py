"""Fences in a store that knows none: our endpoint, taken for another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey.client import fence_watch
from sortkey.client.fence_watch import FENCES, FENCES_KEY, LOOK, FenceRow
from sortkey.client.interface import Client

ITEM = {"id": {"S": "a"}}
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("put_item", {"TableName": "fenced", "Item": ITEM}),
    ("update_item", {"TableName": "fenced", "Key": ITEM}),
    ("delete_item", {"TableName": "fenced", "Key": ITEM}),
    ("batch_write_item", {"RequestItems": {"fenced": [{"PutRequest": {"Item": ITEM}}]}}),
    ("transact_write_items", {"TransactItems": [{"Put": {"TableName": "fenced", "Item": ITEM}}]}),
    ("execute_statement", {"Statement": "INSERT INTO fenced VALUE {'id': 'a'}"}),
    ("batch_execute_statement", {"Statements": [{"Statement": "DELETE FROM fenced WHERE id = 'a'"}]}),
    ("execute_transaction", {"TransactStatements": [{"Statement": "DELETE FROM fenced WHERE id = 'a'"}]}),
]


@pytest.fixture
def url(our_endpoint: str) -> str:
    return f"{our_endpoint}?store=dynamodb-local"


@pytest.fixture
def client(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(fence_watch, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(fence_watch, "WATCH_SECONDS", 0.0)
    with sk.client(url) as client:
        client.honour_fences()
        for table, key in (("fenced", "id"), ("free", "id"), (FENCES, FENCES_KEY)):
            client.create_table(
                TableName=table,
                KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        yield client
        for table in ("fenced", "free", FENCES):
            client.delete_table(TableName=table)


def say(client: Client, row: FenceRow) -> None:
    state = msgspec.json.encode(row).decode()
    client.put_item(TableName=FENCES, Item={**LOOK["Key"], "state": {"S": state}})


@pytest.mark.parametrize(("method", "members"), WRITES)
def test_a_write_looks_first(client: Client, method: str, members: dict[str, Any]) -> None:
    say(client, FenceRow(moved={"fenced": "moved to http://new"}))
    with pytest.raises(client.exceptions.TableMovedException, match="table fenced has moved to http://new"):
        getattr(client, method)(**members)
    client.put_item(TableName="free", Item=ITEM)
    assert client.scan(TableName="fenced")["Items"] == []


def test_a_fence_for_a_moment(client: Client) -> None:
    now = datetime.now(UTC).timestamp()
    say(client, FenceRow(until={"fenced": now + 60}))
    with pytest.raises(client.exceptions.TableFencedException, match="try again"):
        client.put_item(TableName="fenced", Item=ITEM)
    say(client, FenceRow(until={"fenced": now - 1}))
    client.put_item(TableName="fenced", Item=ITEM)


class Note(sk.Item, table="fenced-notes"):
    name: str

    key = sk.Key("NOTE#{name}")


def test_sessions_look(client: Client, url: str) -> None:
    with sk.connect(url, tables=[Note]) as db:
        db.create_tables()
        db.put(Note(name="a"))
    say(client, FenceRow(moved={"fenced-notes": "moved to http://new"}))
    with sk.connect(url, tables=[Note]) as db, pytest.raises(client.exceptions.TableMovedException):
        db.put(Note(name="b"))
    client.delete_table(TableName="fenced-notes")


def test_async_sessions_look(client: Client, url: str) -> None:
    async def write() -> None:
        async with sk.async_connect(url, tables=[Note]) as db:
            await db.create_tables()
            await db.put(Note(name="a"))
            say(client, FenceRow(moved={"fenced-notes": "moved to http://new"}))
            with pytest.raises(client.exceptions.TableMovedException):
                await db.put(Note(name="b"))

    asyncio.run(write())
    client.delete_table(TableName="fenced-notes")


# Two requests a minute are all that a store pays for which no copy is made.
def test_it_looks_rarely(url: str, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fence_watch, "LOOK_SECONDS", 3600.0)
    with sk.client(url) as other:
        other.honour_fences()
        other.put_item(TableName="fenced", Item=ITEM)
        say(client, FenceRow(moved={"fenced": "moved to http://new"}))
        other.put_item(TableName="fenced", Item=ITEM)


def test_without_the_table_nothing_is_fenced(url: str, client: Client) -> None:
    client.delete_table(TableName=FENCES)
    with sk.client(url) as other:
        other.honour_fences()
        other.put_item(TableName="fenced", Item=ITEM)
    client.create_table(
        TableName=FENCES,
        KeySchema=[{"AttributeName": FENCES_KEY, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": FENCES_KEY, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
