"""A real server process that serves the notes, and requests to it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.server.calling import Answer

ROOT = Path(__file__).parents[2]
SECONDS = 60


class Process:
    """`sortkey` with these arguments, on free ports. Its first line gives its URL."""

    def __init__(self, *arguments: str | Path, log: str = "off") -> None:
        command = [sys.executable, "-m", "tests.server.main", *map(str, arguments), "--port", "0", "--access-log", log]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("ready http://"):
            self.process.kill()
            raise AssertionError(f"not ready: {line!r} {self.process.communicate()[1]!r}")
        self.url = line.split()[1]

    def endpoint(self) -> str:
        """The URL of its DynamoDB endpoint, which is on standard error; `stop` does not return it again."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if found := re.search(r"the DynamoDB endpoint is (\S+)", line):
                return found[1]
        raise AssertionError("no endpoint")

    def stop(self, by: signal.Signals = signal.SIGTERM) -> str:
        """Ask it to end, and wait; what it wrote to standard error. Nothing more may be on standard output."""
        self.process.send_signal(by)
        output, errors = self.process.communicate(timeout=SECONDS)
        assert (output, self.process.returncode) == ("", 0), errors
        return errors

    def end(self) -> None:
        """For a test that failed."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=SECONDS)

    def client(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        with closing(self.client()) as client:
            return call(client, method, path, body)


def call(client: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Answer:
    content = None if body is None else json.dumps(body)
    client.request(method, path, content, {} if body is None else {"content-type": "application/json"})
    response = client.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())
