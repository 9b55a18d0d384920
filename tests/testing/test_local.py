"""`sk.testing.local`: a store for a test, with a clock and faults, as a context manager and as a decorator."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import unittest
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from typing import Annotated, Any

import boto3
import pytest
from botocore.exceptions import ClientError, NoRegionError

import sortkey as sk
from tests.testing.boto3_clients import create_table, names, put

pytestmark = pytest.mark.usefixtures("unconfigured")


class Note(sk.Item, table="testing-notes"):
    name: str
    created: Annotated[datetime | None, sk.created] = None

    key = sk.Key("NOTE#{name}")


NOON = datetime(2050, 1, 1, 12, tzinfo=UTC)


def test_each_store_is_new() -> None:
    for _ in range(2):
        with sk.testing.local(Note) as db:
            assert db.put(Note(name="a"), if_absent=True)


def test_the_clock_is_the_sessions() -> None:
    clock = sk.testing.ManualClock(NOON.timestamp())
    with sk.testing.local(Note, clock=clock) as db:
        db.put(Note(name="a"))
        assert db.get(Note.key(name="a")) == Note(name="a", created=NOON)


def test_the_faults_are_the_stores() -> None:
    with (
        sk.testing.local(Note, faults=sk.testing.Faults(throttle=1.0)) as db,
        pytest.raises(ClientError, match="Throttling"),
    ):
        db.client.get_item(TableName="testing-notes", Key={"pk": {"S": "NOTE#a"}})


def test_an_async_store() -> None:
    async def put_and_get() -> Note | None:
        clock = sk.testing.ManualClock(NOON.timestamp())
        async with sk.testing.async_local(Note, clock=clock) as db:
            await db.put(Note(name="a"))
            return await db.get(Note.key(name="a"))

    assert asyncio.run(put_and_get()) == Note(name="a", created=NOON)


def tables() -> list[str]:
    return boto3.client("dynamodb").list_tables()["TableNames"]


def test_only_the_tables_that_are_given_are_created() -> None:
    with sk.testing.local():
        assert tables() == []
    with sk.testing.local(Note):
        assert tables() == ["testing-notes"]


def test_a_session_and_boto3_share_the_store() -> None:
    with sk.testing.local(Note) as db:
        boto3.resource("dynamodb").Table("testing-notes").put_item(Item={"pk": "NOTE#a", "name": "a"})
        assert db.get(Note.key(name="a")) == Note(name="a")


def test_a_named_store_is_there_until_its_last_session_closes() -> None:
    with sk.client("memory:testing-named") as client:
        for _ in range(2):
            with sk.testing.local(url="memory:testing-named"):
                if not tables():
                    create_table(boto3.client("dynamodb"))
        assert client.list_tables()["TableNames"] == ["orders"]


def test_a_folder(tmp_path: Path) -> None:
    with sk.testing.local(Note, url=tmp_path):
        pass
    with sk.testing.local(url=tmp_path):
        assert tables() == ["testing-notes"]


@pytest.mark.parametrize("url", ["http://localhost:8000", "dynamodb://eu-west-1"])
def test_an_endpoint_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match="not a store in the process"):
        sk.testing.local(url=url)


def test_an_unknown_word_for_other_services_is_rejected() -> None:
    unknown: Any = "deny"
    with pytest.raises(ValueError, match="'allow' or 'refuse'"):
        sk.testing.local(others=unknown)


def test_a_decorated_function_gets_a_new_store_at_each_call() -> None:
    @sk.testing.local
    def bare(name: str) -> list[str]:
        """Its own text."""
        create_table(boto3.client("dynamodb"), name)
        return tables()

    @sk.testing.local(Note)
    def with_tables(name: str) -> list[str]:
        create_table(boto3.client("dynamodb"), name)
        return tables()

    assert (bare("one"), bare(name="two")) == (["one"], ["two"])
    assert [with_tables("one"), with_tables("two")] == [["one", "testing-notes"], ["testing-notes", "two"]]
    assert (bare.__name__, bare.__doc__) == ("bare", "Its own text.")


def test_calls_of_a_decorated_function_side_by_side() -> None:
    both_open = Barrier(2, timeout=10)
    client = boto3.client("dynamodb", region_name="eu-west-1")

    @sk.testing.local
    def call(name: str) -> set[str]:
        create_table(client)
        put(client, name)
        both_open.wait()
        return names(client)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(call, ["one", "two"])) == [{"one"}, {"two"}]


def test_a_decorated_coroutine() -> None:
    @sk.testing.local
    async def call() -> list[str]:
        create_table(boto3.client("dynamodb"))
        await asyncio.sleep(0)
        return tables()

    async def twice() -> list[list[str]]:
        return [await call(), await call()]

    assert asyncio.run(twice()) == [["orders"], ["orders"]]


def test_a_function_that_yields_is_rejected() -> None:
    def fixture() -> Iterator[None]:
        yield

    async def async_fixture() -> AsyncIterator[None]:
        yield

    for each in (fixture, async_fixture):
        with pytest.raises(TypeError, match="yields"):
            sk.testing.local(each)


@sk.testing.local
class TestDecorated:
    """Each test has a new store, which is there for what is set up before it, and torn down after it."""

    @pytest.fixture
    def client(self) -> Any:
        client = boto3.client("dynamodb")
        assert names(client) == {"from setup_method"}
        return client

    def setup_method(self, method: Any) -> None:
        assert method.__name__.startswith("test_")
        create_table(made())
        put(made(), "from setup_method")

    def teardown_method(self) -> None:
        assert "from the test" in names(made())

    @pytest.mark.parametrize("time", [1, 2])
    def test_starts_with_what_is_set_up(self, client: Any, time: int) -> None:
        assert time
        put(client, "from the test")


@sk.testing.local(Note)
class TestDecoratedWithoutSetup:
    @pytest.mark.parametrize("time", [1, 2])
    def test_starts_with_the_tables(self, time: int) -> None:
        assert tables() == ["testing-notes"]
        create_table(made(), f"another-{time}")


@sk.testing.local
class TestOfUnittest(unittest.TestCase):
    def setUp(self) -> None:
        create_table(made())

    def tearDown(self) -> None:
        assert made().list_tables()["TableNames"] == ["orders"]

    def test_one(self) -> None:
        put(made(), "a")
        assert names(made()) == {"a"}

    def test_other(self) -> None:
        put(made(), "b")
        assert names(made()) == {"b"}


@sk.testing.local
class TestOfUnittestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        create_table(made())

    async def test_one(self) -> None:
        await asyncio.to_thread(put, made(), "a")
        assert names(made()) == {"a"}


# The packages of all extras are missing, and boto3, too.
ALONE = """
import sys
for name in ("aiobotocore", "aiohttp", "boto3", "httptools", "isal", "litestar", "rich", "uvloop"):
    sys.modules[name] = None
import botocore.session
import sortkey as sk

with sk.testing.local():
    assert botocore.session.get_session().create_client("dynamodb").list_tables()["TableNames"] == []
"""


@pytest.mark.slow
def test_it_needs_no_extra() -> None:
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def made() -> Any:
    return boto3.client("dynamodb", region_name="eu-west-1")


# Nothing may stay open: the next test would find it.
def test_a_setup_that_fails_closes_its_store() -> None:
    class Failing:
        def setup_method(self) -> None:
            raise KeyError

    with pytest.raises(KeyError):
        sk.testing.local(Failing)().setup_method()
    with pytest.raises(NoRegionError):
        boto3.client("dynamodb")
