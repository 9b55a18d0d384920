"""Writers that are killed. Each acknowledged write becomes a line in a pipe, after its call has returned.

slot NAME STEP      the slot is in the state after this many steps (`state_after`), or in a later one
count VALUE         the shared counter has reached this value
tally NAME VALUE    this writer's own counter has this value, or the next one
transfer TOKEN      this transfer is in all ledgers
fleeting NAME       this item was put; it has expired and may be gone, but then the stream tells
making, made, dropping, dropped KIND NAME    before and after a table or an index comes or goes
"""

from __future__ import annotations

import os
import threading
import time
from itertools import count
from multiprocessing.connection import Connection
from random import Random
from threading import Thread
from typing import Any

import sortkey
from sortkey.client import Client
from tests.faults import bank
from tests.faults.crash.plain_client import PlainClient

WRITERS = 4
COLOURS = ("red", "green", "blue")
SLOTS = 3
BATCH = 5
"""Slots that are only written by batches, all of them in each."""
SCRATCH = "scratch-"
"""How the names of tables and indexes begin that come and go."""


def main(where: str, seed: int, log: Connection) -> None:
    """Write to a folder or to an endpoint."""
    say = Log(log)
    client = PlainClient(where) if where.startswith("http:") else sortkey.client(where)
    for number in range(WRITERS):
        Thread(target=Writer(client, f"{seed}-{number}", Random(seed * WRITERS + number), say).run).start()


class Log:
    """Writes to the pipe; also reports a thread that ends with an exception."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        threading.excepthook = self._failed

    def __call__(self, *lines: str) -> None:
        # One system call: the pipe gets the whole lines, and keeps them when this process ends.
        os.write(self._pipe.fileno(), "".join(f"{line}\n" for line in lines).encode())

    def _failed(self, error: threading.ExceptHookArgs) -> None:
        self(f"failed {error.exc_value!r}")
        os._exit(1)


class Writer:
    def __init__(self, client: Client, name: str, random: Random, say: Log) -> None:
        self._client = client
        self._name = name
        self._random = random
        self._say = say
        self._steps: dict[str, int] = {}
        self._acts = [self._transfer, self._count, self._slot, self._slot, self._batch, self._tally, self._fleeting]

    def run(self) -> None:
        for number in count():
            if self._random.random() < 0.03:
                self._change_shape(f"{SCRATCH}{self._name}-{number}")
            else:
                self._random.choice(self._acts)(number)

    def _transfer(self, number: int) -> None:
        giver, receiver = self._random.sample(bank.ACCOUNTS, 2)
        token = f"{self._name}-{number}"
        if bank.transfer(self._client, self._name, token, giver, receiver, self._random.randint(1, 40)):
            self._say(f"transfer {token}")

    def _count(self, _: int) -> None:
        self._say(f"count {bank.increment(self._client)}")

    def _slot(self, _: int) -> None:
        slot = f"{self._name}-slot-{self._random.randrange(SLOTS)}"
        step, state = self._next(slot)
        if state is None:
            self._client.delete_item(TableName="slots", Key={"id": {"S": slot}})
        else:
            self._client.put_item(TableName="slots", Item=bank.wire(state))
        self._say(f"slot {slot} {step}")

    def _batch(self, _: int) -> None:
        slots = [f"{self._name}-batch-{number}" for number in range(BATCH)]
        steps = {slot: self._next(slot) for slot in slots}
        requests: list[Any] = [
            {"DeleteRequest": {"Key": {"id": {"S": slot}}}}
            if state is None
            else {"PutRequest": {"Item": bank.wire(state)}}
            for slot, (_, state) in steps.items()
        ]
        answer = self._client.batch_write_item(RequestItems={"slots": requests})
        assert not answer["UnprocessedItems"]
        self._say(*(f"slot {slot} {step}" for slot, (step, _) in steps.items()))

    def _next(self, slot: str) -> tuple[int, dict[str, str | int] | None]:
        step = self._steps[slot] = self._steps.get(slot, 0) + 1
        return step, state_after(slot, step)

    def _tally(self, _: int) -> None:
        answer = self._client.update_item(
            TableName="counters",
            Key={"id": {"S": self._name}},
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )
        self._say(f"tally {self._name} {answer['Attributes']['n']['N']}")

    def _fleeting(self, number: int) -> None:
        name = f"{self._name}-{number}"
        expires = int(time.time()) - 1
        self._client.put_item(TableName="fleeting", Item=bank.wire({"id": name, "expires": expires}))
        self._say(f"fleeting {name}")

    def _change_shape(self, name: str) -> None:
        """Make a table or an index, or drop the one that there is."""
        errors = self._client.exceptions
        try:
            self._random.choice((self._change_tables, self._change_indexes))(name)
        # Another writer does the same, or the last index is not filled yet.
        except (errors.ResourceInUseException, errors.LimitExceededException, errors.ResourceNotFoundException):
            return

    def _change_tables(self, name: str) -> None:
        present = scratch_tables(self._client)
        if present:
            self._say(f"dropping table {present[0]}")
            self._client.delete_table(TableName=present[0])
            self._say(f"dropped table {present[0]}")
        else:
            self._say(f"making table {name}")
            bank.create(self._client, name)
            self._say(f"made table {name}")

    def _change_indexes(self, name: str) -> None:
        present = scratch_indexes(self._client)
        if present:
            self._say(f"dropping index {present[0]}")
            self._update_slots({"Delete": {"IndexName": present[0]}})
            self._say(f"dropped index {present[0]}")
        else:
            self._say(f"making index {name}")
            self._update_slots({"Create": bank.index_on("kind", name)})
            self._say(f"made index {name}")

    def _update_slots(self, change: dict[str, Any]) -> None:
        self._client.update_table(
            TableName="slots",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")],
            GlobalSecondaryIndexUpdates=[change],
        )


def scratch_tables(client: Client) -> list[str]:
    return [name for name in client.list_tables()["TableNames"] if name.startswith(SCRATCH)]


def scratch_indexes(client: Client) -> list[str]:
    indexes = client.describe_table(TableName="slots")["Table"]["GlobalSecondaryIndexes"]
    return [index["IndexName"] for index in indexes if index["IndexName"].startswith(SCRATCH)]


def state_after(slot: str, step: int) -> dict[str, str | int] | None:
    """Every fourth step deletes; the others move the item in the index and in the expiry index."""
    if step % 4 == 0:
        return None
    return {
        "id": slot,
        "step": step,
        "kind": COLOURS[step % len(COLOURS)],
        "expires": int(bank.FAR_FUTURE) + step,
        "padding": "x" * (37 * step % 2000),
    }
