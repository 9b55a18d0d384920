"""Processes that are killed while the janitor copies a backup, or restores, exports or imports a table, and that write
meanwhile."""

from __future__ import annotations

from contextlib import ExitStack
from multiprocessing.connection import Connection
from random import Random
from unittest.mock import patch

import sortkey
from sortkey.client import Client
from sortkey.engine.janitor import backups, exports, imports, restores
from tests.faults import bank
from tests.faults.chore_writer import ITEMS, thing
from tests.faults.crash.writer import Log

SMALL = 2000
ROWS = 20


def write_on(path: str, seed: int, log: Connection) -> None:
    """Run the janitor, and write, until killed."""
    say, random = Log(log), Random(seed)
    with ExitStack() as small:
        small.enter_context(patch.object(backups, "BLOCK_BYTES", SMALL))
        small.enter_context(patch.object(restores, "CHUNK_ROWS", ROWS))
        small.enter_context(patch.object(exports, "FILE_BYTES", SMALL))
        small.enter_context(patch.object(imports, "CHUNK_RECORDS", ROWS))
        client = sortkey.client(f"{path}?buckets={path}/buckets")
        while True:
            write(client, random)
            say("put")


def write(client: Client, random: Random) -> None:
    client.put_item(TableName="things", Item=bank.wire(thing(random.randrange(ITEMS), random)))
