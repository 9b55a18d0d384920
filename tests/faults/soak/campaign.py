"""A soak: steady load and faults on real processes, measured every second, and examined at the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import monotonic, perf_counter
from typing import Any, Final

import sortkey
from sortkey.engine.check.database_check import check
from tests.faults.follower import Follower
from tests.faults.soak.bad_clients import BadClients
from tests.faults.soak.feed import Feed
from tests.faults.soak.load import TABLE, Client, layout
from tests.faults.soak.samples import Sample
from tests.faults.soak.servers import Servers
from tests.faults.soak.service_load import ServiceClient
from tests.wire.serving import RawClient, request

CLIENTS: Final = 6
KILLS: Final = 20
"""Kills of a worker in a run, at most; a new one needs a second to start."""
FASTEST_KILLS: Final = 5.0
PROBES: Final = 10
"""In each second."""
PROBE: Final = request("GetItem", {"TableName": TABLE, "Key": {"id": {"S": "probe"}}})


@dataclass
class Result:
    samples: list[Sample] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    requests: int = 0
    broken: int = 0
    """Connections that ended without an answer, because their worker was killed."""
    kills: int = 0
    bad: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    """That the follower saw."""
    events: int = 0
    """That were sent through Kafka."""
    feed_kills: int = 0


class Soak:
    def __init__(self, folder: Path, show: Callable[[Sample], None] = lambda _: None, with_kafka: bool = False) -> None:
        self._show = show
        self._over = Event()
        self._servers = Servers(folder)
        url = self._servers.endpoint.url
        self._follower = Follower(TABLE)
        self._clients = [Client(url, f"client-{number}") for number in range(CLIENTS)]
        self._service = ServiceClient(self._servers.service.url)
        self._bad = BadClients([url, self._servers.service.url])
        self._feed = Feed(folder, self._servers.data) if with_kafka else None
        self._latencies: list[float] = []
        self._broken_probes = 0

    def run(self, seconds: float) -> Result:
        result = Result()
        try:
            self._create_table()
            result.samples = self._load(seconds, result.problems)
            result.problems += self._examine()
        finally:
            if self._feed is not None:
                self._feed.stop()
            result.problems += self._servers.stop()
        self._count(result)
        return result

    def _create_table(self) -> None:
        with sortkey.client(self._servers.endpoint.url) as client:
            client.create_table(**layout())
            client.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=_expiry(True))

    def _load(self, seconds: float, problems: list[str]) -> list[Sample]:
        work = [*(client.run for client in self._clients), self._service.run]
        work += [self._bad.run, self._follow, self._probe]
        if self._feed is not None:
            work.append(self._feed.run)
        with ThreadPoolExecutor(len(work)) as threads:
            running = [threads.submit(run, self._over) for run in work]
            for each in running:
                # One that fails ends the soak.
                each.add_done_callback(lambda _: self._over.set())
            try:
                samples = self._watch(seconds)
            finally:
                self._over.set()
        problems += [repr(error) for error in (each.exception() for each in running) if error is not None]
        return samples

    def _watch(self, seconds: float) -> list[Sample]:
        """Measure each second, and kill a worker now and then."""
        began, samples, answered = monotonic(), [], 0
        between = max(FASTEST_KILLS, seconds / KILLS)
        while not self._over.wait(1.0) and monotonic() - began < seconds:
            before, answered = answered, self._answered()
            samples.append(self._sample(monotonic() - began, answered - before))
            self._show(samples[-1])
            if samples[-1].second > between * (self._servers.kills + 1):
                self._servers.kill_a_worker()
        return samples

    def _answered(self) -> int:
        return self._service.answered + sum(client.answered for client in self._clients)

    def _sample(self, second: float, requests: int) -> Sample:
        latencies, self._latencies = self._latencies, []
        file, free = self._servers.file_bytes()
        memory, descriptors = self._servers.memory(), self._servers.descriptors()
        return Sample(second, memory, descriptors, file, free, tuple(latencies), requests)

    def _follow(self, over: Event) -> None:
        with sortkey.client(self._servers.endpoint.url) as client:
            while not over.wait(0.5):
                self._follower.follow(client)

    def _probe(self, over: Event) -> None:
        """The latency of a small read: whatever holds the loop of its worker shows in it."""
        probe = RawClient(self._servers.endpoint.url)
        while not over.wait(1 / PROBES):
            asked = perf_counter()
            try:
                probe.send(PROBE)
                probe.answer()
            except (OSError, IndexError):
                self._broken_probes += 1
                probe.close()
                probe = RawClient(self._servers.endpoint.url)
                continue
            self._latencies.append(perf_counter() - asked)
        probe.close()

    def _examine(self) -> list[str]:
        """At the end, when nobody writes: the follower has seen every change, and the folder is consistent."""
        with sortkey.client(self._servers.endpoint.url) as client:
            # What expires now would be deleted while it is compared.
            client.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=_expiry(False))
            self._follower.follow(client)
            pages = client.get_paginator("scan").paginate(TableName=TABLE)
            stored = {item["id"]["S"]: item for page in pages for item in page["Items"]}
        problems = [] if self._feed is None else self._feed.problems()
        problems += check(self._servers.data).problems
        if stored != self._follower.items:
            problems.append(f"the follower has {len(self._follower.items)} items, and the table {len(stored)} others")
        return problems

    def _count(self, result: Result) -> None:
        result.problems += [
            text for wrong in (*(each.wrong for each in self._clients), self._service.wrong) for text in wrong
        ]
        result.requests = self._answered()
        result.broken = self._broken_probes + sum(client.broken for client in self._clients)
        result.kills = self._servers.kills
        result.bad = self._bad.done
        result.changes = self._follower.changes
        if self._feed is not None:
            result.events, result.feed_kills = self._feed.sent, self._feed.kills
        # A kill breaks each connection at most once, and once more while the next worker is not there yet.
        if result.broken > 2 * result.kills * (CLIENTS + 1):
            result.problems.append(f"{result.broken} connections broke, but only {result.kills} workers were killed")


def _expiry(enabled: bool) -> Any:
    return {"Enabled": enabled, "AttributeName": "expires"}
