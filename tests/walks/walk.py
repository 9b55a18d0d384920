"""The five walks of docs/internals/architecture.md, measured: the files that a request enters once caches are warm."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sortkey as sk
from tests.walks.traced import Recorder

Walk = dict[str, set[str]]
"""Each file that is entered, with the files it is entered from."""

ROOT = Path(__file__).parents[2]
WARM = 5
TIMES = 3
"""A timer may run during one recording; what is in all of them belongs to the request."""
SECONDS = 60

TEXT = {"AttributeType": "S"}
WATCHED_TABLE = {
    "TableName": "watched",
    "AttributeDefinitions": [{"AttributeName": name, **TEXT} for name in ("pk", "sk", "status")],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_status",
            "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "ORDER#1"}}
CAMPAIGN = {
    "eventId": "e1",
    "campaignId": "c1",
    "partnerId": "10740321",
    "areas": ["*"],
    "score": 1.8,
    "daysOfWeek": ["Monday"],
    "timeSlots": ["all-day"],
    "status": "ACTIVE",
    "updatedAt": "2026-08-01T00:00:00Z",
}
PRICES = '{ basePrices(store: "12") { edges { cursor node { product amount } } pageInfo { hasNextPage } } }'
LOOKUP = {"district": "BER-01", "partnerIds": ["10740321", "10740322"], "at": "2026-08-24T12:30:00+02:00"}


class Note(sk.Item, table="walked-notes"):
    owner: str
    at: str
    text: str

    key = sk.Key("OWNER#{owner}", "NOTE#{at}")


class Program:
    """A traced `sortkey` process, and one connection to it."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._recording = folder / "recording.json"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.walks.traced", str(self._recording), *command, "--port", "0"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        address = urlsplit(self.process.stdout.readline().split()[1])
        assert address.hostname is not None
        self._socket = socket.create_connection((address.hostname, address.port or 0), timeout=SECONDS)

    def post(self, path: str, body: Any, **headers: str) -> None:
        content = json.dumps(body)
        fields = {
            "Host": "localhost",
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            **headers,
        }
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", content]
        # In one piece: a body that arrives after its head takes other files.
        self._socket.sendall("\r\n".join(lines).encode())
        answer = http.client.HTTPResponse(self._socket, method="POST")
        answer.begin()
        text = answer.read()
        assert answer.status in (200, 202), text

    def operation(self, name: str, body: Any) -> None:
        self.post("/", body, **{"X-Amz-Target": f"DynamoDB_20120810.{name}"})

    def walk(self, call: Callable[[], None]) -> Walk:
        for _ in range(WARM):
            call()
        return in_all(self._recorded(call) for _ in range(TIMES))

    def _recorded(self, call: Callable[[], None]) -> Walk:
        self._recording.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        self._wait_for(self._recording.exists)
        call()
        self.process.send_signal(signal.SIGUSR2)
        self._wait_for(lambda: self._recording.stat().st_size > 0)
        return {name: set(callers) for name, callers in json.loads(self._recording.read_text()).items()}

    def _wait_for(self, happened: Callable[[], bool]) -> None:
        until = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < until
            assert self.process.poll() is None
            time.sleep(0.002)

    def stop(self) -> None:
        self._socket.close()
        self.process.terminate()
        self.process.communicate(timeout=SECONDS)


@contextmanager
def program(folder: Path, *command: str) -> Iterator[Program]:
    started = Program(folder, *command)
    try:
        yield started
    finally:
        started.stop()


def in_all(walks: Iterator[Walk]) -> Walk:
    first, *others = walks
    for other in others:
        first = {name: callers & other[name] for name, callers in first.items() if name in other}
    return first


def get_item(folder: Path) -> Walk:
    with program(folder, "db", "--memory") as endpoint:
        endpoint.operation("CreateTable", WATCHED_TABLE)
        endpoint.operation("PutItem", {"TableName": "watched", "Item": {**KEY, "status": {"S": "OPEN"}}})
        return endpoint.walk(lambda: endpoint.operation("GetItem", {"TableName": "watched", "Key": KEY}))


def put_item(folder: Path) -> Walk:
    with program(folder, "db", "--memory") as endpoint:
        endpoint.operation("CreateTable", WATCHED_TABLE)
        numbers = iter(range(1000))

        def put() -> None:
            item = {**KEY, "status": {"S": "OPEN"}, "number": {"N": str(next(numbers))}}
            endpoint.operation("PutItem", {"TableName": "watched", "Item": item})

        return endpoint.walk(put)


def page(_: Path) -> Walk:
    recorder = Recorder()
    with sk.connect("memory:") as db:
        db.create_tables(Note)
        for number in range(80):
            db.put(Note(owner="ann", at=f"{number:03}", text="x"))
        for _number in range(WARM):
            db.page(Note.key(owner="ann"), first=64)
        before = sys.getprofile()
        sys.setprofile(recorder)
        try:
            recorder.start()
            db.page(Note.key(owner="ann"), first=64)
            entered = recorder.stop()
        finally:
            sys.setprofile(before)
    return {name: set(callers) for name, callers in entered.items()}


def boosts_lookup(folder: Path) -> Walk:
    with program(folder, "serve", "boosts", "--store", "memory:", "--access-log", "off") as server:
        server.post("/boosts/de/campaigns", CAMPAIGN)
        return server.walk(lambda: server.post("/boosts/de/lookup", LOOKUP))


def graphql_page(folder: Path) -> Walk:
    with program(folder, "serve", "pricing", "--store", "memory:", "--no-follow", "--access-log", "off") as server:
        server.post("/pricing/changes", {"store": "12", "product": "P1", "amount": "1.50"})
        return server.walk(lambda: server.post("/graphql", {"query": PRICES}))


WALKS: dict[str, Callable[[Path], Walk]] = {
    "GetItem on the wire": get_item,
    "PutItem with an index and a stream": put_item,
    "`db.page` embedded": page,
    "A boosts lookup": boosts_lookup,
    "A GraphQL page of prices": graphql_page,
}
