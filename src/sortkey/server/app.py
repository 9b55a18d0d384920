"""The app: the routes of some services, and what the server answers itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, cast

from litestar import Litestar, Request, Response, Router, get
from litestar.types import ASGIApp, ControllerRouterHandler, HTTPScope, Receive, Scope, Send

from sortkey.http import prometheus
from sortkey.http.prometheus import Samples
from sortkey.server import docs_page, metrics
from sortkey.server.access_log import AccessLog, NoLog
from sortkey.server.exchange import BODY_BYTES, exchange_of
from sortkey.server.fast_routes import fast_routes
from sortkey.server.metrics import Metrics
from sortkey.server.middleware import IN_FLIGHT, Middleware
from sortkey.server.openapi import document
from sortkey.server.scopes import SERVICE, scope_of
from sortkey.server.tokens import KnownTokens, NoTokens, Tokens
from sortkey.service_interface import Service

TAG: Final = "server"
"""What the documentation calls the routes that belong to no service."""


def app_of(
    services: Sequence[Service],
    samples: Callable[[], Samples] = dict,
    tokens: Tokens | None = None,
    log: AccessLog | None = None,
    body_bytes: int = BODY_BYTES,
    in_flight: int = IN_FLIGHT,
    counted: Metrics | None = None,
) -> Middleware:
    """Whoever answers their requests. `samples` are further ones for `GET /metrics`."""
    asked = tokens or NoTokens()
    numbers = counted or Metrics()
    routes = [_router(service, asked) for service in services]
    described = document([*routes, *_own(numbers, samples, b"")], services, isinstance(asked, KnownTokens))
    # What Litestar would print or keep for itself is the middleware's to do.
    inner = Litestar(
        [*routes, *_own(numbers, samples, described)],
        exception_handlers={Exception: _leave_it_to_the_front},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
    return Middleware(inner, fast_routes(inner.routes, numbers), asked, numbers, log or NoLog(), body_bytes, in_flight)


def _router(service: Service, tokens: Tokens) -> Router:
    """Its routes, behind a check of tokens. A guard would do, if Litestar did not copy the handler for each call."""

    def checking(app: ASGIApp) -> ASGIApp:
        async def checked(scope: Scope, receive: Receive, send: Send) -> None:
            request = cast(HTTPScope, scope)
            exchange = exchange_of(request)
            needed = scope_of(request["route_handler"].opt, request["method"])
            exchange.token = tokens.check(exchange.headers, needed)
            await app(scope, receive, send)

        return checked

    return Router(
        "/",
        route_handlers=list(service.routes),
        middleware=[checking],
        opt={SERVICE: service.name},
        tags=[service.name],
    )


def _own(counted: Metrics, samples: Callable[[], Samples], described: bytes) -> list[ControllerRouterHandler]:
    @get("/health", tags=[TAG], summary="Whether the server serves", sync_to_thread=False)
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @get(
        "/metrics",
        tags=[TAG],
        summary="Numbers about requests and access paths, for Prometheus",
        media_type=prometheus.CONTENT_TYPE,
        sync_to_thread=False,
    )
    def numbers() -> bytes:
        return prometheus.render(counted.samples() | samples(), metrics.FAMILIES)

    @get("/openapi.json", include_in_schema=False, media_type="application/json", sync_to_thread=False)
    def openapi() -> bytes:
        return described

    @get("/docs", include_in_schema=False, media_type="text/html; charset=utf-8", sync_to_thread=False)
    def docs() -> Response[bytes]:
        return Response(docs_page.PAGE, headers={"content-security-policy": docs_page.POLICY})

    return [health, numbers, openapi, docs]


def _leave_it_to_the_front(_: Request[Any, Any, Any], error: Exception) -> NoReturn:
    raise error
