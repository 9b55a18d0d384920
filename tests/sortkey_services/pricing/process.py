"""A real server process that serves pricing, with some prices."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[3]
SECONDS = 60


class PricingProcess:
    """`sortkey serve pricing` in memory: the products p1 to p5 of the store s1 cost 4.50."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "sortkey", "serve", "pricing", "--store", "memory:", "--port", "0"]
        self._process = subprocess.Popen(
            [*command, "--access-log", "off"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("ready http://"):
            self._process.kill()
            raise AssertionError(f"not ready: {line!r} {self._process.communicate()[1]!r}")
        self.url = line.split()[1]
        self.post("/pricing/changes", [{"store": "s1", "product": f"p{n}", "amount": "4.50"} for n in range(1, 6)])

    def post(self, path: str, body: Any) -> Any:
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=SECONDS)) as client:
            client.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            answer = client.getresponse()
            assert answer.status < 300, answer.read()
            return json.loads(answer.read())

    def __enter__(self) -> PricingProcess:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate(timeout=SECONDS)
