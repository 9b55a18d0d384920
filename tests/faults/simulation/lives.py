"""A simulation: a store lives, crashes, is opened again and lives on; after each life it is compared with the model."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest.mock import patch

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.janitor import backfill, janitor, removal
from sortkey.engine.tables.core import Settings
from sortkey.storage import environment, write_queue
from sortkey.storage.gradual_check import GradualCheck
from sortkey.storage.write_lock import WriteLock
from tests.faults.simulation.clients import TABLE, Clients, plain, table
from tests.faults.simulation.damage import OUTCOMES, outcome_of_flip
from tests.faults.simulation.disk import Disk, Environment
from tests.faults.simulation.history import History, Plain, Record
from tests.faults.simulation.scheduler import Scheduler

LIVES: Final = 3
FLIPS: Final = 2
CHUNK: Final = 2
"""Rows of one transaction of the janitor, so that even few rows take several."""
MEMORY_FOLDER: Final = Path("/dev/shm")
LOGGERS: Final = tuple(logging.getLogger(module.__name__) for module in (janitor, write_queue))


@dataclass
class Outcome:
    trace: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    """By the end of a commit."""
    flips: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    """Bits flipped in the last folder, by their outcome."""
    operations: int = 0
    done: int = 0
    crashes: int = 0


class Difference(AssertionError):
    """The store and the model differ; the message has the seed."""


def simulate(seed: int) -> Outcome:
    """Run the simulation of this seed. Raises Difference."""
    random = Random(seed)
    parent = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    home = Path(tempfile.mkdtemp(prefix="sortkey-simulation-", dir=parent))
    try:
        return _Simulation(random, home).run()
    except AssertionError as error:
        raise Difference(f"seed {seed}: {error} (replay: make simulate N=1 SEED={seed})") from error
    finally:
        shutil.rmtree(home)


class _Simulation:
    def __init__(self, random: Random, home: Path) -> None:
        self._random = random
        self._home = home
        self._clock = ManualClock()
        self._history = History()
        self._outcome = Outcome()

    def run(self) -> Outcome:
        folder = self._home / "0"
        database = Database(folder, self._clock)
        database.call("CreateTable", table(TABLE))
        ttl = {"Enabled": True, "AttributeName": "expires"}
        database.call("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": ttl})
        database.close()
        for life in range(1, LIVES + 1):
            left = self._home / str(life)
            self._live(folder, left)
            folder = left
            self._verify(folder)
        for _ in range(FLIPS):
            self._outcome.flips[outcome_of_flip(self._random, folder, self._clock, (_items, _records))] += 1
        self._outcome.operations = len(self._history.operations)
        self._outcome.done = sum(operation.outcome == "done" for operation in self._history.operations)
        return self._outcome

    def _live(self, folder: Path, left: Path) -> None:
        """One life in the folder; what it leaves on disk is in another folder then."""
        scheduler = Scheduler(Random(self._random.random()), len(self._outcome.trace))
        disk = Disk(Random(self._random.random()), scheduler, folder)
        with _simulated(scheduler, disk):
            database = Database(folder, self._clock, Settings(sweep_seconds=1.0))
            clients = Clients(database, disk, scheduler, self._history, self._clock)
            self._begin(database, clients, scheduler)
            try:
                scheduler.run()
            finally:
                disk.close()
        self._outcome.trace += scheduler.trace
        self._outcome.crashes += scheduler.crashed
        for end, count in disk.faults.items():
            self._outcome.faults[end] = self._outcome.faults.get(end, 0) + count
        disk.survive(left)

    def _begin(self, database: Database, clients: Clients, scheduler: Scheduler) -> None:
        random = self._random

        def seeded() -> Random:
            return Random(random.random())

        again = scheduler.spawn("again", clients.ask_again)
        working = [again]
        for number in range(random.choice((1, 2, 4))):
            name = f"caller {number}"
            working.append(scheduler.spawn(name, partial(clients.caller, name, seeded(), random.randrange(1, 10))))
        for number in range(random.choice((0, 1, 2))):
            name = f"loop {number}"
            working.append(scheduler.spawn(name, partial(clients.loop, name, seeded(), random.randrange(1, 12))))
        chores = partial(clients.chores, seeded(), 6)

        def do_chores() -> None:
            # Time passes in it, and the engine would forget the tokens of what is asked again.
            scheduler.point("chores", lambda: again.finished)
            chores()

        working.append(scheduler.spawn("chores", do_chores))

        def close() -> None:
            scheduler.point("all clients have finished", lambda: all(task.finished for task in working))
            database.close()

        database.janitor.start()
        scheduler.spawn("close", close)

    def _verify(self, folder: Path) -> None:
        database = Database(folder, self._clock)
        try:
            assert check_database(database).problems == []
            self._history.verify(_records(database), _items(database), self._clock.now())
        finally:
            database.close()


@contextmanager
def _simulated(scheduler: Scheduler, disk: Disk) -> Iterator[None]:
    """Let the storage and the janitor run on simulated threads and disk."""
    opened = environment.open_folder

    def open_folder(path: Path) -> tuple[Environment, WriteLock, GradualCheck | None]:
        environment, lock, check = opened(path)
        return disk.open(environment), lock, check

    with ExitStack() as patches:
        for module in (write_queue, janitor):
            patches.enter_context(patch.object(module, "threading", scheduler))
        patches.enter_context(patch.object(environment, "open_folder", open_folder))
        patches.enter_context(patch.object(backfill, "CHUNK_ROWS", CHUNK))
        for name in ("CHUNK", "CHUNK_ITEMS"):
            patches.enter_context(patch.object(removal, name, CHUNK))
        for logger in LOGGERS:
            patches.enter_context(patch.object(logger, "disabled", True))
        yield


def _items(database: Database) -> dict[str, Plain]:
    answer = database.call("Scan", {"TableName": TABLE})
    return {item["id"]: item for item in map(plain, answer["Items"])}


def _records(database: Database) -> list[Record]:
    arn = database.call("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    (shard,) = database.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    position = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = database.call("GetShardIterator", position)["ShardIterator"]
    records: list[Record] = []
    while (page := database.call("GetRecords", {"ShardIterator": iterator}))["Records"]:
        records += map(_record, page["Records"])
        iterator = page["NextShardIterator"]
    return records


def _record(raw: dict[str, Any]) -> Record:
    change = raw["dynamodb"]
    before, after = (plain(change[image]) if image in change else None for image in ("OldImage", "NewImage"))
    return Record(change["Keys"]["id"]["S"], before, after, "userIdentity" in raw)
