"""The processes under test: the services with an endpoint on one store, and an endpoint that checks signatures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import urlopen

from tests.faults.fuzz import corpus
from tests.faults.fuzz.case import Port
from tests.faults.fuzz.conversation import Address
from tests.faults.fuzz.json_text import encode
from tests.faults.fuzz.operations import message
from tests.faults.fuzz.signatures import KEYS, genuine
from tests.faults.fuzz.warming import fill_caches
from tests.wire.serving import RawClient

SECONDS = 30
MEMORY = "RssAnon:"
"""Without the pages of the store, which are a file's."""


class Server:
    """One process. What it writes to standard error is in a file, so that it never waits for a reader."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log = folder / f"{arguments[0]}.log"
        self._said = 0
        command = [sys.executable, "-m", "sortkey", *arguments]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("ready http://"):
            self.process.kill()
            raise AssertionError(f"not ready: {line!r} {self._log.read_text()}")
        self.url = line.split()[1]
        self.announced = self.said()

    def said(self) -> str:
        """What it wrote to standard error since the last call."""
        text = self._log.read_text(errors="replace")
        new, self._said = text[self._said :], len(text)
        return new

    def memory(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(MEMORY))

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self) -> None:
        """Ends it by its own process id; one that does not end is killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


class Servers:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sortkey-fuzz-")
        self._kept: set[str] = set()
        self.corpus: corpus.Requests = []
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._stop()
        self._folder.cleanup()

    @property
    def processes(self) -> tuple[Server, Server]:
        return self._up, self._locked

    def address(self, port: Port) -> Address:
        return self._addresses[port]

    def restart(self) -> None:
        self._stop()
        self._start()

    def alive(self) -> bool:
        return all(server.process.poll() is None for server in self.processes)

    def reset(self) -> None:
        """Bring the tables back to the state that the corpus is written for."""
        with closing(RawClient(self._urls["endpoint"])) as client:
            corpus.lay_out(_call(client), self._kept)
            self.corpus = corpus.requests(_call(client))

    def warm(self) -> None:
        """Fill what is filled once, so that memory that grows later is a leak."""
        with closing(RawClient(self._urls["endpoint"])) as client:
            fill_caches(_call(client))

    def openapi(self) -> dict[str, Any]:
        with urlopen(f"{self._up.url}/openapi.json", timeout=SECONDS) as answer:
            document: dict[str, Any] = json.load(answer)
        return document

    def _start(self) -> None:
        folder = Path(self._folder.name)
        keys = folder / "keys.json"
        keys.write_text(json.dumps(KEYS))
        keys.chmod(0o600)
        free = ("--port", "0")
        self._up = Server(
            folder, "up", *free, "--db-port", "0", "--store", "memory:", "--no-demo", "--access-log", "off"
        )
        self._locked = Server(
            folder, "db", *free, "--memory", "--keys", str(keys), "--kinesis", str(folder / "kinesis")
        )
        endpoint = self._up.announced.split("endpoint is ")[1].split()[0]
        self._urls: dict[Port, str] = {"endpoint": endpoint, "service": self._up.url, "locked": self._locked.url}
        self._addresses: dict[Port, Address] = {
            port: (urlsplit(url).hostname or "", urlsplit(url).port or 0) for port, url in self._urls.items()
        }
        with closing(RawClient(endpoint)) as client:
            self._kept = set(client.call("ListTables")["TableNames"])
        with closing(RawClient(self._locked.url)) as client:
            corpus.lay_out(_signed_call(client), set())
        self.reset()

    def _stop(self) -> None:
        for server in self.processes:
            server.stop()


def _call(client: RawClient) -> corpus.Call:
    """Answers with errors are answers, too: a table may be protected, or gone already."""

    def call(operation: str, members: dict[str, Any]) -> dict[str, Any]:
        client.send(message(operation, members).encode())
        return client.answer().json()

    return call


def _signed_call(client: RawClient) -> corpus.Call:
    def call(operation: str, members: dict[str, Any]) -> dict[str, Any]:
        client.send(genuine(operation, encode(members), datetime.now(UTC)).encode())
        return client.answer().json()

    return call
