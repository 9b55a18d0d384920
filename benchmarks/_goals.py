"""The processes of the benchmark of goals: the batch job, the server and its readers, the worker behind Kafka."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from confluent_kafka import Producer

import sortkey as sk
from benchmarks._folder_check import wait_until_checked, wait_until_idle
from sortkey_services.goals.batch.demo_gold import demo_rules, write_gold
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import GOALS, PENDING, TABLES
from sortkey_services.goals.rules_database import write_rules
from sortkey_services.goals.service import GoalsService
from tests.kafka.broker import Broker

AS_OF: Final = datetime(2026, 5, 16, tzinfo=UTC)
SECONDS: Final = 60


class Latencies(NamedTuple):
    """Milliseconds."""

    p50: float
    p99: float
    number: int


class Loaded(NamedTuple):
    seconds: float
    """From the start of the process to its end."""
    megabytes: float
    """The largest resident memory of the process itself, without mapped files."""


def latencies(milliseconds: list[float]) -> Latencies:
    ordered = sorted(milliseconds)
    return Latencies(ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], len(ordered))


class Inputs:
    """Gold, rules and a store in a folder."""

    def __init__(self, folder: Path, persons: int) -> None:
        self.folder = folder
        self.persons = persons
        self.store = folder / "data"
        self._rules = f"sqlite:///{folder / 'rules.db'}"
        write_gold(folder / "gold", persons=persons, as_of=AS_OF)
        write_rules(self._rules, demo_rules())
        sk.connect(self.store).close()

    def start_batch(self, hours: int, *options: str, store: Path | None = None) -> BatchProcess:
        if store is not None:
            sk.connect(store).close()
        as_of = (AS_OF + timedelta(hours=hours)).isoformat()
        inputs = ["--gold", str(self.folder / "gold"), "--rules", self._rules, "--as-of", as_of]
        return BatchProcess([*inputs, "--store", str(store or self.store), *options], self.folder / "batch.log")

    def person(self, draw: Random) -> str:
        return f"p{draw.randrange(self.persons):07}"


class BatchProcess:
    def __init__(self, arguments: list[str], log: Path) -> None:
        self._began = perf_counter()
        self._log = log
        with log.open("w") as output:
            command = [sys.executable, "-m", "sortkey", "batch", "goals", *arguments]
            self._process = subprocess.Popen(command, stdout=output, stderr=output)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_until_writing(self) -> None:
        """The checks and the SQL are over, and rows are written; or the end."""
        while self.is_running and "writing" not in self._log.read_text():
            time.sleep(0.01)  # another process tells by its log alone

    def wait(self) -> Loaded:
        megabytes = 0.0
        while self.is_running:
            megabytes = max(megabytes, self._own_megabytes())
            time.sleep(0.05)  # memory is looked at again and again
        seconds = perf_counter() - self._began
        if self._process.returncode != 0:
            raise RuntimeError(f"sortkey batch failed: {self._log.read_text().strip()[-500:]}")
        return Loaded(seconds, megabytes)

    def _own_megabytes(self) -> float:
        """Without the pages of the store, which is a mapped file. A process that ends has none."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")) / 1024

    def end(self) -> None:
        """Kill it if it still runs, because the benchmark has failed."""
        if self.is_running:
            self._process.kill()
            self._process.wait()


@contextmanager
def serving(store: Path) -> Iterator[str]:
    """`sortkey serve goals`, by its URL."""
    command = [sys.executable, "-m", "sortkey", "serve", "goals", "--store", str(store), "--port", "0"]
    with _ready([*command, "--access-log", "off"]) as url:
        yield url


@contextmanager
def working(broker: Broker, topic: str, store: Path) -> Iterator[str]:
    """`sortkey worker goals`."""
    command = [sys.executable, "-m", "sortkey", "worker", "goals", "--kafka", broker.bootstrap, "--topic", topic]
    with _ready([*command, "--store", str(store)]) as url:
        yield url


@contextmanager
def _ready(command: list[str]) -> Iterator[str]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"{' '.join(command[2:5])} did not start")
        wait_until_idle(process.pid)
        yield line.split()[1]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def deposits(inputs: Inputs, draw: Random) -> Iterator[DepositEvent]:
    """Events of random persons, each now."""
    number = 0
    while True:
        number += 1
        yield DepositEvent(
            event_id=f"bench-{number}",
            person_id=inputs.person(draw),
            goal_id=draw.choice(GOALS),
            current_balance=float(number),
            status=PENDING,
            updated_at=datetime.now(UTC),
        )


async def read_in_process(
    inputs: Inputs, pending: int, goes_on: Callable[[int, float], bool], pause: Callable[[], None]
) -> tuple[Latencies, float]:
    """Reads of random persons, one after the other, and the capacity units of one. Some have pending deposits.
    `goes_on` is given how many were made, in how many seconds."""
    draw = Random(16)
    async with sk.async_connect(inputs.store, tables=TABLES, timeout=None) as session:
        await wait_until_checked(session)
        service = GoalsService(session)
        await service.apply(list(islice(deposits(inputs, Random(17)), pending)))
        await service.read(inputs.person(draw))
        before = _units(session)
        times: list[float] = []
        start = perf_counter()
        while goes_on(len(times), perf_counter() - start):
            person = inputs.person(draw)
            began = perf_counter()
            await service.read(person)
            times.append(1000 * (perf_counter() - began))
            pause()
        return latencies(times), (_units(session) - before) / len(times)


def _units(session: sk.AsyncSession) -> float:
    return sum(reading.units for reading in session.meter.readings())


def events_until_visible(broker: Broker, inputs: Inputs, number: int) -> Latencies:
    """From the call that produces an event until a read over HTTP shows it, one event after the other."""
    topic = broker.topic(1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    times: list[float] = []
    with serving(inputs.store) as url, working(broker, topic, inputs.store):
        address = urlsplit(url).netloc
        client = HTTPConnection(address, timeout=SECONDS)
        for event in islice(deposits(inputs, Random(18)), number):
            began = perf_counter()
            producer.produce(topic, msgspec.json.encode(event), event.person_id)
            producer.poll(0)
            while not _shows(client, event):
                if perf_counter() - began > SECONDS:
                    raise RuntimeError(f"the event {event.event_id} did not become visible")
                time.sleep(0.001)  # the worker is another process, so the store is asked
            times.append(1000 * (perf_counter() - began))
        client.close()
    producer.flush(SECONDS)
    # The first one waits until the worker has joined its group.
    return latencies(times[1:])


def _shows(client: HTTPConnection, event: DepositEvent) -> bool:
    client.request("GET", f"/goals/{event.person_id}")
    answer = client.getresponse()
    found = msgspec.json.decode(answer.read())
    if answer.status != 200:
        raise RuntimeError(f"GET /goals/{event.person_id} was answered with {answer.status}")
    return any(
        goal["goalId"] == event.goal_id and goal["savedAmount"] == event.current_balance for goal in found["goals"]
    )
