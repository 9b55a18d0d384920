"""`python -m tests.faults.copies.writer STORE ROWS WRITES SEED JOURNAL`: writes at a pace until the table has moved.

It says `fenced` when a fence is met, `free` when it has fallen, and `moved` at the end. The journal is what every
changed row must be in the end, by its number: its counter, or None if it was deleted.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random
from typing import Any, Final

from botocore.exceptions import ClientError

import sortkey
from sortkey.client.interface import Client
from sortkey.model.calls.steps import code_of

TABLE: Final = "things"
TURN_SECONDS: Final = 0.02
FILLING: Final = "x" * 100


def key_of(number: int) -> dict[str, Any]:
    """Partitions of one row, and one of a tenth of all."""
    partition = "crowd" if number % 10 == 0 else f"p{number}"
    return {"p": {"S": partition}, "s": {"N": str(number)}}


def thing(number: int) -> dict[str, Any]:
    return {**key_of(number), "n": {"N": "0"}, "colour": {"S": f"c{number % 9}"}, "filling": {"S": FILLING}}


class Writer:
    def __init__(self, client: Client, rows: int, seed: int) -> None:
        self.journal: dict[int, int | None] = {}
        self.written = 0
        self._client = client
        self._rows = rows
        self._random = Random(seed)
        self._fenced_at: float | None = None
        self.fences: list[float] = []

    def write(self) -> bool:
        """One write; False if the table has moved."""
        number = self._random.randrange(self._rows + self._rows // 10)
        before = self.journal.get(number, 0 if number < self._rows else None)
        kind = self._random.random()
        while True:
            try:
                after = self._change(number, before, kind)
            except ClientError as error:
                code = code_of(error)
                if code not in ("TableFencedException", "TableMovedException"):
                    raise
                if self._fenced_at is None:
                    self._fenced_at = time.monotonic()
                    say("fenced")
                if code == "TableMovedException":
                    self.fences.append(time.monotonic() - self._fenced_at)
                    say("moved")
                    return False
                time.sleep(0.002)
            else:
                break
        if self._fenced_at is not None:
            self.fences.append(time.monotonic() - self._fenced_at)
            self._fenced_at = None
            say("free")
        self.journal[number] = after
        self.written += 1
        return True

    def _change(self, number: int, before: int | None, kind: float) -> int | None:
        """A counter shows what is applied twice or not at all."""
        if before is None:
            self._client.put_item(TableName=TABLE, Item=thing(number))
            return 0
        if kind < 0.1:
            self._client.delete_item(TableName=TABLE, Key=key_of(number))
            return None
        self._client.update_item(
            TableName=TABLE,
            Key=key_of(number),
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        return before + 1


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(store: str, rows: str, writes: str, seed: str, journal: str) -> None:
    with sortkey.client(store) as client:
        writer = Writer(client, int(rows), int(seed))
        say("ready")
        began = time.monotonic()
        while True:
            due = int((time.monotonic() - began) * int(writes)) - writer.written
            if not all(writer.write() for _ in range(due)):
                break
            time.sleep(TURN_SECONDS)
        seconds = time.monotonic() - began
    found = {"rows": writer.journal, "written": writer.written, "seconds": seconds, "fences": writer.fences}
    Path(journal).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
