"""Backups of a store under load: time, size, the p99 of writes meanwhile, and whether each is exactly its moment

`sortkey db` serves a folder with a million items. Another process puts items at a steady rate, each over an item that
is there, and records how long each put took since it was due. Meanwhile come `sortkey backup`, as a process of its own,
CreateBackup, and RestoreTableFromBackup. By hand is the same load alone, before each.

Both are restored and read. Put N writes its number into an item that N determines. So the greatest number in a copy
tells how many puts it has, and then what each of its items must be; a copy of another state is an error.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha512
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Final, NamedTuple

import sortkey as sk
from benchmarks._latencies import with_omitted
from benchmarks._results import Result
from benchmarks.load import quantile
from sortkey.client import Client
from sortkey.engine.operations.write import BulkPut
from tests.wire.serving import ServerProcess

ITEMS: Final = 1_000_000
PUTS_PER_SECOND: Final = 200
CALM_SECONDS: Final = 15.0
STRIDE: Final = 7919
"""Prime, so that the puts reach every item."""
TABLE: Final = "items"


def run(items: int = ITEMS, rate: int = PUTS_PER_SECOND, calm: float = CALM_SECONDS) -> Iterator[Result]:
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        fill(data, items)
        server = ServerProcess("--data", data)
        try:
            yield from measured(server.url, data, items, rate, calm)
        finally:
            server.stop()


def measured(url: str, data: Path, items: int, rate: int, calm: float) -> Iterator[Result]:
    file, copy = data.parent / "backup.gz", data.parent / "copy"
    with sk.client(url) as client, Load(url, items, rate) as load:
        before = load.during(lambda: sleep(calm))
        meanwhile = load.during(lambda: command("backup", data, file))
        yield Result("sortkey backup", meanwhile.seconds, "s")
        yield Result("size of the folder", (data / "data.mdb").stat().st_size / 1e6, "MB")
        yield Result("size of the file", file.stat().st_size / 1e6, "MB")
        yield from latencies("sortkey backup", before, meanwhile)
        before = load.during(lambda: sleep(calm))
        meanwhile = load.during(lambda: create_backup(client))
        yield Result("CreateBackup, until AVAILABLE", meanwhile.seconds, "s")
        yield from latencies("CreateBackup", before, meanwhile)
        before = load.during(lambda: sleep(calm))
        meanwhile = load.during(lambda: restore_table(client))
        yield Result("RestoreTableFromBackup, until ACTIVE", meanwhile.seconds, "s")
        yield from latencies("RestoreTableFromBackup", before, meanwhile)
        puts = load.puts()
        began = perf_counter()
        command("restore", file, copy)
        yield Result("sortkey restore", perf_counter() - began, "s")
        with sk.client(copy) as copied:
            check(copied, TABLE, items, puts)
        check(client, "restored", items, puts)


class Meanwhile(NamedTuple):
    seconds: float
    taken: list[float]
    """Milliseconds of each put."""


def latencies(name: str, before: Meanwhile, meanwhile: Meanwhile) -> Iterator[Result]:
    for label, share in (("p50", 0.5), ("p99", 0.99)):
        value, bare = quantile(meanwhile.taken, share), quantile(before.taken, share)
        yield Result(f"put during {name}, {label}", value, "ms", bare)


def fill(data: Path, items: int) -> None:
    with sk.client(data) as client:
        client.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        assert client.database is not None
        for start in range(0, items, 1000):
            puts = BulkPut(client.database)
            for number in range(start, min(start + 1000, items)):
                puts.add(TABLE, wire(number, 0))
            client.database.store.write(puts.work)


def wire(number: int, put: int) -> dict[str, dict[str, str]]:
    """An item as one of the puts leaves it."""
    return {"id": {"S": f"{number:09}"}, "put": {"N": str(put)}, "text": {"S": text(number)}}


def text(number: int) -> str:
    """Half of it can be compressed."""
    return f"an ordinary text, {sha512(str(number).encode()).hexdigest()}, of some two hundred characters, as many have"


def place(put: int, items: int) -> int:
    return put * STRIDE % items


class Load:
    """A process that puts at a steady rate, until it is ended."""

    def __init__(self, url: str, items: int, rate: int) -> None:
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=put_steadily, args=(url, items, rate, theirs), daemon=True)

    def __enter__(self) -> Load:
        self._process.start()
        self._ours.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.send("end")
        self._process.join()

    def during(self, work: Callable[[], object]) -> Meanwhile:
        """What the puts took while the work was done."""
        self._take()
        began = perf_counter()
        work()
        seconds = perf_counter() - began
        return Meanwhile(seconds, self._take()[1])

    def puts(self) -> int:
        """How many puts have been answered."""
        return self._take()[0]

    def _take(self) -> tuple[int, list[float]]:
        self._ours.send("take")
        found: tuple[int, list[float]] = self._ours.recv()
        return found


def put_steadily(url: str, items: int, rate: int, theirs: Connection) -> None:
    interval = 1 / rate
    put = 0
    taken: list[float] = []
    with sk.client(url) as client:
        theirs.send("ready")
        due = perf_counter()
        while True:
            while theirs.poll():
                if theirs.recv() == "end":
                    return
                theirs.send((put, taken))
                taken = []
            put += 1
            client.put_item(TableName=TABLE, Item=wire(place(put, items), put))
            now = perf_counter()
            taken += (seconds * 1000 for seconds in with_omitted(due, now, interval, now))
            due = max(due + interval, now)
            sleep(max(0.0, due - now))


def command(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "sortkey", *map(str, arguments)], check=True, capture_output=True)


def create_backup(client: Client) -> None:
    details = client.create_backup(TableName=TABLE, BackupName="loaded")["BackupDetails"]
    while details["BackupStatus"] == "CREATING":
        sleep(0.1)
        details = client.describe_backup(BackupArn=details["BackupArn"])["BackupDescription"]["BackupDetails"]


def restore_table(client: Client) -> None:
    (backup,) = client.list_backups()["BackupSummaries"]
    client.restore_table_from_backup(TargetTableName="restored", BackupArn=backup["BackupArn"])
    while client.describe_table(TableName="restored")["Table"]["TableStatus"] == "CREATING":
        sleep(0.1)


def check(client: Client, table: str, items: int, puts: int) -> None:
    """Raises ValueError if the table is not what it was after one of the puts."""
    found = dict(sorted(rows(client, table)))
    last = max(put for put, _ in found.values())
    expected = dict.fromkeys(range(items), 0) | {place(put, items): put for put in range(1, last + 1)}
    wanted = checksum((number, (expected[number], text(number))) for number in range(items))
    if not 0 < last <= puts or checksum(found.items()) != wanted:
        raise ValueError(f"{table} is not what it was after put {last} of {puts}")


def rows(client: Client, table: str) -> Iterator[tuple[int, tuple[int, str]]]:
    """The number of each item, the put that wrote it, and its text."""
    start: dict[str, object] = {}
    while True:
        page = client.scan(TableName=table, **start)
        for each in page["Items"]:
            yield int(each["id"]["S"]), (int(each["put"]["N"]), each["text"]["S"])
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def checksum(found: Iterable[tuple[int, tuple[int, str]]]) -> bytes:
    whole = sha512()
    for number, (put, content) in found:
        whole.update(f"{number} {put} {content}\n".encode())
    return whole.digest()
