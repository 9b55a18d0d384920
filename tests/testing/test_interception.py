"""Clients of boto3, aiobotocore and PynamoDB within `sk.testing.local`."""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from aiobotocore.session import AioSession, get_session
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError
from botocore.hooks import EventAliaser
from botocore.session import Session
from pynamodb.attributes import UnicodeAttribute
from pynamodb.models import Model

import sortkey as sk
from sortkey.wire import messages
from tests.testing.boto3_clients import TABLE, create_table, names, put

NOWHERE = "http://127.0.0.1:1"
"""Nothing listens there."""
REPLACED = (
    (EventAliaser, "emit"),
    (EventAliaser, "emit_until_response"),
    (Session, "__init__"),
    (Session, "create_client"),
    (AioSession, "create_client"),
)


@pytest.fixture
def local() -> Iterator[None]:
    with sk.testing.local():
        yield


@pytest.mark.usefixtures("unconfigured", "local")
def test_a_client_needs_neither_region_nor_credentials() -> None:
    client = boto3.client("dynamodb")
    create_table(client)
    put(client, "a")
    assert names(client) == {"a"}


@pytest.mark.usefixtures("unconfigured")
def test_before_and_after_a_client_needs_both() -> None:
    for _ in range(2):
        with pytest.raises(NoRegionError):
            boto3.client("dynamodb")
        with pytest.raises(NoCredentialsError):
            boto3.client("dynamodb", region_name="eu-west-1").list_tables()
        with sk.testing.local():
            boto3.client("dynamodb").list_tables()


# Programs make their clients when they are imported.
@pytest.mark.usefixtures("unconfigured")
def test_a_client_that_was_made_before() -> None:
    client = boto3.client("dynamodb", region_name="eu-west-1")
    table = boto3.resource("dynamodb", region_name="us-west-2").Table(TABLE)
    with sk.testing.local():
        create_table(client)
        table.put_item(Item={"pk": "a"})
        assert names(client) == {"a"}
    with pytest.raises(NoCredentialsError):
        client.list_tables()


# It could reach AWS otherwise, with what the machine has.
@pytest.mark.usefixtures("unconfigured")
def test_a_client_made_within_has_no_real_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAREAL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real")
    sent: list[Any] = []
    with sk.testing.local():
        client = boto3.client("dynamodb", endpoint_url=NOWHERE, config=Config(retries={"max_attempts": 0}))
    client.meta.events.register("before-send", lambda request, **_: sent.append(request))
    with pytest.raises(EndpointConnectionError):
        client.list_tables()
    assert b"AKIAREAL" not in sent[0].headers["Authorization"]


