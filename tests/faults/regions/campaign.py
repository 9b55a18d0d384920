"""Three regions in which three writers change the same few items, while links are cut and processes are killed.

eu-west-1    is written through the process that replicates (`sortkey db --regions`), which is killed
us-east-1    is written through a process of its own, beside that one, which is killed too
ap-south-1   is written by this process, in the folder of the region
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

import sortkey as sk
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from tests.faults.regions.history import History, Write

EU, US, AP = REGIONS = ("eu-west-1", "us-east-1", "ap-south-1")
TABLE = "register"
PATIENCE = 60.0
"""Seconds for a process that starts."""
ONE_TRY = Config(retries={"total_max_attempts": 1})


class Plan(NamedTuple):
    seed: int
    writes: int
    kills: int
    keys: int = 20
    round: int = 100
    """After so many writes, a region goes on to other keys: the rows of the end show the last writes of many rounds."""
    cut_seconds: float = 0.4
    """About how often links are cut or healed."""


class Result(NamedTuple):
    acknowledged: int
    unanswered: int
    conflicts: int
    cuts: int
    kills: int
    rows: int
    differences: list[str]
    """Between the regions, from the model, or within a store."""


class Process:
    """A server that can be killed, and comes back at other addresses."""

    def __init__(self, *arguments: str, regions: tuple[str, ...]) -> None:
        self._arguments = arguments
        self._regions = regions
        self.urls: dict[str, str] = {}
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "sortkey", "db", "--port", "0", "--no-console", *self._arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        lines = [self._process.stdout.readline().split() for _ in self._regions]
        assert all(line[:1] == ["ready"] for line in lines), lines
        self.urls = {region: line[1] for region, line in zip(self._regions, lines, strict=True)}

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Writer(threading.Thread):
    """Writes one region, until it has written enough."""

    def __init__(self, plan: Plan, region: str, history: History, opened: Callable[[], Any]) -> None:
        super().__init__(name=region, daemon=True)
        self._plan = plan
        self._region = region
        self._history = history
        self._opened = opened
        self._random = random.Random(f"{plan.seed} {region}")
        self.written = 0

    def run(self) -> None:
        client = self._opened()
        while self.written < self._plan.writes // len(REGIONS):
            if not self._write(client):
                client.close()
                client = self._opened()
        client.close()

    def _write(self, client: Any) -> bool:
        """False if there was no answer."""
        key = f"{self.written // self._plan.round} {self._random.randrange(self._plan.keys)}"
        value = None if self._random.random() < 0.25 else f"{self._region} {self.written}"
        named = {"TableName": TABLE}
        began = time.time()
        try:
            if value is None:
                answer = client.delete_item(**named, Key={"k": {"S": key}}, ReturnValues="ALL_OLD")
            else:
                answer = client.put_item(**named, Item={"k": {"S": key}, "v": {"S": value}})
        except (BotoCoreError, ClientError):
            self._history.add(key, Write(self._region, value, began, math.inf))
            return False
        # Nothing is deleted where there is nothing, not even elsewhere.
        if value is not None or "Attributes" in answer:
            self._history.add(key, Write(self._region, value, began, time.time()))
        self.written += 1
        return True


def order(url: str, **wanted: Any) -> dict[str, Any]:
    """What `sortkey regions` sends."""
    request = urllib.request.Request(f"{url}/regions", json.dumps(wanted).encode())
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        state: dict[str, Any] = json.load(answer)
    return state


class Campaign:
    def __init__(self, plan: Plan, data: Path) -> None:
        self._plan = plan
        self._data = data
        self._random = random.Random(plan.seed)
        self._history = History()
        self._replicating = Process("--data", str(data), "--regions", ",".join(REGIONS), regions=REGIONS)
        with sk.client(self._replicating.urls[EU]) as client:
            attribute = {"AttributeName": "k"}
            client.create_table(
                TableName=TABLE,
                KeySchema=[{**attribute, "KeyType": "HASH"}],
                AttributeDefinitions=[{**attribute, "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            for region in (US, AP):
                client.update_table(TableName=TABLE, ReplicaUpdates=[{"Create": {"RegionName": region}}])
                order(self._replicating.urls[EU], settle=True)
        self._beside = Process("--data", str(data / US), regions=(US,))

    def run(self) -> Result:
        opened: dict[str, Callable[[], Any]] = {
            EU: lambda: self._client(self._replicating, EU),
            US: lambda: self._client(self._beside, US),
            AP: lambda: sk.client(self._data / AP),
        }
        writers = [Writer(self._plan, region, self._history, opened[region]) for region in REGIONS]
        for writer in writers:
            writer.start()
        cuts, kills = self._disturb(writers)
        for writer in writers:
            writer.join()
        self._beside.kill()
        url = self._replicating.urls[EU]
        order(url, heal=[], lag=0)
        state = order(url, settle=True)
        rows = {region: self._rows(region) for region in REGIONS}
        self._replicating.kill()
        differences = [f"waiting: {state['waiting']}"] if state["waiting"] else []
        differences += [f"{region} differs from {EU}" for region in REGIONS if rows[region] != rows[EU]]
        differences += self._history.problems(rows[EU])
        for region in REGIONS:
            differences += self._check(region)
        acknowledged = self._history.acknowledged
        total = sum(map(len, self._history.writes.values()))
        return Result(
            acknowledged, total - acknowledged, self._history.conflicts, cuts, kills, len(rows[EU]), differences
        )

    def _client(self, process: Process, region: str) -> Any:
        return sk.client(process.urls[region], config=ONE_TRY)

    def _disturb(self, writers: list[Writer]) -> tuple[int, int]:
        """Cut, heal and kill while the writers write; how often."""
        cuts = kills = 0
        while any(writer.is_alive() for writer in writers):
            writers[0].join(self._random.random() * 2 * self._plan.cut_seconds)
            url = self._replicating.urls[EU]
            match self._random.choice(("cut", "cut", "cut", "heal", "lag")):
                case "cut":
                    order(url, cut=self._random.sample(REGIONS, self._random.choice((1, 2))))
                    cuts += 1
                case "heal":
                    order(url, heal=[])
                case "lag":
                    order(url, lag=self._random.choice((0, 0.05)))
            done = sum(writer.written for writer in writers) / self._plan.writes
            if kills < self._plan.kills and done > (kills + 1) / (self._plan.kills + 1):
                process = self._replicating if kills % 2 == 0 else self._beside
                process.kill()
                process.start()
                kills += 1
        return cuts, kills

    def _rows(self, region: str) -> dict[str, str]:
        with sk.client(self._replicating.urls[region]) as client:
            items = client.scan(TableName=TABLE)["Items"]
        return {item["k"]["S"]: item["v"]["S"] for item in items}

    def _check(self, region: str) -> list[str]:
        database = Database(self._data / region)
        try:
            return [f"{region}: {problem}" for problem in check_database(database).problems]
        finally:
            database.close()


def run(plan: Plan, data: Path) -> Result:
    return Campaign(plan, data).run()
