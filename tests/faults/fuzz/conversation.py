"""Connections that send and receive at the same time, many of them in one thread, without waiting for each other."""

from __future__ import annotations

import re
import selectors
import socket
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

from tests.faults.fuzz.case import Failure, Message, Stream, judge

Address = tuple[str, int]
RECEIVE_BYTES = 1 << 18
STATUS = re.compile(rb"HTTP/1\.1 (\d\d\d) ")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


class Answer(NamedTuple):
    status: int
    body: bytes
    closes: bool


class Conversation:
    """Sends pieces on one connection, and ends with `expected` answers, or with the server's close."""

    def __init__(self, address: Address, pieces: Sequence[bytes], expected: int | None) -> None:
        self._pieces = list(pieces)
        self._expected = expected
        self.received = bytearray()
        self.answers: list[Answer] = []
        self.ended = ""
        """How it ended: answered, closed, reset, or silent."""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect_ex(address)

    @property
    def wants(self) -> int:
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._pieces else 0)

    def advance(self, ready: int) -> None:
        try:
            if ready & selectors.EVENT_READ:
                self._receive()
            if ready & selectors.EVENT_WRITE and not self.ended:
                self._send()
        except BlockingIOError:
            pass
        except ConnectionError:
            self.ended = "reset"

    def _send(self) -> None:
        sent = self.socket.send(self._pieces[0])
        self._pieces[0] = self._pieces[0][sent:]
        if not self._pieces[0]:
            del self._pieces[0]
        if not self._pieces and self._expected is None:
            self.socket.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        data = self.socket.recv(RECEIVE_BYTES)
        self.received += data
        if not data:
            self.ended = "closed"
        if self._expected is not None:
            self._parse()
            if len(self.answers) >= self._expected:
                self.ended = "answered"

    def _parse(self) -> None:
        while (head := self.received.find(b"\r\n\r\n")) >= 0:
            text = bytes(self.received[: head + 2])
            status, length = STATUS.match(text), LENGTH.search(text)
            if status is None:
                self.ended = "garbled"
                return
            size = int(length[1]) if length else 0
            if len(self.received) < head + 4 + size:
                return
            body = bytes(self.received[head + 4 : head + 4 + size])
            self.answers.append(Answer(int(status[1]), body, CLOSES.search(text) is not None))
            del self.received[: head + 4 + size]


def converse(conversations: Sequence[Conversation], seconds: float) -> None:
    """Run them all to their ends; those that make no progress for this long end as silent."""
    with selectors.DefaultSelector() as selector:
        for each in conversations:
            selector.register(each.socket, each.wants, each)
        going = len(conversations)
        deadline = monotonic() + seconds
        while going and monotonic() < deadline:
            for key, ready in selector.select(1.0):
                deadline = monotonic() + seconds
                each = key.data
                each.advance(ready)
                if each.ended:
                    selector.unregister(each.socket)
                    going -= 1
                elif each.wants != key.events:
                    selector.modify(each.socket, each.wants, each)
    for each in conversations:
        each.ended = each.ended or "silent"
        each.socket.close()


def failures_of(messages: Sequence[Message], conversation: Conversation) -> tuple[list[Failure], list[Message]]:
    """What failed among requests of one connection, and the requests behind an answer that closed it."""
    answers = conversation.answers
    found = [judge(message, answer.status, answer.body) for message, answer in zip(messages, answers, strict=False)]
    left = list(messages[len(answers) :])
    if left and not (answers and answers[-1].closes):
        return [*filter(None, found), Failure(f"no answer: {conversation.ended}", left[0])], left[1:]
    return [*filter(None, found)], left


def failure_of_stream(stream: Stream, conversation: Conversation) -> Failure | None:
    statuses = [int(status) for status in STATUS.findall(bytes(conversation.received))]
    if any(status >= 500 for status in statuses):
        text = conversation.received.decode("latin-1")[-500:]
        return Failure(f"answer {max(statuses)}", stream, text)
    if conversation.ended == "silent":
        return Failure("the connection was not closed", stream, f"answers: {statuses}")
    return None
