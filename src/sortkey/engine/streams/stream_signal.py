"""Wakes waiters when stream records are committed.

After a commit that wrote records, their streams are announced to waiting threads and to callbacks, which an event loop
registers. Commits of other processes are not announced, so a waiter also polls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class StreamSignal:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._versions: dict[bytes, int] = {}
        self._listeners: set[Callable[[set[bytes]], None]] = set()

    def version(self, stream: bytes) -> int:
        """Grows with every commit that wrote to the stream. Read it before looking for records, then wait for more."""
        return self._versions.get(stream, 0)

    def notify(self, streams: set[bytes]) -> None:
        with self._changed:
            for stream in streams:
                self._versions[stream] = self._versions.get(stream, 0) + 1
            self._changed.notify_all()
            listeners = list(self._listeners)
        for listener in listeners:
            listener(streams)

    def wait(self, stream: bytes, seen: int, timeout: float) -> bool:
        """Block until the stream is past the version `seen`; returns False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self.version(stream) > seen, timeout)

    def listen(self, listener: Callable[[set[bytes]], None]) -> Callable[[], None]:
        """Call the listener, on the committing thread, with each commit's streams; returns a function that stops it."""
        with self._changed:
            self._listeners.add(listener)

        def stop() -> None:
            with self._changed:
                self._listeners.discard(listener)

        return stop