@pytest.mark.slow
@pytest.mark.usefixtures("unconfigured", "local")
@pytest.mark.parametrize(
    "options",
    [
        {"region_name": "ap-southeast-2"},
        {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_session_token": "c"},
        {"endpoint_url": NOWHERE},
        {"config": Config(region_name="eu-west-1", retries={"mode": "adaptive"})},
    ],
    ids=lambda options: next(iter(options)),
)
def test_all_clients_share_the_store(options: dict[str, Any]) -> None:
    create_table(boto3.client("dynamodb"))
    client = boto3.client("dynamodb", **options)
    put(client, "a")
    assert names(boto3.client("dynamodb")) == {"a"}
    region = options["config"].region_name if "config" in options else options.get("region_name", "us-east-1")
    assert client.meta.region_name == region


@pytest.mark.usefixtures("local")
def test_errors_are_those_of_the_endpoint() -> None:
    client = boto3.client("dynamodb")
    with pytest.raises(client.exceptions.ResourceNotFoundException) as raised:
        client.get_item(TableName="missing", Key={"pk": {"S": "a"}})
    assert raised.value.response["Error"]["Message"] == "Requested resource not found"
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    create_table(client)
    put(client, "a")
    with pytest.raises(ClientError) as failed:
        client.put_item(
            TableName=TABLE,
            Item={"pk": {"S": "a"}},
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    response: Any = failed.value.response
    assert response["Item"] == {"pk": {"S": "a"}}


@pytest.mark.usefixtures("local")
def test_answers_have_the_endpoints_headers() -> None:
    client = boto3.client("dynamodb")
    bodies: list[bytes] = []
    client.meta.events.register("before-parse", lambda response_dict, **_: bodies.append(response_dict["body"]))
    headers = client.list_tables()["ResponseMetadata"]["HTTPHeaders"]
    assert headers["x-amz-crc32"] == str(zlib.crc32(bodies[0]))
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert len(headers["x-amzn-requestid"]) == 52


@pytest.mark.usefixtures("local")
def test_an_operation_that_the_engine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a botocore that is newer than the engine."""
    monkeypatch.delitem(messages.TARGETS, b"DynamoDB_20120810.DescribeLimits")
    with pytest.raises(ClientError, match="UnknownOperationException"):
        boto3.client("dynamodb").describe_limits()


@pytest.mark.usefixtures("local")
def test_binary_numbers_waiters_and_paginators() -> None:
    resource: Any = boto3.resource("dynamodb")
    client = resource.meta.client
    create_table(client)
    client.get_waiter("table_exists").wait(TableName=TABLE)
    table = resource.Table(TABLE)
    with table.batch_writer() as batch:
        for number in range(30):
            batch.put_item(Item={"pk": f"{number:02}", "data": bytes([number]), "number": number})
    pages = list(client.get_paginator("scan").paginate(TableName=TABLE, PaginationConfig={"PageSize": 10}))
    found = [item["number"] for page in pages for item in page["Items"]]
    assert sorted(found) == list(range(30))
    assert table.get_item(Key={"pk": "07"})["Item"]["data"].value == b"\7"
    assert len(pages) == 4


@pytest.mark.usefixtures("unconfigured", "local")
def test_streams() -> None:
    client = boto3.client("dynamodb")
    create_table(client, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    put(client, "a")
    streams = boto3.client("dynamodbstreams")
    (stream,) = streams.list_streams(TableName=TABLE)["Streams"]
    (shard,) = streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=stream["StreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    (record,) = streams.get_records(ShardIterator=iterator)["Records"]
    assert record["dynamodb"]["NewImage"] == {"pk": {"S": "a"}}


@pytest.mark.usefixtures("unconfigured")
def test_async_clients_of_aiobotocore() -> None:
    session = get_session()

    async def use(client: Any) -> None:
        await client.put_item(TableName=TABLE, Item={"pk": {"S": "a"}})
        pages = [page async for page in client.get_paginator("scan").paginate(TableName=TABLE)]
        assert [page["Count"] for page in pages] == [1]
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            await client.describe_table(TableName="missing")

    async def run() -> None:
        async with session.create_client("dynamodb", region_name="eu-west-1") as old:
            async with sk.testing.local() as db, session.create_client("dynamodb") as new:
                assert isinstance(db, sk.AsyncSession)
                create_table(boto3.client("dynamodb"))
                await use(old)
                await use(new)
            with pytest.raises(NoCredentialsError):
                await old.list_tables()

    asyncio.run(run())


class Note(Model):
    class Meta:
        table_name = "pynamodb-notes"
        region = "eu-north-1"
        billing_mode = "PAY_PER_REQUEST"

    id = UnicodeAttribute(hash_key=True)


@pytest.mark.usefixtures("unconfigured")
def test_pynamodb() -> None:
    for _ in range(2):
        with sk.testing.local():
            assert not Note.exists()
            Note.create_table(wait=True)
            Note("a").save()
            assert [note.id for note in Note.scan()] == ["a"]


@pytest.mark.usefixtures("unconfigured", "local")
def test_a_transport_of_the_programs_own_is_not_asked() -> None:
    client = boto3.client("dynamodb")
    client.meta.events.register("before-send", lambda **_: pytest.fail("moto's, for example"))
    assert client.list_tables()["TableNames"] == []


@pytest.mark.usefixtures("unconfigured", "local")
def test_other_services_are_left_alone() -> None:
    with pytest.raises(NoRegionError):
        boto3.client("sqs")
    queues = boto3.client("sqs", region_name="eu-west-1", endpoint_url=NOWHERE)
    with pytest.raises(NoCredentialsError):
        queues.list_queues()


@pytest.mark.usefixtures("unconfigured")
def test_other_services_are_refused_if_asked() -> None:
    queues = boto3.client("sqs", region_name="eu-west-1", endpoint_url=NOWHERE)
    with sk.testing.local(others="refuse"):
        with pytest.raises(sk.testing.RefusedService, match="ListQueues of sqs"):
            queues.list_queues()
        boto3.client("dynamodb").list_tables()
    with pytest.raises(NoCredentialsError):
        queues.list_queues()


@pytest.mark.usefixtures("local")
def test_a_remote_session_goes_where_its_url_says() -> None:
    config = Config(retries={"max_attempts": 0}, connect_timeout=1)
    with sk.client(NOWHERE, config=config) as client, pytest.raises(EndpointConnectionError):
        client.list_tables()


@pytest.mark.usefixtures("unconfigured")
def test_botocore_is_restored() -> None:
    before = [vars(kind)[name] for kind, name in REPLACED]
    with pytest.raises(KeyError), sk.testing.local(), sk.testing.local():
        raise KeyError
    assert [vars(kind)[name] for kind, name in REPLACED] == before


@pytest.mark.usefixtures("unconfigured")
def test_who_replaces_botocores_method_within_keeps_what_it_has_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    client = boto3.client("dynamodb", region_name="eu-west-1")
    with sk.testing.local():
        within = EventAliaser.emit
        theirs = lambda *arguments, **named: within(*arguments, **named)  # noqa: E731
        monkeypatch.setattr(EventAliaser, "emit", theirs)
    assert EventAliaser.emit is theirs
    with pytest.raises(NoCredentialsError):
        client.list_tables()
    with sk.testing.local():
        assert client.list_tables()["TableNames"] == []
    monkeypatch.undo()


@pytest.mark.usefixtures("unconfigured")
def test_a_nested_store_hides_the_outer_one() -> None:
    client = boto3.client("dynamodb", region_name="eu-west-1")
    with sk.testing.local():
        create_table(client)
        with sk.testing.local():
            assert client.list_tables()["TableNames"] == []
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(client.list_tables).result()["TableNames"] == []
        assert client.list_tables()["TableNames"] == [TABLE]


@pytest.mark.usefixtures("unconfigured", "local")
def test_threads_use_the_store() -> None:
    client = boto3.client("dynamodb")
    create_table(client)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: put(client, f"{number}"), range(100)))
    assert len(names(client)) == 100


# Two tests side by side: each thread sees its own store, and so do the threads that it starts, by the client.
@pytest.mark.usefixtures("unconfigured")
def test_tests_side_by_side() -> None:
    both_open, both_done = threading.Barrier(2, timeout=10), threading.Barrier(2, timeout=10)
    shared = boto3.client("dynamodb", region_name="eu-west-1")

    def test(name: str) -> set[str]:
        with sk.testing.local():
            client = boto3.client("dynamodb")
            create_table(shared)
            both_open.wait()
            put(shared, name)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(put, client, f"{name} in a pool").result()
                with pytest.raises(sk.testing.AmbiguousStore):
                    pool.submit(put, shared, "anywhere").result()
            both_done.wait()
            return names(shared)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(test, "one"), pool.submit(test, "two")
        assert (first.result(), second.result()) == ({"one", "one in a pool"}, {"two", "two in a pool"})


@pytest.mark.usefixtures("unconfigured")
def test_tasks_side_by_side() -> None:
    client = boto3.client("dynamodb", region_name="eu-west-1")

    async def test(name: str, both_open: asyncio.Barrier) -> set[str]:
        async with sk.testing.local():
            create_table(client)
            await both_open.wait()
            await asyncio.to_thread(put, client, name)
            return names(client)

    async def run() -> list[set[str]]:
        both_open = asyncio.Barrier(2)
        return [*await asyncio.gather(test("one", both_open), test("two", both_open))]

    assert asyncio.run(run()) == [{"one"}, {"two"}]
