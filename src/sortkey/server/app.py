"""The app: the routes of the services, and the server's own."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NoReturn, cast

from botocore.exceptions import BotoCoreError, ClientError
from litestar import Litestar, Request, Response, Router, get
from litestar.types import ASGIApp, ControllerRouterHandler, HTTPScope, Receive, Scope, Send

from sortkey.http.listener import AllowedHosts
from sortkey.http.metrics import CONTENT_TYPE, Samples, render
from sortkey.model.errors import ModelError
from sortkey.server.access_log import AccessLog, NoLog
from sortkey.server.exchange import BODY_BYTES, CALLER, caller_dependency, exchange_of
from sortkey.server.fast_routes import fast_routes
from sortkey.server.metrics import FAMILIES, Metrics
from sortkey.server.middleware import HEALTH, IN_FLIGHT, Middleware
from sortkey.server.openapi import openapi_document
from sortkey.server.tokens import SERVICE, KnownTokens, NoTokens, Tokens, scope_of
from sortkey.services.interface import Measured, Service

_logger = logging.getLogger(__name__)

TAG: Final = "server"
"""The tag, in the documentation, of the server's own routes."""
DOCS_PAGE: Final = files("sortkey.server").joinpath("docs.html").read_bytes()
"""Shows the routes of /openapi.json and sends requests to them. Loads nothing from other hosts."""
DOCS_POLICY: Final = "default-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""Has the browser enforce that, too."""


def app_of(
    services: Sequence[Service],
    samples: Callable[[], Samples] = dict,
    tokens: Tokens | None = None,
    log: AccessLog | None = None,
    body_bytes: int = BODY_BYTES,
    in_flight: int = IN_FLIGHT,
    metrics: Metrics | None = None,
) -> Middleware:
    """The app of these services. `samples` returns further samples for `GET /metrics`."""
    known = tokens or NoTokens(AllowedHosts())
    routes = [_router(service, known) for service in services]
    metrics = metrics or Metrics()
    measured = [service for service in services if isinstance(service, Measured)]
    known_families = {**FAMILIES, **{name: each for service in measured for name, each in service.families.items()}}

    async def show() -> bytes:
        shown = metrics.samples() | samples()
        for service in measured:
            try:
                shown |= await service.samples()
            except (ModelError, ClientError, BotoCoreError) as error:
                # The other samples tell that the store is away.
                _logger.warning("there are no metrics of %s: %s", service.name, error)
        return render(shown, known_families)

    # Takes longer than all the rest, and most servers are never asked for it.
    @cache
    def document() -> bytes:
        undocumented = [*routes, *_own_routes(show, bytes)]
        return openapi_document(undocumented, services, isinstance(known, KnownTokens))

    # Errors, documentation and limits are the middleware's, not Litestar's.
    inner = Litestar(
        [*routes, *_own_routes(show, document)],
        exception_handlers={Exception: _raise_to_middleware},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
    return Middleware(inner, fast_routes(inner.routes, metrics), known, metrics, log or NoLog(), body_bytes, in_flight)


def _router(service: Service, tokens: Tokens) -> Router:
    """The service's routes behind a check of tokens. Not a guard: Litestar would copy the handler for each call."""

    def check_tokens(app: ASGIApp) -> ASGIApp:
        async def check_and_call(scope: Scope, receive: Receive, send: Send) -> None:
            request = cast(HTTPScope, scope)
            exchange = exchange_of(request)
            needed = scope_of(request["route_handler"].opt, request["method"])
            if needed is not None:
                exchange.token = tokens.check(exchange.headers, needed)
            await app(scope, receive, send)

        return check_and_call

    return Router(
        "/",
        route_handlers=list(service.routes),
        middleware=[check_tokens],
        dependencies={CALLER: caller_dependency(tokens, service.name)},
        opt={SERVICE: service.name},
        tags=[service.name],
    )


def _own_routes(
    metrics: Callable[[], Awaitable[bytes]], document: Callable[[], bytes]
) -> list[ControllerRouterHandler]:
    @get(HEALTH, tags=[TAG], summary="Whether the server is up", sync_to_thread=False)
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @get(
        "/metrics",
        tags=[TAG],
        summary="Metrics of requests and access paths, for Prometheus",
        media_type=CONTENT_TYPE,
    )
    async def show_metrics() -> bytes:
        return await metrics()

    @get("/openapi.json", include_in_schema=False, media_type="application/json", sync_to_thread=True)
    def openapi() -> bytes:
        return document()

    @get("/docs", include_in_schema=False, media_type="text/html; charset=utf-8", sync_to_thread=False)
    def docs() -> Response[bytes]:
        return Response(DOCS_PAGE, headers={"content-security-policy": DOCS_POLICY})

    return [health, show_metrics, openapi, docs]


def _raise_to_middleware(_: Request[Any, Any, Any], error: Exception) -> NoReturn:
    raise error
