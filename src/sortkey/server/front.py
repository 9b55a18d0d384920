"""What stands before every route: a request's id, limits, tokens, failures, metrics, the access log.

It is one plain ASGI app around Litestar's, not a stack of middleware, so that it costs a few microseconds and covers
everything alike: the routes that go the short way, Litestar's own, raw ASGI routes, and what is no route at all.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
from time import perf_counter, time
from typing import Any, Final, cast

from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from sortkey.server.access_log import AccessLog, Clock, Entry, NoLog
from sortkey.server.exchange import JSON_TYPE, KEY, Allowance, ClientLeft, Exchange
from sortkey.server.failures import Refused, failure_of, overloaded
from sortkey.server.fast import FastRoute, FastRoutes
from sortkey.server.metrics import NO_ROUTE, OK, Metrics, RouteMetrics
from sortkey.server.tokens import Tokens

IN_FLIGHT: Final = 1000
"""Requests that may be under way; with more, answers would only come later for all."""

CLIENT_LEFT: Final = "client_left"
CLIENT_LEFT_STATUS: Final = 499
"""As the log says it; nobody was there to be answered."""

_REQUEST_ID: Final = re.compile(rb"[\x21\x23-\x5b\x5d-\x7e]{1,128}")
"""Visible letters without quotation marks and backslashes, so that a log line needs no second thought."""
_logger = logging.getLogger(__name__)


class Front:
    def __init__(
        self,
        app: ASGIApp,
        fast: FastRoutes,
        tokens: Tokens,
        metrics: Metrics,
        log: AccessLog,
        allowance: Allowance | None = None,
        in_flight: int = IN_FLIGHT,
    ) -> None:
        self._app = app
        self._fast = fast
        self._tokens = tokens
        self._metrics = metrics
        self._log = None if isinstance(log, NoLog) else log
        self._clock = Clock()
        self._allowance = allowance or Allowance()
        self._limit = in_flight
        # Unique over processes and restarts, and cheap: eight random bytes once, and a number.
        self._identity = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        request = cast(HTTPScope, scope)
        headers = dict(request["headers"])
        exchange = Exchange(self._request_id(headers), headers, receive, send, self._allowance)
        metrics = self._metrics
        counted: RouteMetrics | None = None
        metrics.in_flight += 1
        try:
            if metrics.in_flight > self._limit:
                raise Refused(overloaded("Too many requests are under way; try again."))
            for route in self._fast.get(request["method"], ()):
                found = route.path.fullmatch(request["path"])
                if found is not None:
                    counted = route.metrics
                    await self._answer(route, found.groupdict(), exchange)
                    break
            else:
                await self._pass_on(request, exchange)
        except ClientLeft:
            exchange.status, exchange.code = CLIENT_LEFT_STATUS, CLIENT_LEFT
        except Exception as error:
            if exchange.started:
                # Too late for an answer: the connection ends, which tells the client that this one is not whole.
                raise
            failure = failure_of(error, exchange.id)
            if failure.logged:
                _logger.exception("request %s (%s %s) failed", exchange.id, request["method"], request["path"])
            await exchange.fail(failure)
        finally:
            metrics.in_flight -= 1
            seconds = perf_counter() - started
            counted = counted or metrics.route(_name(request))
            counted.count(exchange.code or (OK if exchange.status < 400 else str(exchange.status)), seconds)
            if self._log is not None:
                self._log.write(self._entry(cast(HTTPScope, scope), exchange, seconds))

    async def _answer(self, route: FastRoute, parameters: dict[str, str], exchange: Exchange) -> None:
        exchange.token = self._tokens.check(exchange.headers, route.scope)
        body = await exchange.body() if route.takes_body else b""
        answer = await route.answer(parameters, body)
        await exchange.answer(route.status, answer, [JSON_TYPE])

    async def _pass_on(self, request: HTTPScope, exchange: Exchange) -> None:
        """To Litestar, which gets a scope of its own to leave its findings in."""
        # A HEAD is answered as a GET is; the server leaves the body out.
        method = "GET" if request["method"] == "HEAD" else request["method"]
        inner = cast(HTTPScope, {**request, "method": method, KEY: exchange})
        try:
            await self._app(inner, exchange.receive, exchange.send)
        finally:
            request["path_template"] = inner.get("path_template", "")

    def _request_id(self, headers: dict[bytes, bytes]) -> str:
        given = headers.get(b"x-request-id")
        if given is not None and _REQUEST_ID.fullmatch(given):
            return given.decode("ascii")
        return f"{self._identity}-{next(self._numbers):x}"

    def _entry(self, scope: HTTPScope, exchange: Exchange, seconds: float) -> Entry:
        client: Any = scope["client"]
        return Entry(
            self._clock.text(time()),
            exchange.id,
            "" if client is None else client[0],
            scope["method"],
            scope["path"],
            exchange.status,
            round(seconds * 1000, 3),
            exchange.code,
            exchange.token,
        )


def _name(request: HTTPScope) -> str:
    """A route as the metrics call it: the method and the path as declared."""
    template = request.get("path_template")
    return f"{request['method']} {template}" if template else NO_ROUTE
