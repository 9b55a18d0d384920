"""The app on sockets."""

from __future__ import annotations

from time import time

from sortkey.server.answering import Answering
from sortkey.server.front import Front
from sortkey.server.metrics import Metrics
from sortkey.server.response import Responses
from sortkey.wire.host import Host


class HttpServer(Host):
    """Serves until `stop`; then every request that has begun is answered."""

    metrics: Metrics

    def __init__(self, front: Front, metrics: Metrics) -> None:
        super().__init__(metrics)
        self._front = front
        self._responses = Responses(time())

    def answering(self, peer: str) -> Answering:
        return Answering(self._front, self._responses, peer)

    def second(self) -> None:
        self._responses.tick(time())
        self.metrics.connections = len(self._connections)
