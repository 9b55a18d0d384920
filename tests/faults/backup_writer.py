"""Processes that are killed while the janitor copies a backup or fills a restored table, while they also write."""

from __future__ import annotations

from multiprocessing.connection import Connection
from random import Random
from unittest.mock import patch

import sortkey
from sortkey.client import Client
from sortkey.engine.janitor import backups, restores
from tests.faults import bank
from tests.faults.chore_writer import ITEMS, thing
from tests.faults.crash.writer import Log

SMALL = 2000
ROWS = 20


def write_on(path: str, seed: int, log: Connection) -> None:
    """Run the janitor, and write, until killed."""
    say, random = Log(log), Random(seed)
    with patch.object(backups, "BLOCK_BYTES", SMALL), patch.object(restores, "CHUNK_ROWS", ROWS):
        client = sortkey.client(path)
        while True:
            write(client, random)
            say("put")


def write(client: Client, random: Random) -> None:
    client.put_item(TableName="things", Item=bank.wire(thing(random.randrange(ITEMS), random)))
