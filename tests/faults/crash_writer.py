"""Writers that are killed. Each acknowledged write becomes a line in a pipe, after its call has returned.

slot NAME STEP      the slot is in the state after this many steps (`state_after`), or in a later one
count VALUE         the shared counter has reached this value
transfer TOKEN      this transfer is in all ledgers
"""

from __future__ import annotations

import os
import threading
from itertools import count
from multiprocessing.connection import Connection
from random import Random
from threading import Thread

import sortkey
from sortkey.client import Client
from tests.faults import bank

WRITERS = 4
COLOURS = ("red", "green", "blue")


def main(path: str, seed: int, log: Connection) -> None:
    say = Log(log)
    client = sortkey.client(path)
    for number in range(WRITERS):
        Thread(target=Writer(client, f"{seed}-{number}", Random(seed * WRITERS + number), say).run).start()


class Log:
    """Writes to the pipe; also reports a thread that ends with an exception."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        threading.excepthook = self._failed

    def __call__(self, line: str) -> None:
        # One system call: the pipe gets the whole line, and keeps it when this process ends.
        os.write(self._pipe.fileno(), line.encode() + b"\n")

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

    def run(self) -> None:
        for number in count():
            self._random.choice((self._transfer, self._slot, self._slot, self._count))(number)

    def _transfer(self, number: int) -> None:
        giver, receiver = self._random.sample(bank.ACCOUNTS, 2)
        token = f"{self._name}-{number}"
        if bank.transfer(self._client, self._name, token, giver, receiver, self._random.randint(1, 40)):
            self._say(f"transfer {token}")

    def _count(self, _: int) -> None:
        self._say(f"count {bank.increment(self._client)}")

    def _slot(self, _: int) -> None:
        slot = f"{self._name}-slot-{self._random.randrange(3)}"
        step = self._steps[slot] = self._steps.get(slot, 0) + 1
        state = state_after(slot, step)
        if state is None:
            self._client.delete_item(TableName="slots", Key={"id": {"S": slot}})
        else:
            self._client.put_item(TableName="slots", Item=bank.wire(state))
        self._say(f"slot {slot} {step}")


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
