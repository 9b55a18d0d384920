"""Telling those who wait for stream records that there are some.

After a commit that wrote records, their streams are announced here: to threads that wait, and to callbacks, which
an event loop registers. Records that another process wrote are not announced; whoever waits so also looks from time
to time.
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
        """Grows with every commit that wrote to the stream; read it before looking, wait for a greater one after."""
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
        """Block until the stream is past the version `seen`; False when the time is up first."""
        with self._changed:
            return self._changed.wait_for(lambda: self.version(stream) > seen, timeout)

    def listen(self, listener: Callable[[set[bytes]], None]) -> Callable[[], None]:
        """Call the listener, on the committing thread, with each commit's streams; returns how to stop."""
        with self._changed:
            self._listeners.add(listener)

        def stop() -> None:
            with self._changed:
                self._listeners.discard(listener)

        return stop
