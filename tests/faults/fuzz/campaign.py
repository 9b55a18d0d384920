"""A run of many cases against the servers: made, sent, judged, shrunk."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from threading import Event
from time import monotonic
from typing import Final, NamedTuple

from tests.faults.fuzz.case import Case, Failure, Message, Stream
from tests.faults.fuzz.conversation import Conversation, converse, failure_of_stream, failures_of
from tests.faults.fuzz.http_bytes import HttpBytes
from tests.faults.fuzz.operations import Operations
from tests.faults.fuzz.routes import Routes
from tests.faults.fuzz.servers import Servers
from tests.faults.fuzz.shrink import ATTEMPTS, shrink, shrink_sequence
from tests.faults.fuzz.signatures import Signatures

ROUND: Final = 64
"""Cases that are under way at once."""
EPISODE: Final = 512
"""Cases between two resets of the tables. A failure depends on nothing before its episode."""
PIPELINED: Final = (1, 2, 4, 8, 16)
PATIENCE: Final = 20.0
"""Seconds without any progress after which a request counts as unanswered."""
SHRINKING_PATIENCE: Final = 3.0
SLOW_ATTEMPTS: Final = 25
"""At making a case smaller whose every failure takes that long."""
DIFFERENT: Final = 10
"""Failures of different names after which a run ends."""
MEMORY: Final = 16 << 20
"""Anonymous bytes that the servers may grow by, from the second quarter of a run to its last."""
DESCRIPTORS: Final = 8
SHARES: Final = (("operations", 55), ("routes", 15), ("http", 15), ("signatures", 15))


class Mark(NamedTuple):
    """What the servers hold after so many cases."""

    cases: int
    memory: int
    descriptors: int


@dataclass
class Result:
    cases: int = 0
    seconds: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    statuses: dict[int, int] = field(default_factory=dict)
    memory: list[int] = field(default_factory=list)
    """Bytes of all servers, at the end of each episode."""
    marks: list[Mark] = field(default_factory=list)
    """At the begin, and after each tenth."""
    failed: dict[str, int] = field(default_factory=dict)
    """How often each kind of failure occurred."""
    failures: list[Failure] = field(default_factory=list)
    """One of each name."""


class Campaign:
    def __init__(self, servers: Servers, seed: int, show: Callable[[Mark], None] = lambda _: None) -> None:
        self._servers = servers
        self._show = show
        self._seed = seed
        self._routes = Routes(servers.openapi())
        self._makers: dict[str, Callable[[Random], Case]] = {}
        self._begin_episode()
        self._descriptors = self._count_descriptors()
        self.result = Result()

    def run(self, count: int) -> Result:
        began = monotonic()
        self._servers.warm()
        self._mark()
        for start in range(0, count, EPISODE):
            end = min(count, start + EPISODE)
            self._begin_episode()
            self._run_episode(range(start, end))
            self.result.memory.append(self._memory())
            if end * 10 // count > start * 10 // count:
                self._mark()
            if len(self.result.failures) >= DIFFERENT:
                break
        self._check_growth()
        self.result.seconds = monotonic() - began
        return self.result

    def case(self, number: int) -> tuple[str, Case]:
        """The case with this number: always the same for a seed."""
        random = Random(f"{self._seed}/{number}")
        (kind,) = random.choices([name for name, _ in SHARES], [share for _, share in SHARES])
        return kind, self._makers[kind](random)

    def _begin_episode(self) -> None:
        self._servers.reset()
        self._makers = {
            "operations": Operations(self._servers.corpus).make,
            "routes": self._routes.make,
            "http": HttpBytes().make,
            "signatures": Signatures().make,
        }

    def _run_episode(self, numbers: range) -> None:
        left = iter(numbers)
        done: list[Case] = []
        while batch := list(islice(left, ROUND)):
            cases = []
            for number in batch:
                kind, case = self.case(number)
                self.result.kinds[kind] = self.result.kinds.get(kind, 0) + 1
                cases.append(case)
            self.result.cases += len(cases)
            failures = self._send(cases, PATIENCE)
            done += cases
            for failure in failures:
                self.result.failed[failure.what] = self.result.failed.get(failure.what, 0) + 1
                self._report(replace(failure, number=batch[_index(cases, failure.case)]), done)
            if failures:
                self._servers.restart()
                self._begin_episode()
                done = []

    def _send(self, cases: Sequence[Case], patience: float) -> list[Failure]:
        """Send all cases at once, requests of one server pipelined in groups; returns what failed."""
        streams = [(case, self._converse(case)) for case in cases if isinstance(case, Stream)]
        groups = [(group, self._converse(*group)) for group in self._groups(cases)]
        converse([conversation for _, conversation in (*streams, *groups)], patience)
        found = [failure_of_stream(stream, conversation) for stream, conversation in streams]
        failures = [failure for failure in found if failure is not None]
        for group, conversation in groups:
            for answer in conversation.answers:
                self.result.statuses[answer.status] = self.result.statuses.get(answer.status, 0) + 1
            failed, unsent = failures_of(group, conversation)
            failures += failed
            if unsent and not failed:
                failures += self._send(unsent, patience)
        if not failures and not self._servers.alive():
            failures.append(Failure("the server died", cases[-1]))
        return failures

    def _converse(self, *cases: Case) -> Conversation:
        address = self._servers.address(cases[0].port)
        if isinstance(cases[0], Stream):
            return Conversation(address, cases[0].pieces, None)
        return Conversation(address, [b"".join(case.encode() for case in cases)], len(cases))

    def _groups(self, cases: Sequence[Case]) -> Iterator[list[Message]]:
        random = Random(len(cases))
        by_port: dict[str, list[Message]] = {}
        for case in cases:
            if isinstance(case, Message):
                by_port.setdefault(case.port, []).append(case)
        for messages in by_port.values():
            rest = iter(messages)
            while group := list(islice(rest, random.choice(PIPELINED))):
                yield group

    def _report(self, failure: Failure, done: Sequence[Case]) -> None:
        if any(failure.name == known.name for known in self.result.failures):
            return
        said = "\n".join(server.said()[-2000:] for server in self._servers.processes if server.process.poll() is None)

        attempts = ATTEMPTS if failure.what.startswith("answer") else SLOW_ATTEMPTS

        def fails(case: Case) -> bool:
            return self._fails_alone(case, failure.what)

        if fails(failure.case):
            smallest = replace(failure, case=shrink(failure.case, fails, attempts), detail=f"{failure.detail}\n{said}")
        else:
            needed = shrink_sequence(done, lambda cases: self._fails_after(cases, failure.what))
            earlier = "\n".join(f"  {case.encode()[:1000]!r}" for case in needed)
            smallest = replace(failure, detail=f"{failure.detail}\n{said}\nonly in this sequence:\n{earlier}")
        self.result.failures.append(smallest)

    def _fails_alone(self, case: Case, what: str) -> bool:
        if not self._servers.alive():
            self._servers.restart()
        failures = self._send([case], SHRINKING_PATIENCE)
        if any("no answer" in failure.what or "died" in failure.what for failure in failures):
            self._servers.restart()
        return any(failure.what == what for failure in failures)

    def _fails_after(self, cases: Sequence[Case], what: str) -> bool:
        self._servers.restart()
        return any(
            failure.what == what
            for start in range(0, len(cases), ROUND)
            for failure in self._send(cases[start : start + ROUND], SHRINKING_PATIENCE)
        )

    def _mark(self) -> None:
        mark = Mark(self.result.cases, self._memory(), self._count_descriptors())
        self.result.marks.append(mark)
        self._show(mark)

    def _memory(self) -> int:
        return sum(server.memory() for server in self._servers.processes)

    def _count_descriptors(self) -> int:
        return sum(server.descriptors() for server in self._servers.processes)

    def _check_growth(self) -> None:
        memory = self.result.memory
        quarter = len(memory) // 4
        nothing = Stream("endpoint", "the whole run", ())
        if quarter and not self.result.failures:
            growth = statistics.median(memory[-quarter:]) - statistics.median(memory[quarter : 2 * quarter])
            if growth > MEMORY:
                self.result.failures.append(Failure(f"memory grew by {growth / 2**20:.0f} MiB", nothing))
        if not self._descriptors_are_closed():
            opened = self._count_descriptors() - self._descriptors
            self.result.failures.append(Failure(f"{opened} more descriptors are open", nothing))

    def _descriptors_are_closed(self) -> bool:
        """The server closes a rejected client's connection only after a while."""
        tick = Event()
        for _ in range(100):
            if self._count_descriptors() <= self._descriptors + DESCRIPTORS:
                return True
            tick.wait(0.1)
        return False


def _index(cases: Sequence[Case], case: Case) -> int:
    return next(index for index, each in enumerate(cases) if each is case)
