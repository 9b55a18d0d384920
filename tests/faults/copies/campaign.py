"""Copies a table that is written to, kills the copier at random, and cuts over; then nothing may be lost or twice.

One kill comes the moment a writer meets the fence. The last run is left alone.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, NamedTuple

import sortkey
from sortkey.client.interface import Client
from sortkey.copies.fences import FENCE_SECONDS
from tests.faults.copies.writer import TABLE, thing
from tests.oracle.local import DynamoDBLocal
from tests.wire.serving import ServerProcess

Show = Callable[[str], None]


class Plan(NamedTuple):
    rows: int
    writes: int
    """A second."""
    kills: int
    seed: int
    longest_run: float
    """Before a kill, in seconds."""
    kills_at_fence: bool = True
    """Whether one more comes then. The fence stands for half a minute."""


class Result(NamedTuple):
    rows: int
    """In the target."""
    written: int
    writes_a_second: float
    kills: int
    lost: int
    wrong: int
    """Rows with another counter than the writer's, and rows that should be gone."""
    fenced: float
    """Of the last cut-over, in seconds, as the command says."""
    fenced_for_writer: float
    """The same, as the writer saw it."""
    seconds: float
    said: str


@contextmanager
def opened_target(kind: str, folder: Path) -> Iterator[str]:
    """Our endpoint on disk, or DynamoDB Local."""
    if kind == "local":
        local = DynamoDBLocal(folder / "local.log")
        yield local.url
        local.close()
    else:
        process = ServerProcess("--data", folder / "target")
        yield process.url
        process.kill()


def load(client: Client, rows: int) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "s", "AttributeType": "N"},
            {"AttributeName": "colour", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-colour",
                "KeySchema": [{"AttributeName": "colour", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    puts = client.in_process_puts
    assert puts is not None
    for start in range(0, rows, 1000):
        group = puts()
        for number in range(start, min(start + 1000, rows)):
            group.add(TABLE, thing(number))
        group.submit().answer.result()


def run(plan: Plan, folder: Path, target: str, show: Show) -> Result:
    source, journal = folder / "source", folder / "journal"
    with sortkey.client(source) as client:
        load(client, plan.rows)
    show(f"{plan.rows:,} rows loaded")
    began = monotonic()
    writer = _WriterProcess(plan, source, journal)
    random, kills, is_fence_due = Random(plan.seed), 0, plan.kills_at_fence
    while True:
        # Slow enough that no kill comes too late: each row takes two write units, with its index row.
        rate = 2 * plan.rows / (plan.kills + 2) / plan.longest_run
        copier = _started(source, target, ["--rate", f"{rate:.1f}"] if kills < plan.kills else [])
        if kills < plan.kills:
            seconds = random.uniform(0.5, plan.longest_run)
            try:
                copier.wait(seconds)
            except subprocess.TimeoutExpired:
                copier.kill()
                kills += 1
                show(f"copier killed after {seconds:.1f} s")
        elif is_fence_due:
            # The fence falls by itself if the copier had not told the writers yet; else all is done.
            writer.meets_fence(copier)
            copier.kill()
            is_fence_due = False
            kills += 1
            show("copier killed at the fence")
            writer.goes_on()
        output, errors = copier.communicate()
        if copier.returncode == -signal.SIGKILL:
            continue
        if copier.returncode != 0 and "has moved" not in errors:
            writer.kill()
            raise AssertionError(f"the copier failed: {errors}{output}")
        break
    show("cut over")
    writer.wait()
    found = json.loads(journal.read_text())
    expected = {int(number): value for number, value in found["rows"].items()}
    with sortkey.client(target) as client:
        lost, wrong, rows = _compare(client, plan.rows, expected)
    fenced = output.partition("fenced for ")[2].partition(" s")[0]
    return Result(
        rows=rows,
        written=found["written"],
        writes_a_second=found["written"] / found["seconds"],
        kills=kills,
        lost=lost,
        wrong=wrong,
        fenced=float(fenced or "nan"),
        fenced_for_writer=found["fences"][-1],
        seconds=monotonic() - began,
        said=output,
    )


def _started(source: Path, target: str, more: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sortkey", "copy", str(source), target, "--cut-over", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class _WriterProcess:
    def __init__(self, plan: Plan, source: Path, journal: Path) -> None:
        arguments = [str(source), str(plan.rows), str(plan.writes), str(plan.seed), str(journal)]
        command = [sys.executable, "-m", "tests.faults.copies.writer", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._fenced, self._free = threading.Event(), threading.Event()
        ready = threading.Event()

        def read() -> None:
            assert self.process.stdout is not None
            with self.process.stdout as lines:
                for line in lines:
                    if line == "ready\n":
                        ready.set()
                    elif line == "fenced\n":
                        self._fenced.set()
                    else:
                        self._free.set()

        self._reader = threading.Thread(target=read)
        self._reader.start()
        assert ready.wait(60)

    def meets_fence(self, copier: subprocess.Popen[str]) -> None:
        """Wait until it does, or the copier has ended."""
        while not self._fenced.wait(0.001) and copier.poll() is None:
            pass

    def goes_on(self) -> None:
        """Wait until the fence has fallen, or the table has moved."""
        assert self._free.wait(2 * FENCE_SECONDS)

    def wait(self) -> None:
        """Until the table has moved."""
        assert self.process.wait() == 0
        self._reader.join()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()


def _compare(client: Client, rows: int, expected: dict[int, int | None]) -> tuple[int, int, int]:
    """How many rows are lost, how many are wrong, and how many there are."""
    found: dict[int, int] = {}
    wrong = 0
    start: dict[str, Any] = {}
    while True:
        page = client.scan(TableName=TABLE, ConsistentRead=True, **start)
        for row in page["Items"]:
            number = int(row["s"]["N"])
            wrong += {**thing(number), "n": row["n"]} != row
            found[number] = int(row["n"]["N"])
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    wanted = {number: expected.get(number, 0) for number in range(rows)} | expected
    wanted_rows = {number: value for number, value in wanted.items() if value is not None}
    lost = sum(number not in found for number in wanted_rows)
    wrong += sum(number in found and found[number] != value for number, value in wanted_rows.items())
    wrong += sum(number not in wanted_rows for number in found)
    return lost, wrong, len(found)
