"""A session or a configuration of the program's own: its credentials, its hooks and its settings are used."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import aiobotocore.session
import boto3
import botocore.session
import pytest
from aiobotocore.config import AioConfig
from botocore.config import Config

import sortkey as sk
from tests.client.orders import EVERY_TYPE, ORDERS, key


class Seen:
    """The requests that a session's hook saw."""

    def __init__(self, session: Any) -> None:
        self.operations: list[str] = []
        self.headers: list[dict[str, str]] = []
        session.register("before-send.dynamodb", self.hook)

    def hook(self, request: Any, event_name: str, **_: Any) -> None:
        self.operations.append(event_name.rpartition(".")[2])
        self.headers.append({name: _text(value) for name, value in request.headers.items()})

    @property
    def keys(self) -> set[str]:
        """The access keys that requests were signed with."""
        return {each["Authorization"].partition("Credential=")[2].partition("/")[0] for each in self.headers}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@pytest.fixture
def endpoint(our_endpoint: str) -> str:
    """Our endpoint, with tables of the test's own."""
    return f"{our_endpoint}?prefix=t{uuid4().hex}-"


@pytest.fixture
def session() -> boto3.Session:
    return boto3.Session("AKSHOP", "secret", region_name="eu-west-1")


# Tracing hangs on botocore's hooks, so no read may go past them.
def test_a_session_signs_and_sees_every_request(endpoint: str, session: boto3.Session) -> None:
    seen = Seen(session._session)
    with sk.client(endpoint, session=session) as client:
        client.create_table(**ORDERS)
        client.put_item(TableName="orders", Item=EVERY_TYPE)
        assert client.get_item(TableName="orders", Key=key(1))["Item"] == EVERY_TYPE
        assert client.meta.region_name == "eu-west-1"
    assert seen.operations == ["CreateTable", "PutItem", "GetItem"]
    assert seen.keys == {"AKSHOP"}


# The program may use its session for other clients, which know nothing of Sortkey.
def test_a_session_is_not_changed(endpoint: str, session: boto3.Session) -> None:
    with sk.client(endpoint, session=session) as client:
        client.create_table(**ORDERS)
        client.put_item(TableName="orders", Item=EVERY_TYPE)
        url, _, prefix = endpoint.partition("?prefix=")
        plain = session.client("dynamodb", endpoint_url=url)
        answer = plain.get_item(TableName=f"{prefix}orders", Key=key(1))
        assert answer["Item"] == EVERY_TYPE
        plain.close()


def test_a_botocore_session_is_one_too(endpoint: str) -> None:
    session = botocore.session.Session()
    session.set_credentials("AKPLAIN", "secret")
    session.set_config_variable("region", "eu-west-1")
    seen = Seen(session)
    with sk.connect(endpoint, session=session, tables=[sk.Table("none")]) as db:
        db.client.list_tables()
    assert seen.keys == {"AKPLAIN"}


def test_a_config_goes_before_ours(endpoint: str, session: boto3.Session) -> None:
    seen = Seen(session._session)
    config = Config(user_agent="shop/1", retries={"max_attempts": 7, "mode": "adaptive"})
    with sk.client(endpoint.partition("?")[0], session=session, config=config) as client:
        client.list_tables()
        made = vars(client)["_clients"]["dynamodb"]
    assert seen.headers[0]["User-Agent"].startswith("shop/1")
    assert made.meta.config.retries["mode"] == "adaptive"
    assert made.meta.config.max_pool_connections == 64


def test_async_stores_take_a_session_of_aiobotocore(endpoint: str) -> None:
    session = aiobotocore.session.get_session()
    session.set_credentials("AKASYNC", "secret")
    session.set_config_variable("region", "eu-west-1")
    seen = Seen(session)

    async def run() -> None:
        config = AioConfig(read_timeout=5)
        async with sk.async_client(endpoint, session=session, config=config) as client:
            await client.create_table(**ORDERS)
            await client.put_item(TableName="orders", Item=EVERY_TYPE)
            answer = await client.get_item(TableName="orders", Key=key(1))
            assert answer["Item"] == EVERY_TYPE
        async with sk.async_connect(endpoint, session=session, tables=[sk.Table("none")]) as db:
            await db.client.list_tables()

    asyncio.run(run())
    assert {"CreateTable", "PutItem", "GetItem", "ListTables"} <= set(seen.operations)
    assert seen.keys == {"AKASYNC"}


def test_a_session_of_the_other_kind_is_rejected(endpoint: str, session: boto3.Session) -> None:
    with pytest.raises(TypeError, match="session must be one of aiobotocore or aioboto3 for an async store"):
        sk.async_client(endpoint, session=session)
    with pytest.raises(TypeError, match="session must be one of boto3 or botocore for a sync store"):
        sk.client(endpoint, session=aiobotocore.session.get_session())
    with pytest.raises(TypeError, match="not 'profile'"):
        sk.client(endpoint, session="profile")


def test_a_store_in_the_process_has_no_session(session: boto3.Session) -> None:
    with pytest.raises(ValueError, match="'memory:' is a store in the process; session and config are for endpoints"):
        sk.connect("memory:", session=session)
    with pytest.raises(ValueError, match="a store in the process"):
        sk.async_client("memory:", config=Config())
