"""The access log: one line of JSON for each request.

Requests must never wait for the reader of the log; a pipe that is not read would block all of them. So lines are
collected, and a thread writes them several times a second. When it falls behind, lines are left out, and one line gives
their number.
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
"""Lines that may wait; further lines are left out."""
PAUSE_SECONDS: Final = 0.25
CLOSE_SECONDS: Final = 2.0
"""How long `close` waits for the last lines to be written."""


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
    """The log cannot be opened; the message says why."""


class NoLog:
    def write(self, entry: Entry) -> None:
        pass

    def close(self) -> None:
        pass


class FileLog:
    def __init__(self, file: int) -> None:
        """Takes an open file, and closes it at the end."""
        self._file = file
        self._encode = msgspec.json.Encoder().encode
        self._lines: deque[bytes] = deque()
        self._left_out = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._write_lines, name="sortkey-access-log", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        if len(self._lines) < WAITING_LINES:
            self._lines.append(self._encode(entry))
        else:
            self._left_out += 1

    def close(self) -> None:
        """Write the lines that are left, as far as the reader takes them within `CLOSE_SECONDS`."""
        self._closing.set()
        self._thread.join(CLOSE_SECONDS)

    def _write_lines(self) -> None:
        closing = False
        while not closing:
            closing = self._closing.wait(PAUSE_SECONDS)
            try:
                self._write_waiting()
            except OSError:
                # A full disk or a closed pipe must not end the server. Lines that cannot be written are lost.
                continue
        os.close(self._file)

    def _write_waiting(self) -> None:
        # As many as there are now: a deque can be filled at one end and emptied at the other without a lock.
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if self._left_out:
            lines.append(b'{"leftOut":%d}' % self._left_out)
            self._left_out = 0
        text = memoryview(b"\n".join([*lines, b""]))
        while text:
            text = text[os.write(self._file, text) :]


class TimeText:
    """The time as the log writes it; the text of a second is formatted once."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def at(self, now: float) -> str:
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
        return f"{self._text}{int((now - second) * 1000):03}Z"


def open_log(target: str) -> AccessLog:
    """`-` is standard error, `off` is no log, anything else a file to append to. Raises CannotLog."""
    if target == "off":
        return NoLog()
    if target == "-":
        return FileLog(os.dup(2))
    try:
        return FileLog(os.open(Path(target), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640))
    except OSError as error:
        raise CannotLog(f"cannot write the access log to {target}: {error.strerror}") from error
