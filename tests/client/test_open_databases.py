"""Clients of one folder share its database, and the last one closes it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.client import Client
from tests.client.orders import ORDERS, database_of, key

# Python 3.12 warns about forks in a process with threads, which is what these tests do.
FORKS = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


def test_data_outlives_its_client(tmp_path: Path) -> None:
    with sk.client(tmp_path / "data") as client:
        client.create_table(**ORDERS)
        client.put_item(TableName="orders", Item=key(1))
    with sk.client(f"file:{tmp_path}/data") as client:
        assert client.get_item(TableName="orders", Key=key(1))["Item"] == key(1)


def test_memory_ends_with_its_client() -> None:
    with sk.client("memory:") as one, sk.client("memory:") as other:
        one.create_table(**ORDERS)
        assert other.list_tables()["TableNames"] == []


# A test and the application that it tests share a store by its name.
def test_clients_of_a_name_share_memory() -> None:
    with sk.client("memory:shared-1") as one, sk.client("memory:shared-1") as other, sk.client("memory:x") as third:
        one.create_table(**ORDERS)
        other.put_item(TableName="orders", Item=key(1))
        assert one.get_item(TableName="orders", Key=key(1))["Item"] == key(1)
        assert third.list_tables()["TableNames"] == []
        other.close()
        assert one.list_tables()["TableNames"] == ["orders"]
    with sk.client("memory:shared-1") as later:
        assert later.list_tables()["TableNames"] == []


def test_sync_and_async_sessions_of_a_name_share_memory() -> None:
    class Shared(sk.Item, table="named-memory"):
        id: str
        key = sk.Key("{id}")

    async def application() -> Any:
        async with sk.async_connect("memory:shared-2", tables=[Shared]) as db:
            await db.put(Shared(id="2"))
            return await db.get(Shared.key(id="1"))

    with sk.connect("memory:shared-2", tables=[Shared]) as db:
        db.create_tables()
        db.put(Shared(id="1"))
        assert asyncio.run(application()) == Shared(id="1")
        assert db.get(Shared.key(id="2")) == Shared(id="2")


def test_clients_of_a_name_have_the_same_faults() -> None:
    with sk.client("memory:shared-3"), pytest.raises(ValueError, match="'memory:shared-3' is open in this process"):
        sk.client("memory:shared-3", faults=sk.testing.Faults(clock_skew=1))


# LMDB's locks break when one process opens a file twice, so all names of a folder must give the same database.
def test_a_folder_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    names: list[str | Path] = [
        tmp_path / "data",
        "data",
        "./data/",
        "file:data",
        str(tmp_path / "link"),
        "link/../data",
    ]
    clients = [sk.client(name) for name in names]
    assert len({id(database_of(client)) for client in clients}) == 1
    for client in clients:
        client.close()


def test_the_last_to_close_closes(tmp_path: Path) -> None:
    first, second = sk.client(tmp_path), sk.client(tmp_path)
    database = database_of(first)
    first.close()
    first.close()
    second.create_table(**ORDERS)
    second.close()
    with sk.client(tmp_path) as third:
        assert database_of(third) is not database
        assert third.list_tables()["TableNames"] == ["orders"]


def test_many_threads_open_and_close(tmp_path: Path) -> None:
    start = threading.Barrier(4)
    failures: list[BaseException] = []

    def open_write_close(thread: int) -> None:
        try:
            start.wait()
            for number in range(10):
                with sk.client(tmp_path) as client:
                    client.put_item(TableName="orders", Item=key(number, f"thread {thread}"))
        except Exception as error:  # noqa: BLE001 (a thread's failure must reach the test)
            failures.append(error)

    with sk.client(tmp_path) as client:
        client.create_table(**ORDERS)
    threads = [threading.Thread(target=open_write_close, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with sk.client(tmp_path) as client:
        assert client.scan(TableName="orders", Select="COUNT")["Count"] == 40


@pytest.mark.parametrize("call", [Client.list_tables, Client.describe_limits])
def test_a_closed_client_raises(call: Callable[[Client], object]) -> None:
    client = sk.client("memory:")
    client.close()
    with pytest.raises(RuntimeError, match="client of 'memory:' is closed"):
        call(client)


def test_a_folder_that_cannot_be_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("a file")
    with pytest.raises(Exception, match="data folder"):
        sk.client(path)
    path.unlink()
    sk.client(path).close()


def in_child(work: Callable[[], None]) -> int:
    """Run work in a forked process; its exit status says whether it went well."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            work()
        except BaseException:  # noqa: BLE001 (the child must never run on into the parent's tests)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# A child that got an empty store of the same name would believe that the parent's rows are gone.
@FORKS
def test_a_name_in_memory_does_not_cross_a_fork() -> None:
    with sk.client("memory:forked"):

        def use_it() -> None:
            with pytest.raises(RuntimeError, match="'memory:forked' was open when this process was forked"):
                sk.client("memory:forked")
            sk.client("memory:another").close()

        assert in_child(use_it) == 0


# A child shares the parent's file descriptors and locks; using them would corrupt both.
@FORKS
def test_a_client_does_not_cross_a_fork(tmp_path: Path) -> None:
    with sk.client(tmp_path) as client:
        client.create_table(**ORDERS)

        def use_it() -> None:
            with pytest.raises(RuntimeError, match="before this process was forked"):
                client.list_tables()
            with pytest.raises(RuntimeError, match="was open when this process was forked"):
                sk.client(tmp_path)
            client.close()
            sk.client(tmp_path / "other").close()
            sk.client("memory:").close()

        assert in_child(use_it) == 0
        client.put_item(TableName="orders", Item=key(2))
        assert client.get_item(TableName="orders", Key=key(2))["Item"] == key(2)


@FORKS
def test_a_folder_closed_before_a_fork_can_be_opened_after_it(tmp_path: Path) -> None:
    with sk.client(tmp_path) as client:
        client.create_table(**ORDERS)

    def write() -> None:
        with sk.client(tmp_path) as own:
            own.put_item(TableName="orders", Item=key(1))

    assert in_child(write) == 0
    with sk.client(tmp_path) as client:
        assert client.get_item(TableName="orders", Key=key(1))["Item"] == key(1)


def test_one_folder_has_one_place_of_buckets(tmp_path: Path) -> None:
    with sk.client(f"{tmp_path}?buckets=one"), sk.client(tmp_path), pytest.raises(ValueError, match="other buckets"):
        sk.client(f"{tmp_path}?buckets=two")
