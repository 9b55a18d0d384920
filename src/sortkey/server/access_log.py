"""One line of JSON for each request.

Requests must never wait for whoever reads the log, and a pipe that nobody empties would stop them all. So lines are
collected, and a thread of their own writes them, several times a second; when it falls behind, lines are left out, and
one line says how many.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec

WAITING_LINES: Final = 100_000
"""So many may wait; further ones are left out."""
PAUSE_SECONDS: Final = 0.25
PATIENCE_SECONDS: Final = 2.0
"""For the last lines, at the end."""


class Entry(msgspec.Struct, omit_defaults=True):
    time: str
    id: str
    client: str
    method: str
    path: str
    status: int
    milliseconds: float
    error: str | None = None
    token: str | None = None


class AccessLog(Protocol):
    def write(self, entry: Entry) -> None: ...

    def close(self) -> None: ...


class CannotLog(Exception):
    """The place for the log is not to be had; the message says why."""


class NoLog:
    def write(self, entry: Entry) -> None:
        """Nobody wants to know."""

    def close(self) -> None:
        """There is nothing to close."""


class FileLog:
    def __init__(self, file: int) -> None:
        """Writes to an open file, and closes it in the end."""
        self._file = file
        self._encode = msgspec.json.Encoder().encode
        self._lines: deque[bytes] = deque()
        self._left_out = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="sortkey-access-log", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        if len(self._lines) < WAITING_LINES:
            self._lines.append(self._encode(entry))
        else:
            self._left_out += 1

    def close(self) -> None:
        """Write what is left. Whoever does not take it within a while does not get it."""
        self._closing.set()
        self._thread.join(PATIENCE_SECONDS)

    def _work(self) -> None:
        closing = False
        while not closing:
            closing = self._closing.wait(PAUSE_SECONDS)
            try:
                self._put()
            except OSError:
                # A full disk or a reader that left must not end the server. What could not be written is lost.
                continue
        os.close(self._file)

    def _put(self) -> None:
        # As many as there are now: a deque is filled at one end and emptied at the other without a lock.
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if self._left_out:
            lines.append(b'{"leftOut":%d}' % self._left_out)
            self._left_out = 0
        text = memoryview(b"\n".join([*lines, b""]))
        while text:
            text = text[os.write(self._file, text) :]


class Clock:
    """The time as the log writes it; the text of a second is made once."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def text(self, now: float) -> str:
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
        return f"{self._text}{int((now - second) * 1000):03}Z"


def open_log(place: str) -> AccessLog:
    """`-` is standard error, `off` is none, anything else a file that is appended to. Raises CannotLog."""
    if place == "off":
        return NoLog()
    if place == "-":
        return FileLog(os.dup(2))
    try:
        return FileLog(os.open(Path(place), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640))
    except OSError as error:
        raise CannotLog(f"cannot write the access log to {place}: {error.strerror}") from error
