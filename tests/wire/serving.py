"""A real server process on a free port, and a raw socket to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
SECONDS = 60


class ServerProcess:
    """`sortkey db` with these arguments. Its first line gives its URL."""

    def __init__(self, *arguments: str | Path, address_space: int | None = None) -> None:
        """`address_space` limits it, in bytes."""
        command = [sys.executable, "-m", "sortkey", "db", "--port", "0", *map(str, arguments)]
        if address_space is not None:
            command = ["sh", "-c", f'ulimit -v {address_space >> 10}; exec "$@"', "sh", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("ready http://"):
            self.process.kill()
            raise AssertionError(f"not ready: {line!r} {self.process.communicate()[1]!r}")
        self.url = line.split()[1]

    def stop(self) -> int:
        """Stop it and wait. It must have written nothing, except of hot partitions: tests write as fast as they can."""
        self.process.send_signal(signal.SIGTERM)
        output, errors = self.process.communicate(timeout=SECONDS)
        written = [line for line in errors.splitlines() if "DynamoDB serves" not in line]
        assert (output, written) == ("", [])
        return self.process.returncode

    def kill(self) -> None:
        """Kill all of its processes at once, as a power failure would."""
        children = self.children()
        self.process.kill()
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        self.process.communicate(timeout=SECONDS)

    def children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def processor_seconds(self) -> float:
        """How long it has run, however busy the machine is with others."""
        times = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.body)
        return answer


class RawClient:
    """Sends exactly the bytes it is given, and reads answers one by one."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=SECONDS)
        self._file = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, bodiless: bool = False) -> Answer:
        status = int(self._file.readline().split()[1])
        headers = {}
        while (line := self._file.readline().rstrip(b"\r\n")) != b"":
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        size = 0 if bodiless else int(headers.get("content-length", 0))
        return Answer(status, headers, self._file.read(size))

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        self.send(request(operation, members))
        answer = self.answer()
        assert answer.status == 200, answer
        return answer.json()

    def at_end(self) -> bool:
        """Waits for the server to close."""
        return self._file.read(1) == b""

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def request(operation: str, members: dict[str, Any], *headers: str) -> bytes:
    return raw_request(operation, json.dumps(members).encode(), *headers)


def raw_request(operation: str, body: bytes, *headers: str) -> bytes:
    service = "DynamoDBStreams_20120810" if operation in STREAM_OPERATIONS else "DynamoDB_20120810"
    lines = [
        "POST / HTTP/1.1",
        "Host: localhost",
        f"X-Amz-Target: {service}.{operation}",
        "Content-Type: application/x-amz-json-1.0",
        f"Content-Length: {len(body)}",
        *headers,
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


def table(name: str, **more: Any) -> dict[str, Any]:
    """A table of string keys, `pk` and `sk`."""
    return {
        "TableName": name,
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }


def item(number: int, **attributes: Any) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": f"{number:06}"}, **attributes}
