"""The fast path to handlers that are marked `fast`: path and body to arguments, the returned value to JSON.

Litestar's general path costs more than most answers: a request with fifty ids and a constant answer took 53 µs of
processor time here, sockets included, and 155 through Litestar. The handler remains a Litestar handler: Litestar
documents it, and takes the requests that do not fit here (another method, a path that is not written as declared).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from litestar.exceptions import ImproperlyConfiguredException
from litestar.handlers import HTTPRouteHandler
from litestar.routes import BaseRoute, HTTPRoute

from sortkey.http.metrics import RequestMetrics
from sortkey.server.errors import ApiError, body_error
from sortkey.server.metrics import Metrics
from sortkey.server.scopes import scope_of

FAST: Final = "fast"
_BODY: Final = "data"


class FastRoute:
    __slots__ = ("_decode", "_encode", "_handle", "metrics", "path", "scope", "status")

    def __init__(self, route: HTTPRoute, method: str, handler: HTTPRouteHandler, metrics: Metrics) -> None:
        self.path = re.compile(_expression(route))
        self.scope = scope_of(handler.opt, method)
        self.status = handler.status_code
        self.metrics: RequestMetrics = metrics.requests(f"{method} {route.path_format}")
        self._handle: Callable[..., Awaitable[Any]] = handler.fn
        self._encode = msgspec.json.Encoder().encode
        self._decode = _decoder(route, handler)

    @property
    def takes_body(self) -> bool:
        return self._decode is not None

    async def answer(self, parameters: dict[str, str], body: bytes) -> bytes:
        """Raises ApiError if the body does not fit, and what the handler raises."""
        if self._decode is None:
            return self._encode(await self._handle(**parameters))
        try:
            data = self._decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ApiError(body_error(error)) from None
        return self._encode(await self._handle(**parameters, data=data))


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


def _decoder(route: HTTPRoute, handler: HTTPRouteHandler) -> Callable[[bytes], Any] | None:
    parameters = dict(handler.parsed_fn_signature.parameters)
    body = parameters.pop(_BODY, None)
    texts = {name for name, parameter in route.path_parameters.items() if parameter.type is str}
    if handler.has_sync_callable or parameters.keys() != texts or texts != route.path_parameters.keys():
        raise ImproperlyConfiguredException(
            f"{route.path}: a fast handler must be async and take only `data` and the path's parameters, as str"
        )
    return None if body is None else msgspec.json.Decoder(body.annotation).decode
