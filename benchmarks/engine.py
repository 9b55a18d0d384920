"""The embedded engine, microseconds a call, beside the same work done by hand with lmdb and orjson

Items are about 200 bytes, a hundred to a partition. Both sides are on disk and sync every write. By hand means what one
would write for exactly this table: a key of two joined strings, the item as JSON, no validation, no types, no capacity.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import lmdb
import orjson

import sortkey
from benchmarks._results import Result
from benchmarks._timing import side_by_side

TABLE = "orders"
PER_PARTITION = 100
SIZES = (10_000, 1_000_000)
POPULATION = 10_000
"""How many different items are read, whatever the size of the table."""
BATCH = 25


def item(number: int) -> dict[str, Any]:
    return {
        "customer": {"S": f"customer#{number // PER_PARTITION}"},
        "order": {"S": f"order#{number % PER_PARTITION:04d}"},
        "address": {"S": "14 Long Street, a town whose name goes on for a while, 12345, somewhere not far from here"},
        "items": {"N": "3"},
        "total": {"N": "49.9"},
        "paid": {"BOOL": True},
    }


def key(number: int) -> dict[str, Any]:
    whole = item(number)
    return {"customer": whole["customer"], "order": whole["order"]}


def keys_of(count: int) -> list[dict[str, Any]]:
    """Keys from the whole table, made in advance, so that only the call is measured."""
    return [key(number) for number in range(0, count, count // POPULATION)]


class Engine:
    def __init__(self, folder: Path, count: int) -> None:
        self.keys = keys_of(count)
        self.client = sortkey.client(str(folder))
        self.client.create_table(
            TableName=TABLE,
            AttributeDefinitions=[
                {"AttributeName": "customer", "AttributeType": "S"},
                {"AttributeName": "order", "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": "customer", "KeyType": "HASH"},
                {"AttributeName": "order", "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        # Several threads, so that their batches share syncs.
        with ThreadPoolExecutor(8) as pool:
            for _ in pool.map(self._load, range(0, count, BATCH)):
                pass

    def _load(self, start: int) -> None:
        puts = [{"PutRequest": {"Item": item(number)}} for number in range(start, start + BATCH)]
        self.client.batch_write_item(RequestItems={TABLE: puts})

    def get_item(self, number: int) -> object:
        return self.client.get_item(TableName=TABLE, Key=self.keys[number])["Item"]

    def batch_get_50(self, number: int) -> object:
        keys = [self.keys[(number + 37 * step) % POPULATION] for step in range(50)]
        return self.client.batch_get_item(RequestItems={TABLE: {"Keys": keys}})["Responses"]

    def query_64(self, number: int) -> object:
        return self.client.query(
            TableName=TABLE,
            KeyConditionExpression="customer = :c",
            ExpressionAttributeValues={":c": self.keys[number]["customer"]},
            Limit=64,
        )["Items"]

    def put_item(self, number: int) -> object:
        return self.client.put_item(TableName=TABLE, Item=item(number))

    def update_item(self, number: int) -> object:
        return self.client.update_item(
            TableName=TABLE,
            Key=self.keys[number],
            UpdateExpression="SET #t = #t + :one",
            ExpressionAttributeNames={"#t": "total"},
            ExpressionAttributeValues={":one": {"N": "1"}},
        )


class ByHand:
    def __init__(self, folder: Path, count: int) -> None:
        self.keys = keys_of(count)
        self.environment = lmdb.open(
            str(folder), map_size=1 << 36, lib_version=1, readahead=False, max_spare_txns=8, subdir=True
        )
        with self.environment.begin(write=True) as transaction:
            for number in range(count):
                whole = item(number)
                transaction.put(_joined(whole), orjson.dumps(whole))

    def get_item(self, number: int) -> object:
        with self.environment.begin() as snapshot:
            return orjson.loads(snapshot.get(_joined(self.keys[number]), b"null"))

    def batch_get_50(self, number: int) -> object:
        keys = [self.keys[(number + 37 * step) % POPULATION] for step in range(50)]
        with self.environment.begin() as snapshot:
            return [orjson.loads(snapshot.get(_joined(each), b"null")) for each in keys]

    def query_64(self, number: int) -> object:
        prefix = self.keys[number]["customer"]["S"].encode() + b"\0"
        found: list[object] = []
        with self.environment.begin() as snapshot:
            cursor = snapshot.cursor()
            if cursor.set_range(prefix):
                for row_key, row in cursor.iternext():
                    if len(found) == 64 or not row_key.startswith(prefix):
                        break
                    found.append(orjson.loads(row))
        return found

    def put_item(self, number: int) -> object:
        whole = item(number)
        with self.environment.begin(write=True) as transaction:
            return transaction.put(_joined(whole), orjson.dumps(whole))

    def update_item(self, number: int) -> object:
        row_key = _joined(self.keys[number])
        with self.environment.begin(write=True) as transaction:
            whole = orjson.loads(transaction.get(row_key, b"null"))
            whole["total"]["N"] = str(Decimal(whole["total"]["N"]) + 1)
            return transaction.put(row_key, orjson.dumps(whole))


def _joined(whole: dict[str, Any]) -> bytes:
    return f"{whole['customer']['S']}\0{whole['order']['S']}".encode()


CALLS = {"get_item": 3000, "batch_get_50": 300, "query_64": 300, "put_item": 100, "update_item": 100}


def run() -> Iterator[Result]:
    for count in SIZES:
        with tempfile.TemporaryDirectory(prefix="sortkey-bench-", dir=".") as folder:
            engine, by_hand = Engine(Path(folder) / "engine", count), ByHand(Path(folder) / "by-hand", count)
            for number in range(POPULATION):
                # The first access to a page costs a page fault, which measures the system and neither side.
                engine.get_item(number)
                by_hand.get_item(number)
            for name, calls in CALLS.items():
                ours, bare = side_by_side(getattr(engine, name), getattr(by_hand, name), POPULATION, calls)
                yield Result(f"{name}, {count:,} items", ours, "µs", bare)
            engine.client.close()
            by_hand.environment.close()
