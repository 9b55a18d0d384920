"""What stands before every route: the request's id, limits, failures, metrics and the log.

It is one plain function around Litestar's, not a stack of middleware, so that it costs a few microseconds and covers
everything alike: the routes that go the short way, Litestar's own, raw ASGI routes, and what is no route at all.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
from time import perf_counter, time
from typing import Final

from litestar.types import ASGIApp

from sortkey.http.metrics import OK, RequestMetrics
from sortkey.server.access_log import AccessLog, Clock, Entry, NoLog
from sortkey.server.errors import ApiError, error_answer_of, overloaded
from sortkey.server.exchange import BODY_BYTES, JSON_TYPE, Exchange
from sortkey.server.fast_routes import FastRoute, FastRoutes
from sortkey.server.metrics import NO_ROUTE, Metrics
from sortkey.server.tokens import Tokens

IN_FLIGHT: Final = 1000
"""Requests that may be under way; with more, answers would only come later for all."""

_REQUEST_ID: Final = re.compile(rb"[\x21\x23-\x5b\x5d-\x7e]{1,128}")
"""Visible letters without quotation marks and backslashes, so that a log line needs no second thought."""
_logger = logging.getLogger(__name__)


class Middleware:
    def __init__(
        self,
        app: ASGIApp,
        fast: FastRoutes,
        tokens: Tokens,
        metrics: Metrics,
        log: AccessLog,
        body_bytes: int = BODY_BYTES,
        in_flight: int = IN_FLIGHT,
    ) -> None:
        self._app = app
        self._fast = fast
        self._tokens = tokens
        self._metrics = metrics
        self._log = None if isinstance(log, NoLog) else log
        self._clock = Clock()
        self._body_bytes = body_bytes
        self._limit = in_flight
        # Unique over processes and restarts, and cheap: eight random bytes once, and a number.
        self._identity = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    async def answer(self, exchange: Exchange) -> None:
        """Whatever happens, the exchange has an answer afterwards."""
        started = perf_counter()
        metrics = self._metrics
        exchange.id = self._request_id(exchange.headers)
        exchange.most = self._body_bytes
        counted: RequestMetrics | None = None
        metrics.in_flight += 1
        try:
            if metrics.in_flight > self._limit:
                raise ApiError(overloaded("Too many requests are under way; try again."))
            for route in self._fast.get(exchange.method, ()):
                found = route.path.fullmatch(exchange.path)
                if found is not None:
                    counted = route.metrics
                    await self._answer(route, found.groupdict(), exchange)
                    break
            else:
                await self._pass_on(exchange)
        except Exception as error:
            error_answer = error_answer_of(error, exchange.id)
            if error_answer.logged:
                _logger.exception("request %s (%s %s) failed", exchange.id, exchange.method, exchange.path)
            exchange.fail(error_answer)
        finally:
            metrics.in_flight -= 1
            seconds = perf_counter() - started
            counted = counted or metrics.requests(_name(exchange))
            counted.count(exchange.code or (OK if exchange.status < 400 else str(exchange.status)), seconds)
            if self._log is not None:
                self._log.write(self._entry(exchange, seconds))

    async def _answer(self, route: FastRoute, parameters: dict[str, str], exchange: Exchange) -> None:
        exchange.token = self._tokens.check(exchange.headers, route.scope)
        body = exchange.body() if route.takes_body else b""
        exchange.answer(route.status, await route.answer(parameters, body), [JSON_TYPE])

    async def _pass_on(self, exchange: Exchange) -> None:
        scope = exchange.scope()
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            exchange.template = scope.get("path_template", "")

    def _request_id(self, headers: dict[bytes, bytes]) -> str:
        given = headers.get(b"x-request-id")
        if given is not None and _REQUEST_ID.fullmatch(given):
            return given.decode("ascii")
        return f"{self._identity}-{next(self._numbers):x}"

    def _entry(self, exchange: Exchange, seconds: float) -> Entry:
        return Entry(
            self._clock.text(time()),
            exchange.id,
            exchange.client,
            exchange.method,
            exchange.path,
            exchange.status,
            round(seconds * 1000, 3),
            exchange.code,
            exchange.token,
        )


def _name(exchange: Exchange) -> str:
    """A route as the metrics call it: the method and the path as declared."""
    return f"{exchange.method} {exchange.template}" if exchange.template else NO_ROUTE
