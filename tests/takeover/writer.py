"""The old program goes on while its table is repaired: it writes with boto3 until its standard input is closed.

    python -m tests.takeover.writer URL TABLE ROWS SEED

It prints each write after its answer, as one line of JSON: the number of the row and the fields that it has now, null
if it is deleted. It prefers flawed rows, so that it meets the repair there.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Collection, Sequence
from typing import Any, Final

from tests.takeover.legacy import Fields, Planted, Row, build, decimal, intended, planted
from tests.takeover.old_client import old_client

FLAWED_SHARE: Final = 0.3
"""The share of writes to flawed rows."""


class Writer:
    def __init__(self, client: Any, table: str, rows: int, seed: int) -> None:
        self._client = client
        self._table = table
        self._rows = rows
        self._chance = random.Random(seed)
        self._flawed = [number for number in range(rows) if planted(number).found]
        self._fields: dict[int, Fields | None] = {}
        """What it has written, by the number of the row."""
        self._writes = 0

    def write(self) -> tuple[int, Fields | None]:
        """One write, of another value each time: the row's number, and its fields afterwards."""
        number = self._choose()
        self._writes += 1
        known = self._fields.get(number) or intended(number)
        after = self._carry_out(planted(number), {**known, "note": f"write {self._writes}"})
        self._fields[number] = after
        return number, after

    def _choose(self) -> int:
        while True:
            among: Sequence[int] = self._flawed if self._chance.random() < FLAWED_SHARE else range(self._rows)
            some = self._chance.choice(among)
            # A deleted row stays deleted, so that a repair which brought it back would be seen.
            if self._fields.get(some, {}) is not None:
                return some

    def _carry_out(self, was: Planted, fields: Fields) -> Fields | None:
        action = self._chance.randrange(20 if was.found else 10)
        if action < 4 or action >= 10 or not was.is_repaired or "cents" in was.row:
            # An attribute that no class declares, of a row that may be flawed.
            self._update(was.row, build(fields), ("note", "checksum"))
            return fields
        if action < 5:
            self._client.delete_item(TableName=self._table, Key=_key(was.row))
            return None
        changed = self._changed(fields)
        row = build(changed)
        if action < 8:
            self._update(row, row, row.keys() - _key(row).keys())
        else:
            self._client.put_item(TableName=self._table, Item=row)
        return changed

    def _changed(self, fields: Fields) -> Fields:
        """Other values for fields that index keys are made of."""
        match fields["entity"]:
            case "Customer":
                return {**fields, "city": f"City {self._writes}"}
            case "Order":
                return {**fields, "status": f"S{self._writes}", "total": decimal(self._chance.randint(100, 9_999))}
            case "Line":
                return {**fields, "sku": f"S{self._writes}"}
        return {**fields, "price": decimal(self._chance.randint(100, 9_999))}

    def _update(self, key: Row, row: Row, names: Collection[str]) -> None:
        self._client.update_item(
            TableName=self._table,
            Key=_key(key),
            UpdateExpression="SET " + ", ".join(f"#{index} = :{index}" for index in range(len(names))),
            ExpressionAttributeNames={f"#{index}": name for index, name in enumerate(names)},
            ExpressionAttributeValues={f":{index}": row[name] for index, name in enumerate(names)},
        )


def _key(row: Row) -> Row:
    return {"PK": row["PK"], "SK": row["SK"]}


def main(url: str, table: str, rows: int, seed: int) -> None:
    writer = Writer(old_client(url), table, rows, seed)
    stopped = threading.Event()

    def stop_at_the_end() -> None:
        sys.stdin.read()
        stopped.set()

    threading.Thread(target=stop_at_the_end, daemon=True).start()
    while not stopped.is_set():
        sys.stdout.write(json.dumps(writer.write()) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
