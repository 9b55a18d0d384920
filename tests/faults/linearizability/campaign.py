"""Histories of real processes that share a folder: some open it, some call an endpoint that does. Some are killed.

The clients live on from history to history, which has items of its own. In most histories something happens to one of
the processes: a client or a worker of the endpoint is killed, or a client that may hold the write lock is stopped for a
moment, so that calls of others end in time and must not happen later.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import sortkey as sk
from sortkey.client import Client
from tests.faults.linearizability import client as client_program
from tests.faults.linearizability.client import TABLE, Flaw, perform
from tests.faults.linearizability.register import Answer, Call, Operation, order_of, shown
from tests.faults.processes import PROCESSES, SILENCE_SECONDS
from tests.wire.serving import ServerProcess

ITEMS: Final = 2
EMBEDDED: Final = 2
REMOTE: Final = 2
LONGEST_CALM: Final = 0.005
"""Seconds from the beginning of a history to its fault."""
STOPPED_SECONDS: Final = 0.02
FAULTS: Final = {
    "no fault": 4,
    "embedded client killed": 2,
    "embedded client stopped": 2,
    "remote client killed": 1,
    "worker killed": 1,
}
"""And how often they come."""
MEMORY_FOLDER: Final = Path("/dev/shm")


class NotLinearizable(AssertionError):
    """No order of the calls explains the answers."""


@dataclass
class Result:
    histories: int = 0
    answered: int = 0
    unknown: int = 0
    """Calls whose client or endpoint was killed."""
    withdrawn: int = 0
    """Calls that had an error that says that nothing was written."""
    faults: Counter[str] = field(default_factory=Counter)


def check(seed: int, count: int, show: Callable[[Result], None] = lambda _: None, flaw: Flaw = None) -> Result:
    """Make so many histories. Raises NotLinearizable, or AssertionError if a process hangs."""
    parent = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sortkey-linearizability-", dir=parent) as folder:
        data = Path(folder) / "data"
        with sk.client(data) as examiner:
            examiner.create_table(
                TableName=TABLE,
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )
            with _serving(data) as server:
                return _Campaign(seed, data, server, examiner, flaw).run(count, show)


@contextmanager
def _serving(data: Path) -> Iterator[ServerProcess]:
    server = ServerProcess("--data", data, "--workers", "2")
    try:
        yield server
    finally:
        server.kill()


class _Process:
    """A client. One that was killed is started again before the next history."""

    def __init__(self, store: str, number: int, flaw: Flaw) -> None:
        self._arguments = (store, number, flaw)
        self.name = f"{'remote' if store.startswith('http') else 'embedded'} client {number}"
        self._start()

    def _start(self) -> None:
        self._pipe, theirs = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=client_program.run, args=(*self._arguments, theirs))
        self._process.start()
        theirs.close()
        self._killed = False
        assert self._receive() == "ready"

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def begin(self, seed: str, names: list[str]) -> None:
        if self._killed:
            self.end()
            self._start()
        self._pipe.send((seed, names))

    def operations(self) -> Iterator[tuple[str, Operation, bool]]:
        """The calls of a history, with the names of their items and whether an error said that they were not done."""
        begun: tuple[Call, str, float] | None = None
        try:
            while (received := self._receive()) is not None:
                if begun is None:
                    begun = received
                    continue
                (call, name, began), (answer, ended) = begun, received
                begun = None
                if isinstance(answer, Answer):
                    yield name, Operation(self.name, call, began, ended, answer), False
                else:
                    yield name, Operation(self.name, call, began), answer is True
        except (EOFError, ConnectionResetError):
            assert self._killed, f"{self.name} has died"
            if begun is not None:
                yield begun[1], Operation(self.name, begun[0], begun[2]), False

    def _receive(self) -> Any:
        assert self._pipe.poll(SILENCE_SECONDS), f"{self.name} has hung for {SILENCE_SECONDS} s"
        return self._pipe.recv()

    def kill(self) -> None:
        self._killed = True
        self._process.kill()

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


class _Campaign:
    def __init__(self, seed: int, data: Path, server: ServerProcess, examiner: Client, flaw: Flaw) -> None:
        self._seed = seed
        self._server = server
        self._examiner = examiner
        self._result = Result()
        self._embedded = [_Process(str(data), number, flaw) for number in range(EMBEDDED)]
        self._remote = [_Process(server.url, EMBEDDED + number, flaw) for number in range(REMOTE)]

    def run(self, count: int, show: Callable[[Result], None]) -> Result:
        try:
            for number in range(count):
                self._make_history(Random(f"{self._seed} {number}"), number)
                self._result.histories += 1
                show(self._result)
        finally:
            for process in (*self._embedded, *self._remote):
                process.end()
        return self._result

    def _make_history(self, random: Random, number: int) -> None:
        names = [f"{number}-{item}" for item in range(ITEMS)]
        processes = [*self._embedded, *self._remote]
        for process in processes:
            process.begin(f"{self._seed} {number}", names)
        time.sleep(random.random() * LONGEST_CALM)
        self._fail(random)
        histories: dict[str, list[Operation]] = {name: [] for name in names}
        for process in processes:
            for name, operation, withdrawn in process.operations():
                self._count(operation, withdrawn)
                # A read without an answer says nothing.
                if not withdrawn and (operation.answer is not None or operation.call.kind != "get"):
                    histories[name].append(operation)
        for name, history in histories.items():
            history.append(self._last_read(name))
            if order_of(history) is None:
                raise NotLinearizable(f"history {number} of seed {self._seed}, item {name}:\n{shown(history)}")

    def _last_read(self, name: str) -> Operation:
        began = time.monotonic()
        call = Call("get")
        answer = perform(self._examiner, name, call)
        return Operation("examiner", call, began, time.monotonic(), answer)

    def _count(self, operation: Operation, withdrawn: bool) -> None:
        self._result.answered += operation.answer is not None
        self._result.withdrawn += withdrawn
        self._result.unknown += operation.answer is None and not withdrawn

    def _fail(self, random: Random) -> None:
        (fault,) = random.choices(list(FAULTS), list(FAULTS.values()))
        if fault == "embedded client killed":
            random.choice(self._embedded).kill()
        elif fault == "embedded client stopped":
            stopped = random.choice(self._embedded).pid
            os.kill(stopped, signal.SIGSTOP)
            time.sleep(STOPPED_SECONDS)
            os.kill(stopped, signal.SIGCONT)
        elif fault == "remote client killed":
            random.choice(self._remote).kill()
        elif fault == "worker killed":
            workers = self._server.children()
            # One serves on while another takes the place of the killed one.
            if len(workers) < 2:
                fault = "no fault"
            else:
                os.kill(random.choice(workers), signal.SIGKILL)
        self._result.faults[fault] += 1
