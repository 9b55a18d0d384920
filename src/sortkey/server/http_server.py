"""The app on sockets."""

from __future__ import annotations

from time import time

from sortkey.http.host import Host
from sortkey.server.metrics import Metrics
from sortkey.server.middleware import Middleware
from sortkey.server.request_handler import RequestHandler
from sortkey.server.response import Responses


class HttpServer(Host):
    """Serves until `stop`; then every request that has begun is answered."""

    metrics: Metrics

    def __init__(self, middleware: Middleware, metrics: Metrics) -> None:
        super().__init__(metrics)
        self._middleware = middleware
        self._responses = Responses(time())

    def handler(self, peer: str) -> RequestHandler:
        return RequestHandler(self._middleware, self._responses, peer)

    def second(self) -> None:
        self._responses.tick(time())
