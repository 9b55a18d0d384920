"""Processes that are killed in the middle of the janitor's work, while they also write.

The process with seed 0 begins each chore and later ones continue it. Chunks are small, so that a process is often
killed between two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Connection
from random import Random
from unittest.mock import patch

import sortkey
from sortkey.client import Client
from sortkey.engine.janitor import backfill, removal
from tests.faults import bank
from tests.faults.crash.writer import Log

ITEMS = 4000
CHUNK = 20
COLOURS = ("red", "green", "blue")

Begin = Callable[[Client], object]


def fill_index(path: str, seed: int, log: Connection) -> None:
    _run(path, seed, log, begin_index, "things")


def fill_expiries(path: str, seed: int, log: Connection) -> None:
    _run(path, seed, log, begin_expiry, "things")


def empty_table(path: str, seed: int, log: Connection) -> None:
    _run(path, seed, log, lambda client: client.delete_table(TableName="things"), "others")


def _run(path: str, seed: int, log: Connection, begin: Begin, table: str) -> None:
    """Run the janitor and write to a table at the same time, until killed."""
    say, random = Log(log), Random(seed)
    with ExitStack() as small:
        small.enter_context(patch.object(backfill, "CHUNK_ROWS", CHUNK))
        small.enter_context(patch.object(removal, "CHUNK", CHUNK))
        client = sortkey.client(path)
        if seed == 0:
            begin(client)
        while True:
            client.put_item(TableName=table, Item=bank.wire(thing(random.randrange(ITEMS), random)))
            say("put")


def thing(number: int, random: Random) -> dict[str, str | int]:
    return {
        "id": f"thing-{number}",
        "colour": random.choice(COLOURS),
        "expires": int(bank.FAR_FUTURE) - random.randrange(1000),
    }


def begin_index(client: Client) -> None:
    client.update_table(
        TableName="things",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "colour")],
        GlobalSecondaryIndexUpdates=[{"Create": bank.index_on("colour", "by-colour")}],
    )


def begin_expiry(client: Client) -> None:
    client.update_time_to_live(
        TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
    )
