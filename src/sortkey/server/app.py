"""The app: the routes of the services, and the server's own."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, Final, NoReturn, cast

from botocore.exceptions import BotoCoreError, ClientError
from litestar import Litestar, Request, Response, Router, get
from litestar.routes import BaseRoute, HTTPRoute
from litestar.types import ASGIApp, ControllerRouterHandler, HTTPScope, Receive, Scope, Send

from sortkey.http.listener import AllowedHosts
from sortkey.http.metrics import CONTENT_TYPE, Samples, render
from sortkey.model.errors import ModelError
from sortkey.server.access_log import AccessLog, NoLog
from sortkey.server.exchange import BODY_BYTES, CALLER, caller_dependency, exchange_of
from sortkey.server.fast_routes import fast_routes
from sortkey.server.idempotency import Idempotency, answered_once
from sortkey.server.metrics import FAMILIES, Metrics
from sortkey.server.middleware import HEALTH, IN_FLIGHT, Middleware
from sortkey.server.openapi import openapi_document
from sortkey.server.query_parameters import declared_parameters, refuse_unknown
from sortkey.server.tokens import SERVICE, TENANT, KnownTokens, NoTokens, Tokens, scope_of
from sortkey.services.interface import Explained, Measured, Service

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
    idempotency: Idempotency | None = None,
    *,
    for_console: bool = False,
) -> Middleware:
    """The app of these services. `samples` returns further samples for `GET /metrics`. Without `idempotency`, requests
    with an `Idempotency-Key` are rejected. `for_console`: with the routes that only the console calls. Raises BadTokens
    for tokens of tenants that no service has."""
    known = tokens or NoTokens(AllowedHosts())
    routes = [_router(service, known, idempotency, for_console) for service in services]
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
    for service in services:
        known.check_tenants(service.name, service.name in _with_tenants(inner.routes))
    fast = fast_routes(inner.routes, metrics)
    owners = _services_of(inner.routes)
    return Middleware(inner, fast, known, metrics, log or NoLog(), body_bytes, in_flight, idempotency, owners)


def _router(service: Service, tokens: Tokens, idempotency: Idempotency | None, for_console: bool) -> Router:
    """The service's routes behind a check of tokens and of the names of query parameters. Not guards: Litestar would
    copy the handler for each call."""
    parameters = cache(declared_parameters)
    handlers = [*service.routes]
    if for_console and isinstance(service, Explained):
        handlers += service.console_routes

    def check(app: ASGIApp) -> ASGIApp:
        async def check_and_call(scope: Scope, receive: Receive, send: Send) -> None:
            request = cast(HTTPScope, scope)
            exchange = exchange_of(request)
            needed = scope_of(request["route_handler"].opt, request["method"])
            if needed is not None:
                tenant = request["path_params"].get(TENANT)
                exchange.tenant = None if tenant is None else str(tenant)
                exchange.token = tokens.check(exchange, needed)
            if exchange.query:
                refuse_unknown(exchange.query, parameters(request["route_handler"]))
            if exchange.idempotency_key is not None:
                await answered_once(idempotency, exchange, partial(app, scope, receive, send))
            else:
                await app(scope, receive, send)

        return check_and_call

    return Router(
        "/",
        route_handlers=handlers,
        middleware=[check],
        dependencies={CALLER: caller_dependency(tokens, service.name)},
        opt={SERVICE: service.name},
        tags=[service.name],
    )


def _with_tenants(routes: Iterable[BaseRoute]) -> set[str]:
    """The services whose routes name tenants."""
    return {
        handler.opt[SERVICE]
        for route in routes
        if isinstance(route, HTTPRoute) and TENANT in route.path_parameters
        for handler in route.route_handlers
    }


def _services_of(routes: Iterable[BaseRoute]) -> dict[str, str]:
    """The service of each path, as the metrics name it."""
    return {
        route.path_format: handler.opt[SERVICE]
        for route in routes
        for handler in getattr(route, "route_handlers", ())
        if SERVICE in handler.opt
    }


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
