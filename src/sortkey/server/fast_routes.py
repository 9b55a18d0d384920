"""The fast path to handlers that are marked `fast`: path, query and body to arguments, the returned value to JSON.

Litestar's general path costs more than most answers: a request with fifty ids and a constant answer took 53 µs of
processor time here, sockets included, and 155 through Litestar. The handler remains a Litestar handler: Litestar
documents it, and takes the requests that do not fit here (another method, a path that is not written as declared, a
query parameter that is empty, unknown or given twice).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from litestar.exceptions import ImproperlyConfiguredException
from litestar.handlers import HTTPRouteHandler
from litestar.routes import BaseRoute, HTTPRoute
from litestar.typing import FieldDefinition

from sortkey.http.metrics import RequestMetrics
from sortkey.server.body_decoder import LARGE_BYTES, BodyDecoder
from sortkey.server.errors import ApiError, body_error
from sortkey.server.exchange import CALLER, Exchange, ExchangeCaller
from sortkey.server.metrics import Metrics
from sortkey.server.query_parameters import QueryParameters
from sortkey.server.tokens import SERVICE, Tokens, scope_of

FAST: Final = "fast"
_BODY: Final = "data"


class FastRoute:
    __slots__ = (
        "_decode",
        "_encode",
        "_handle",
        "_query",
        "_service",
        "_takes_caller",
        "metrics",
        "path",
        "scope",
        "status",
    )

    def __init__(self, route: HTTPRoute, method: str, handler: HTTPRouteHandler, metrics: Metrics) -> None:
        self.path = re.compile(_expression(route))
        self.scope = scope_of(handler.opt, method)
        self.status = handler.status_code
        self.metrics: RequestMetrics = metrics.requests(f"{method} {route.path_format}")
        self._handle: Callable[..., Awaitable[Any]] = handler.fn
        self._encode = msgspec.json.Encoder().encode
        parameters = dict(handler.parsed_fn_signature.parameters)
        self._service: str = handler.opt[SERVICE]
        self._takes_caller = parameters.pop(CALLER, None) is not None
        self._decode = _decoder(parameters.pop(_BODY, None))
        self._query = _query(route, handler, parameters)

    @property
    def takes_body(self) -> bool:
        return self._decode is not None

    def arguments(self, found: re.Match[str], exchange: Exchange, tokens: Tokens) -> dict[str, Any] | None:
        """The handler's arguments but the body; None if only the general path can take them."""
        arguments: dict[str, Any] = found.groupdict()
        if exchange.query:
            asked = self._query.decode(exchange.query)
            if asked is None:
                return None
            arguments |= asked
        if self._takes_caller:
            arguments[CALLER] = ExchangeCaller(exchange, tokens, self._service)
        return arguments

    async def answer(self, arguments: dict[str, Any], body: bytes) -> bytes:
        """Raises ApiError if the body does not fit, and what the handler raises."""
        if self._decode is None:
            return self._encode(await self._handle(**arguments))
        try:
            if len(body) <= LARGE_BYTES:
                data = self._decode.decode(body)
            else:
                data = await self._decode.decode_large(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ApiError(body_error(error)) from None
        return self._encode(await self._handle(**arguments, data=data))


FastRoutes = Mapping[str, list[FastRoute]]
"""By method."""


def fast_routes(routes: Iterable[BaseRoute], metrics: Metrics) -> FastRoutes:
    """The marked routes. Raises ImproperlyConfiguredException if a handler takes more than the fast path provides."""
    found: dict[str, list[FastRoute]] = {}
    for route, method, handler in _marked(routes):
        found.setdefault(method, []).append(FastRoute(route, method, handler, metrics))
    return found


def _marked(routes: Iterable[BaseRoute]) -> Iterator[tuple[HTTPRoute, str, HTTPRouteHandler]]:
    for route in routes:
        if isinstance(route, HTTPRoute):
            for method, (handler, _) in route.route_handler_map.items():
                if handler.opt.get(FAST):
                    yield route, method, handler


def _expression(route: HTTPRoute) -> str:
    parts = [re.escape(part) if isinstance(part, str) else f"(?P<{part.name}>[^/]+)" for part in route.path_components]
    return "/" + "/".join(parts)


def _decoder(body: FieldDefinition | None) -> BodyDecoder | None:
    return None if body is None else BodyDecoder(body.annotation)


def _query(route: HTTPRoute, handler: HTTPRouteHandler, parameters: Mapping[str, FieldDefinition]) -> QueryParameters:
    """The parameters that the path does not have."""
    texts = {name for name, parameter in route.path_parameters.items() if parameter.type is str}
    others = {name: parameter for name, parameter in parameters.items() if name not in texts}
    if handler.has_sync_callable or texts != route.path_parameters.keys() or not QueryParameters.are(others):
        raise ImproperlyConfiguredException(
            f"{route.path}: a fast handler must be async and take only `data`, `caller`, the path's parameters, as "
            "str, and query parameters of type str or int with a default"
        )
    return QueryParameters(others)
