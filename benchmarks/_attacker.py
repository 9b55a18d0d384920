"""One attack on an endpoint, from a process of its own.

    python -m benchmarks._attacker PORT NAME

A line on standard output says that its request is built; a line on standard input begins the attack. It goes on until
standard input ends; then the last line of the output counts the answers, by status, as JSON. `broken` are connections
that the server has closed before the request was sent or answered.

It has the lowest priority: an attacker has its own machine, and this one must not wait for it.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import Counter
from threading import Thread
from typing import Final

import msgspec

from benchmarks._attacks import ATTACKS
from benchmarks._raw_http import encode, missing, status

PIECE: Final = 1 << 20
PAUSE_SECONDS: Final = 0.01
"""After a connection that the server has closed: to connect as often as possible is another attack."""
STALLED_BYTES: Final = 1024


def main(port: int, name: str) -> None:
    attack = ATTACKS[name]
    body = encode(attack.make())
    sent = memoryview(body)[: len(body) - STALLED_BYTES if attack.stalls else len(body)]
    answers: Counter[str] = Counter()
    os.nice(19)
    print("built", flush=True)
    sys.stdin.readline()
    for _ in range(attack.connections):
        Thread(target=repeat, args=(port, sent, answers), daemon=True).start()
    sys.stdin.read()
    sys.stdout.buffer.write(msgspec.json.encode(dict(answers)) + b"\n")
    sys.stdout.buffer.flush()
    # Threads wait for answers that may not come.
    os._exit(0)


def repeat(port: int, sent: memoryview, answers: Counter[str]) -> None:
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                while True:
                    connection.sendall(sent)
                    answers[receive(connection)] += 1
        except ConnectionError:
            answers["broken"] += 1
            time.sleep(PAUSE_SECONDS)


def receive(connection: socket.socket) -> str:
    """The status of one answer, whose body is not kept."""
    head = bytearray()
    while (left := missing(head)) > 0 and b"\r\n\r\n" not in head:
        head += piece(connection)
    while left > 0:
        left -= len(piece(connection))
    return str(status(head))


def piece(connection: socket.socket) -> bytes:
    received = connection.recv(PIECE)
    if not received:
        raise ConnectionResetError
    return received


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
