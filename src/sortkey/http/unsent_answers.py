"""The answers that clients do not take, and which clients go when these take too much memory.

A client that reads slowly, or not at all, makes the server keep its answers; a page can have megabytes. When all of
them exceed `UNSENT_BYTES`, the connections with the most bytes are aborted until an eighth of the room is free.
What a client has taken of an answer meanwhile is looked up only then.
"""

from __future__ import annotations

from typing import Final, Protocol

from sortkey.limits import MIB

UNSENT_BYTES: Final = 64 * MIB
ROOM: Final = 8
"""One part of this many is freed at once, so that the clients are not compared for each answer."""


class Client(Protocol):
    def unsent_bytes(self) -> int: ...

    def abort(self) -> None: ...


class UnsentAnswers:
    """Belongs to one event loop."""

    def __init__(self, limit: int = UNSENT_BYTES) -> None:
        self._limit = limit
        self._sizes: dict[Client, int] = {}
        self.bytes = 0

    def grow(self, client: Client, size: int) -> None:
        """More bytes wait for the client. May abort clients, this one too."""
        self._sizes[client] = self._sizes.get(client, 0) + size
        self.bytes += size
        if self.bytes > self._limit:
            self._make_room()

    def end(self, client: Client) -> None:
        """The client has taken everything, or is gone."""
        self.bytes -= self._sizes.pop(client, 0)

    def _make_room(self) -> None:
        self._sizes = {client: client.unsent_bytes() for client in self._sizes}
        self.bytes = sum(self._sizes.values())
        for client in sorted(self._sizes, key=self._sizes.__getitem__, reverse=True):
            if self.bytes <= self._limit - self._limit // ROOM:
                return
            self.end(client)
            client.abort()
