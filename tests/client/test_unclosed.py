"""Clients and sessions that nobody closed: released when they are collected, with a warning."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import sortkey as sk
from sortkey.engine.database import Database
from sortkey.engine.janitor.janitor import Janitor
from sortkey.storage import QueueClosed, Store
from tests.client.orders import ORDERS, key
from tests.storage.byte_store import wait_until

UNCLOSED = "was not closed; close its client or session, or use it in a with statement"


def is_closed(database: Database) -> bool:
    try:
        database.store.write(lambda _: None)
    except QueueClosed:
        return True
    return False


async def open_async(url: Any) -> Any:
    return await sk.async_connect(url)


@pytest.mark.parametrize(
    "opened",
    [
        sk.client,
        sk.async_client,
        lambda url: sk.client(f"{url}?prefix=a-"),
        lambda url: sk.connect(url, tables=[]),
        lambda url: asyncio.run(open_async(url)),
    ],
    ids=["client", "async client", "prefixed client", "session", "async session"],
)
@pytest.mark.parametrize("store", ["memory", "folder"])
def test_a_dropped_store_is_closed(opened: Callable[[str], Any], store: str, tmp_path: Path) -> None:
    holder = opened("memory:" if store == "memory" else f"file:{tmp_path}/data")
    client = getattr(holder, "client", holder)
    database: Database = client.database
    assert not is_closed(database)
    del client
    with pytest.warns(ResourceWarning, match=UNCLOSED):
        del holder
    wait_until(lambda: is_closed(database))


# The others of the folder go on using it.
def test_only_the_last_client_closes_the_folder(tmp_path: Path) -> None:
    with sk.client(tmp_path) as kept:
        kept.create_table(**ORDERS)
        dropped = sk.client(tmp_path)
        with pytest.warns(ResourceWarning, match=UNCLOSED):
            del dropped
        kept.put_item(TableName="orders", Item=key(1))
    with sk.client(tmp_path) as again:
        assert again.get_item(TableName="orders", Key=key(1))["Item"] == key(1)


def test_sessions_made_by_within_share_one_store() -> None:
    session = sk.connect("memory:", tables=[])
    other = session.within(1)
    del session
    assert other.client.list_tables()["TableNames"] == []
    other.close()


PROGRAM = """
import resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
warnings.simplefilter("ignore", ResourceWarning)
import sortkey as sk

class Note(sk.Item, table="notes"):
    name: str
    key = sk.Key("{name}")

held = []
for number in range(200):
    db = sk.connect("memory:", tables=[Note])
    db.create_tables()
    db.put(Note(name=str(number)))
    if sys.argv[1] == "held":
        held.append(db)
for number, db in enumerate(held):
    assert db.get(Note.key(name=str(number))) is not None
sys.stdout.write("done")
"""


@pytest.mark.parametrize("sessions", ["held", "dropped"])
@pytest.mark.slow
def test_hundreds_of_unclosed_sessions_in_little_address_space(sessions: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, sessions], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("done", "")


def test_a_dropped_remote_client_closes_its_connections(our_endpoint: str) -> None:
    client = sk.client(our_endpoint)
    client.list_tables()
    (botocore_client,) = client._clients.values()  # type: ignore[attr-defined]
    with patch.object(botocore_client, "close", wraps=botocore_client.close) as close:
        with pytest.warns(ResourceWarning, match=UNCLOSED):
            del client
        close.assert_called_once()


def test_a_store_whose_janitor_cannot_start_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Janitor) -> None:
        raise RuntimeError("can't start new thread")

    closed: list[Store[Any]] = []
    monkeypatch.setattr(Janitor, "start", fail)
    monkeypatch.setattr(Store, "close", lambda store: closed.append(store))
    with pytest.raises(RuntimeError, match="can't start new thread"):
        sk.client("memory:")
    assert len(closed) == 1
    monkeypatch.undo()
    closed[0].close()
