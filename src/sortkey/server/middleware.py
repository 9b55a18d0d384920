"""What every request passes through: its id, limits, errors, metrics and the access log.

It is one function around Litestar, not a stack of middleware. So it costs a few microseconds and covers all requests
alike: fast routes, Litestar's own routes, raw ASGI routes, and paths without a route.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
from collections.abc import Mapping
from functools import partial
from time import perf_counter, time
from types import MappingProxyType
from typing import Any, Final

from litestar.types import ASGIApp

from sortkey.http.metrics import OK, RequestMetrics
from sortkey.server.access_log import AccessLog, Entry, NoLog, TimeText
from sortkey.server.errors import MALFORMED, UNAVAILABLE, ApiError, ErrorAnswer, overloaded
from sortkey.server.exchange import BODY_BYTES, JSON_TYPE, NESTING, Exchange
from sortkey.server.fast_routes import FastRoute, FastRoutes
from sortkey.server.idempotency import Idempotency, answered_once
from sortkey.server.litestar_errors import request_error
from sortkey.server.metrics import NO_ROUTE, Metrics
from sortkey.server.tokens import TENANT, Tokens

HEALTH: Final = "/health"
"""Open to requests for any host: it shows nothing, and probes often send no `Host`."""
IN_FLIGHT: Final = 1000
"""Requests that may be under way at once; more would only make all answers later."""
NESTED_BODY: Final = ErrorAnswer(400, MALFORMED, f"The body is nested too deeply: at most {NESTING} levels.")

_REQUEST_ID: Final = re.compile(rb"[\x21\x23-\x5b\x5d-\x7e]{1,128}")
"""Visible ASCII without quotation marks and backslashes, so that it needs no escaping in a log."""
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
        idempotency: Idempotency | None = None,
        services: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`services` are those that routes belong to, by the routes' paths as they are declared."""
        self._app = app
        self._services = services
        self._fast = fast
        self._tokens = tokens
        self._metrics = metrics
        self._log = None if isinstance(log, NoLog) else log
        self._time = TimeText()
        self._body_bytes = body_bytes
        self._limit = in_flight
        self._idempotency = idempotency
        # Request ids are unique over processes and restarts: eight random bytes, drawn once, and a number.
        self._identity = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    def service_of_route(self, route: str) -> str | None:
        """The service of a route of the metrics, such as `GET /boosts/{tenant}`; None for the server's own."""
        return self._services.get(route.partition(" ")[2])

    async def answer(self, exchange: Exchange) -> None:
        """Answer the exchange; an exception becomes an error answer."""
        started = perf_counter()
        metrics = self._metrics
        exchange.id = self._request_id(exchange.headers)
        exchange.body_limit = self._body_bytes
        counted: RequestMetrics | None = None
        metrics.in_flight += 1
        try:
            if exchange.path != HEALTH:
                self._tokens.check_host(exchange.host)
            if metrics.in_flight > self._limit:
                raise ApiError(overloaded("Too many requests are under way; try again."))
            for route in self._fast.get(exchange.method, ()):
                found = route.path.fullmatch(exchange.path)
                if found is not None:
                    arguments = route.arguments(found, exchange, self._tokens)
                    if arguments is None:
                        continue
                    counted = route.metrics
                    await self._answer_fast(route, arguments, exchange)
                    break
            else:
                await self._answer_by_litestar(exchange)
        except Exception as error:
            answer = request_error(error, exchange.id)
            if (answer.code == MALFORMED or isinstance(error, RecursionError)) and exchange.is_deep():
                answer = NESTED_BODY
            if answer.logged:
                _logger.exception("request %s (%s %s) failed", exchange.id, exchange.method, exchange.path)
            elif answer.code == UNAVAILABLE:
                _logger.error("request %s (%s %s): %s", exchange.id, exchange.method, exchange.path, answer.message)
            exchange.answer_error(answer)
        finally:
            metrics.in_flight -= 1
            seconds = perf_counter() - started
            counted = counted or metrics.requests(_route_name(exchange))
            counted.count(exchange.code or (OK if exchange.status < 400 else str(exchange.status)), seconds)
            if self._log is not None:
                self._log.write(self._entry(exchange, seconds))

    async def _answer_fast(self, route: FastRoute, arguments: dict[str, Any], exchange: Exchange) -> None:
        if route.scope is not None:
            exchange.tenant = arguments.get(TENANT)
            exchange.token = self._tokens.check(exchange, route.scope)
        if exchange.idempotency_key is not None:
            await answered_once(self._idempotency, exchange, partial(self._call_fast, route, arguments, exchange))
        else:
            await self._call_fast(route, arguments, exchange)

    async def _call_fast(self, route: FastRoute, arguments: dict[str, Any], exchange: Exchange) -> None:
        body = exchange.body() if route.takes_body else b""
        exchange.answer(route.status, await route.answer(arguments, body), [JSON_TYPE])

    async def _answer_by_litestar(self, exchange: Exchange) -> None:
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
            self._time.at(time()),
            exchange.id,
            exchange.client,
            exchange.method,
            exchange.path,
            exchange.status,
            round(seconds * 1000, 3),
            exchange.code,
            exchange.token,
        )


def _route_name(exchange: Exchange) -> str:
    """The route in the metrics: the method and the declared path."""
    return f"{exchange.method} {exchange.template}" if exchange.template else NO_ROUTE
