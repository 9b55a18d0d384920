"""Steady clients: eight that read, eight that write and two that write large items, each at its own pace.

    python -m benchmarks._steady_clients PORT SECONDS PATIENCE

They begin at once. A line on standard output says that they are warm; a line on standard input begins the record of
`SECONDS`. What is not answered then is waited for until `PATIENCE` seconds after the record began. The last line of the
output is the record as JSON: a `Summary` for each kind of client.

A process of their own, on one thread: latencies are the server's, not those of this interpreter. The kernel stamps an
answer when it arrives, so that it does not matter when this process gets the processor to read it.
"""

from __future__ import annotations

import gc
import random
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Final

import msgspec

from benchmarks._latencies import Latency, Summary, summarize, with_omitted
from benchmarks._raw_http import encode, missing, status
from benchmarks._workload import Request, get_item, put_item
from benchmarks.engine import TABLE, item

ITEMS: Final = 1000
DISTINCT: Final = 256
WARM_UP_SECONDS: Final = 1.0
SO_TIMESTAMPNS: Final = 35
"""Of Linux; Python's socket module has no name for it."""
STAMP: Final = struct.Struct("qq")
LARGE_BYTES: Final = 300 * 1024


class Kind(msgspec.Struct, frozen=True):
    make: Callable[[random.Random, int], Request]
    clients: int
    interval: float
    """Seconds from one request of a client to its next, on average."""


def put_large_item(choose: random.Random, count: int) -> Request:
    large = item(choose.randrange(count)) | {"order": {"S": "large"}, "address": {"S": "x" * LARGE_BYTES}}
    return Request("PutItem", msgspec.json.encode({"TableName": TABLE, "Item": large}))


KINDS: Final = {
    "GetItem": Kind(get_item, 8, 0.010),
    "PutItem": Kind(put_item, 8, 0.020),
    "PutItem of 300 KB": Kind(put_large_item, 2, 0.5),
}


class Client:
    """One connection, which sends a request at a time."""

    def __init__(self, port: int, kind: Kind, requests: Iterator[bytes], choose: random.Random) -> None:
        self._port = port
        self._requests = requests
        self._choose = choose
        self._received = bytearray()
        self._unsent = memoryview(b"")
        self.interval = kind.interval
        self.busy = False
        self.sent = 0.0
        self.due = time.time() + choose.uniform(0, kind.interval)
        self.socket = self._connected()

    def _connected(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        connection.setblocking(False)
        return connection

    def reconnect(self) -> None:
        self.socket.close()
        self.socket = self._connected()
        self._received.clear()
        self._unsent = memoryview(b"")

    def begin(self) -> bool:
        """Whether the whole request is sent."""
        self._unsent = memoryview(next(self._requests))
        self.busy = True
        # The stamps of the kernel are of this clock.
        self.sent = time.time()
        self.due = self.sent + self.interval * self._choose.uniform(0.5, 1.5)
        return self.send()

    def send(self) -> bool:
        """Whether the rest of the request is sent."""
        try:
            while self._unsent:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
        except BlockingIOError:
            return False
        except ConnectionError:
            # `receive` tells whether the server has answered before it closed.
            self._unsent = memoryview(b"")
        return True

    def receive(self) -> tuple[float, int] | None:
        """When the answer was complete, and its status; 0 if the connection broke. None if the answer goes on."""
        try:
            piece, ancillary, _, _ = self.socket.recvmsg(1 << 20, 64)
        except ConnectionError:
            piece, ancillary = b"", []
        if not piece:
            self.busy = False
            return time.time(), 0
        self._received += piece
        if missing(self._received) > 0:
            return None
        answer = status(self._received)
        self._received.clear()
        self.busy = False
        seconds, nanoseconds = STAMP.unpack(ancillary[0][2][: STAMP.size])
        return seconds + nanoseconds / 1e9, answer


class Record:
    """Of one kind of client, over a span of time."""

    def __init__(self) -> None:
        self._latencies: list[Latency] = []
        self._rejected = 0

    def add(self, client: Client, ended: float, until: float, answer: int | None) -> None:
        """`answer` is its status; None if there was none until `ended`."""
        taken = with_omitted(client.sent, ended, client.interval, until)
        self._latencies += [Latency(max(each, 0) * 1000, answer is not None) for each in taken]
        self._rejected += answer != 200

    def summary(self) -> Summary:
        return summarize(self._latencies, self._rejected)


class SteadyClients:
    def __init__(self, port: int) -> None:
        choose = random.Random(7)
        self._epoll = select.epoll()
        self._clients: dict[int, tuple[str, Client]] = {}
        for name, kind in KINDS.items():
            requests = cycle([encode(kind.make(choose, ITEMS)) for _ in range(DISTINCT)])
            for _ in range(kind.clients):
                self._add(name, Client(port, kind, requests, choose))

    def _add(self, name: str, client: Client) -> None:
        self._clients[client.socket.fileno()] = name, client
        self._epoll.register(client.socket, select.EPOLLIN)

    def run(self, seconds: float, patience: float) -> dict[str, Summary]:
        """Sends for some seconds, and waits for answers until its patience ends."""
        began = time.time()
        until = began + seconds
        records = {name: Record() for name in KINDS}
        while (now := time.time()) < until:
            self._begin_what_is_due(now)
            self._handle_events(records, until)
        while any(client.busy for _, client in self._clients.values()) and time.time() < began + patience:
            self._handle_events(records, until)
        for name, client in self._clients.values():
            if client.busy:
                records[name].add(client, time.time(), until, None)
        return {name: record.summary() for name, record in records.items()}

    def _begin_what_is_due(self, now: float) -> None:
        for _, client in self._clients.values():
            if not client.busy and client.due <= now and not client.begin():
                self._epoll.modify(client.socket, select.EPOLLIN | select.EPOLLOUT)

    def _handle_events(self, records: dict[str, Record], until: float) -> None:
        for descriptor, events in self._epoll.poll(0.001):
            name, client = self._clients[descriptor]
            if events & select.EPOLLOUT and client.send():
                self._epoll.modify(client.socket, select.EPOLLIN)
            if events & ~select.EPOLLOUT:
                self._receive(name, client, records[name], until)

    def _receive(self, name: str, client: Client, record: Record, until: float) -> None:
        was_busy = client.busy
        received = client.receive()
        if received is None:
            return
        ended, answer = received
        if was_busy:
            record.add(client, ended, until, answer)
        if answer == 0:
            # Before a new descriptor, which may have the same number.
            self._epoll.unregister(client.socket)
            del self._clients[client.socket.fileno()]
            client.reconnect()
            self._add(name, client)


def main(port: int, seconds: float, patience: float) -> None:
    clients = SteadyClients(port)
    gc.collect()
    gc.disable()
    clients.run(WARM_UP_SECONDS, patience)
    print("warm", flush=True)
    sys.stdin.readline()
    sys.stdout.buffer.write(msgspec.json.encode(clients.run(seconds, patience)) + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
