"""The same calls on every store, sync and async."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from botocore.loaders import JSONFileLoader
from botocore.utils import InstanceMetadataFetcher

import sortkey as sk
from sortkey.client import Client
from sortkey.client.methods import Methods
from sortkey.client.stores import ALTERNATOR, DYNAMODB_LOCAL, EMBEDDED, SORTKEY, UNKNOWN
from tests.client.orders import EVERY_TYPE, ORDERS, key


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the machine has configured, these tests see nothing of it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    nothing = str(tmp_path_factory.getbasetemp() / "nothing")
    monkeypatch.setenv("AWS_CONFIG_FILE", nothing)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", nothing)


def without_metadata(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in answer.items() if name != "ResponseMetadata"}


def test_an_item_comes_back_as_it_went(store: str) -> None:
    with sk.client(store) as client:
        client.create_table(**ORDERS)
        client.put_item(TableName="orders", Item=EVERY_TYPE)
        assert client.get_item(TableName="orders", Key=key(1))["Item"] == EVERY_TYPE
        assert without_metadata(client.get_item(TableName="orders", Key=key(2))) == {}


# `client.exceptions` has one set of classes, so that an `except` works on every store.
def test_errors_are_of_one_set_of_classes(store: str) -> None:
    with sk.client(store) as client:
        client.create_table(**ORDERS)
        client.put_item(TableName="orders", Item=EVERY_TYPE)
        with pytest.raises(client.exceptions.ConditionalCheckFailedException) as error:
            client.put_item(
                TableName="orders",
                Item=EVERY_TYPE,
                ConditionExpression="attribute_not_exists(customer)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        response: Any = error.value.response
        assert response["Item"] == EVERY_TYPE
        with pytest.raises(client.exceptions.ValidationException):
            client.get_item(TableName="orders", Key={"customer": {"S": "ada"}})


def test_the_async_client_gives_the_same_answers(store: str) -> None:
    async def session() -> None:
        async with sk.async_client(store) as client:
            await client.create_table(**ORDERS)
            await asyncio.gather(*(client.put_item(TableName="orders", Item=key(number)) for number in range(7)))
            await client.put_item(TableName="orders", Item=EVERY_TYPE)
            answer = await client.get_item(TableName="orders", Key=key(1))
            assert answer["Item"] == EVERY_TYPE
            with pytest.raises(client.exceptions.ConditionalCheckFailedException):
                await client.delete_item(
                    TableName="orders", Key=key(9), ConditionExpression="attribute_exists(customer)"
                )
            pages = client.get_paginator("scan").paginate(TableName="orders", PaginationConfig={"PageSize": 3})
            assert [page["Count"] async for page in pages] == [3, 3, 1]
            await client.get_waiter("table_exists").wait(TableName="orders")
            with pytest.raises(client.exceptions.ResourceNotFoundException):
                await client.describe_table(TableName="missing")

    asyncio.run(session())


def test_streams_are_on_the_same_client(store: str) -> None:
    with sk.client(store) as client:
        arn = client.create_table(**ORDERS)["TableDescription"]["LatestStreamArn"]
        (stream,) = client.list_streams(TableName="orders")["Streams"]
        assert stream["TableName"] == "orders"
        assert stream["StreamArn"] == arn
        iterators = trim_horizons(client, arn)
        assert [client.wait_for_records(ShardIterator=each, Timeout=0) for each in iterators] == [False] * len(
            iterators
        )
        client.put_item(TableName="orders", Item=EVERY_TYPE)
        assert images(client, iterators) == [EVERY_TYPE]


def trim_horizons(client: Client, arn: str) -> list[str]:
    description = client.describe_stream(StreamArn=arn)["StreamDescription"]
    assert description["TableName"] == "orders"
    return [
        client.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        for shard in description["Shards"]
    ]


def images(client: Client, iterators: list[str]) -> list[dict[str, Any]]:
    waited = [client.wait_for_records(ShardIterator=each, Timeout=0.6) for each in iterators]
    assert any(waited)
    records = [record for each in iterators for record in client.get_records(ShardIterator=each)["Records"]]
    return [record["dynamodb"]["NewImage"] for record in records]


def test_streams_of_the_async_client(store: str) -> None:
    async def session() -> None:
        async with sk.async_client(store) as client:
            arn = (await client.create_table(**ORDERS))["TableDescription"]["LatestStreamArn"]
            await client.put_item(TableName="orders", Item=EVERY_TYPE)
            description = (await client.describe_stream(StreamArn=arn))["StreamDescription"]
            found = []
            for shard in description["Shards"]:
                asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
                iterator = (await client.get_shard_iterator(**asked))["ShardIterator"]
                if await client.wait_for_records(ShardIterator=iterator, Timeout=0.1):
                    found += (await client.get_records(ShardIterator=iterator))["Records"]
            assert [record["dynamodb"]["NewImage"] for record in found] == [EVERY_TYPE]

    asyncio.run(session())


def test_a_closed_client_raises(store: str) -> None:
    async def session() -> None:
        client = sk.async_client(store)
        await client.close()
        with pytest.raises(RuntimeError, match="closed"):
            await client.list_tables()

    client = sk.client(store)
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.list_tables()
    asyncio.run(session())


CAPABILITIES = {"endpoint": SORTKEY, "local": DYNAMODB_LOCAL, "alternator": ALTERNATOR, "dynoxide": UNKNOWN}


def test_capabilities_of_endpoints(store: str, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["store"]
    expected = CAPABILITIES.get(kind, EMBEDDED)

    async def session() -> None:
        async with sk.async_client(store) as client:
            assert await client.capabilities() == expected

    with sk.client(store) as client:
        assert client.capabilities() == expected
    asyncio.run(session())


# A caller with the right to one table may not list tables.
def test_an_error_identifies_the_endpoint(our_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def session() -> None:
        async with sk.async_client(our_endpoint) as client:
            assert await client.capabilities() == SORTKEY

    monkeypatch.setattr(
        Methods, "list_tables", lambda client, **_: client._call("DescribeTable", {"TableName": "none"})
    )
    with sk.client(our_endpoint) as client:
        assert client.capabilities() == SORTKEY
    asyncio.run(session())


# A request for credentials to the metadata address takes seconds outside the cloud, and a local store needs none.
def test_a_local_endpoint_needs_no_credentials(our_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        InstanceMetadataFetcher, "retrieve_iam_role_credentials", lambda _: pytest.fail("asked for credentials")
    )
    with sk.client(our_endpoint) as client:
        client.list_tables()
        assert client.meta.region_name == "us-east-1"


# botocore loads its data files for each session: most of the time of opening a client.
def test_clients_share_the_data_files_of_botocore(our_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def listed() -> None:
        async with sk.async_client(our_endpoint) as client:
            await client.list_tables()

    with sk.client(our_endpoint) as client:
        client.list_tables()
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda _, path: pytest.fail(f"loaded {path} again"))
    with sk.client(our_endpoint) as client:
        client.list_tables()
    asyncio.run(listed())


def test_aws_is_known_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    for url in ("dynamodb://eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com", "http://10.0.0.1:8000?store=aws"):
        with sk.client(url) as client:
            assert client.capabilities().multi_attribute_index_keys
    with sk.client("dynamodb://eu-west-1") as client:
        assert client.meta.region_name == "eu-west-1"


def test_alternator_can_be_named() -> None:
    with sk.client("http://10.0.0.1:8000?store=alternator") as client:
        assert not client.capabilities().transactions
