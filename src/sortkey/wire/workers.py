"""Several processes on one port and one data folder, and the parent that supervises them.

Each worker binds the port (SO_REUSEPORT), and the system spreads connections over them. The parent binds the port too,
without listening, so that no other program can take it while a worker is replaced.

A worker that dies while serving is replaced: nothing that it answered is lost, and the system frees the lock of a dead
writer. A replacement that dies before it serves is replaced after a pause, which grows with each one, while the other
workers go on. Only if none of them serves, and several replacements in a row could not, all stop, with exit code 1: a
service manager may know more. So they do when one dies before all have served for the first time, since it would die
again. Workers whose parent is gone stop by themselves.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Final

from sortkey.clock import monotonic
from sortkey.http.listener import listen
from sortkey.wire.metrics import MetricsFolder
from sortkey.wire.server import MakePages, Options, Server, authentication_for, serve

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
LAST_TRY: Final = 5
"""Of the replacements in a row that do not serve, while no other worker serves either."""


class Worker:
    """One process, and the pipe on which it reports that it serves."""

    def __init__(
        self, context: SpawnContext, options: Options, folder: Path, number: int, make_pages: MakePages | None
    ) -> None:
        self.number = number
        self.serving = False
        self.reports: Connection
        self.reports, theirs = context.Pipe(duplex=False)
        self.process: SpawnProcess = context.Process(
            target=work, args=(options, folder, number, theirs, make_pages), name=f"sortkey-worker-{number}"
        )
        self.process.start()
        theirs.close()

    def receive(self) -> None:
        """Read a report from the pipe. The end of the pipe is ignored; the end of the process is noticed anyway."""
        try:
            self.serving = self.reports.recv()
        except EOFError:
            self.reports.close()


class Supervisor:
    def __init__(
        self, options: Options, number: int, ready: Callable[[], None], make_pages: MakePages | None = None
    ) -> None:
        """`options` has the real port, never 0; `ready` is called once all workers serve. `make_pages` is called in
        each of them, so it can be pickled."""
        self._options = options
        self._number = number
        self._ready = ready
        self._make_pages = make_pages
        self._context = multiprocessing.get_context("spawn")
        self._workers: dict[int, Worker] = {}
        self._failures: dict[int, int] = {}
        """How many in a row died before they served, by the worker's number."""
        self._starts: dict[int, float] = {}
        """When to start the next one, by its number."""
        self._announced = False
        self._stopping = False
        self._exit = 0

    def run(self) -> int:
        """Run until a signal arrives or the workers cannot serve; return the exit code."""
        signalled, signals = os.pipe()
        os.set_blocking(signals, False)
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, lambda *_: None)
        signal.set_wakeup_fd(signals)
        with tempfile.TemporaryDirectory(prefix="sortkey-") as folder:
            for number in range(self._number):
                self._start(Path(folder), number)
            while self._workers or self._starts:
                self._handle_events(Path(folder), signalled)
        signal.set_wakeup_fd(-1)
        os.close(signalled)
        os.close(signals)
        return self._exit

    def _handle_events(self, folder: Path, signalled: int) -> None:
        """Wait for signals, reports, ends of workers and ends of pauses, and handle them."""
        pipes = [worker.reports for worker in self._workers.values() if not worker.reports.closed]
        ends = [worker.process.sentinel for worker in self._workers.values()]
        pause = max(0.0, min(self._starts.values()) - monotonic()) if self._starts else None
        ready_objects = wait([signalled, *pipes, *ends], pause)
        if signalled in ready_objects:
            os.read(signalled, 1024)
            self._stop()
        for worker in tuple(self._workers.values()):
            if worker.reports in ready_objects:
                worker.receive()
                if worker.serving:
                    self._failures.pop(worker.number, None)
            if worker.process.sentinel in ready_objects:
                self._handle_end(folder, worker)
        for number in [number for number, at in self._starts.items() if at <= monotonic()]:
            del self._starts[number]
            self._start(folder, number)
        if not self._announced and self._workers and all(worker.serving for worker in self._workers.values()):
            self._announced = True
            self._ready()

    def _start(self, folder: Path, number: int) -> None:
        self._workers[number] = Worker(self._context, self._options, folder, number, self._make_pages)

    def _stop(self) -> None:
        self._stopping = True
        self._starts.clear()
        for worker in self._workers.values():
            worker.process.terminate()

    def _handle_end(self, folder: Path, worker: Worker) -> None:
        worker.process.join()
        code = worker.process.exitcode
        del self._workers[worker.number]
        if not worker.reports.closed:
            worker.reports.close()
        if self._stopping:
            # One that does not serve yet may end by the signal.
            self._exit = self._exit or (1 if code and worker.serving else 0)
        elif worker.serving:
            sys.stderr.write(f"sortkey: worker {worker.number} ended with exit code {code}; starting another\n")
            self._start(folder, worker.number)
        else:
            self._handle_failure(worker, code)

    def _handle_failure(self, worker: Worker, code: int | None) -> None:
        """A worker has died before it served."""
        failures = self._failures[worker.number] = self._failures.get(worker.number, 0) + 1
        told = f"sortkey: worker {worker.number} could not serve (exit code {code})"
        others_serve = any(other.serving for other in self._workers.values())
        if self._announced and (others_serve or failures < LAST_TRY):
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1))
            self._starts[worker.number] = monotonic() + pause
            sys.stderr.write(f"{told}; starting another in {pause:g} s\n")
        else:
            sys.stderr.write(f"{told}; stopping all\n")
            self._exit = 1
            self._stop()


def work(options: Options, folder: Path, number: int, reports: Connection, make_pages: MakePages | None = None) -> None:
    """The main function of a worker."""
    parent = multiprocessing.parent_process()

    def ready(server: Server) -> None:
        if parent is not None:
            asyncio.get_running_loop().add_reader(parent.sentinel, server.stop)
        reports.send(True)
        reports.close()

    listening = listen(options.host, options.port, shared=True)
    serve(options, authentication_for(options), listening, MetricsFolder(folder, number), ready, make_pages)
