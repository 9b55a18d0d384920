"""One running server: started on a free port, measured through /proc, stopped by its process id."""

from __future__ import annotations

import socket
import subprocess
import time
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benchmarks._folder_check import processor_seconds
from benchmarks._peers import ServerDefinition, Unavailable, environment
from benchmarks._workload import NAMESPACE
from tests.oracle.endpoint import Endpoint

START_SECONDS: Final = 60
STOP_SECONDS: Final = 20
IDLE_SECONDS: Final = 20


class Server:
    def __init__(self, definition: ServerDefinition, folder: Path) -> None:
        folder.mkdir()
        self.name = definition.name
        self._log = folder / "log"
        port = _free_port()
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        command = definition.command(port, folder)
        began = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(definition)
            )
        try:
            self._wait_for_an_answer(began + START_SECONDS)
        except BaseException:
            self.close()
            raise
        self.started_in = time.monotonic() - began
        """Seconds from the start of the process to its first answer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, NAMESPACE)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """Ends the process at once, whatever it does."""
        self._process.kill()
        self._process.wait()

    def resident_megabytes(self) -> float:
        """The resident memory of the process, with pages of mapped files."""
        return self._megabytes("VmRSS:")

    def own_megabytes(self) -> float:
        """The resident memory of the process, without pages of mapped files."""
        return self._megabytes("RssAnon:")

    def _megabytes(self, field: str) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next((line for line in status.splitlines() if line.startswith(field)), None)
        if line is None:
            raise Unavailable(f"{self.name} ended with {self._process.wait()}: {self._last_words()}")
        return int(line.split()[1]) / 1024

    def wait_until_idle(self) -> None:
        """Waits for the end of work that wrk no longer waits for, which would disturb the next server."""
        deadline = time.monotonic() + IDLE_SECONDS
        used = processor_seconds(self._process.pid)
        while time.monotonic() < deadline:
            time.sleep(0.1)
            before, used = used, processor_seconds(self._process.pid)
            if used - before <= 0.02:
                return

    def _wait_for_an_answer(self, deadline: float) -> None:
        while time.monotonic() < deadline and self._process.poll() is None:
            endpoint = self.endpoint()
            try:
                endpoint.call("ListTables", {})
            except (OSError, HTTPException):
                time.sleep(0.005)  # a port that opens sends no signal
            else:
                return
            finally:
                endpoint.close()
        raise Unavailable(f"the server did not start: {self._last_words()}")

    def _last_words(self) -> str:
        return self._log.read_text(errors="replace").strip()[-300:]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
