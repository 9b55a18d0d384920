"""A service's GraphQL endpoint: `POST /graphql` executes operations, `GET /graphql` shows GraphiQL to browsers.

GraphiQL is served from the package: its page loads nothing from other hosts. `tools/graphiql.sh` fetches its files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape
from importlib.resources import files
from ipaddress import ip_address
from typing import Any, Final

import msgspec
from graphql import ExecutionResult, GraphQLSchema
from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler
from msgspec import UNSET, UnsetType

from sortkey.graphql.cost import PageSizes, Sent, check_changes, check_cost
from sortkey.graphql.documents import Documents
from sortkey.graphql.errors import BAD_REQUEST, ErrorAnswer, Refused, error_answer, refused
from sortkey.graphql.schema import Asked
from sortkey.graphql.settings import GraphQLSettings
from sortkey.services.interface import BadRequest, Caller, NotFound
from sortkey.services.operation import current_operation

__all__ = ["GraphQLEndpoint", "PageSizes", "graphql_routes"]

INTROSPECTION_DISABLED: Final = "INTROSPECTION_DISABLED"
VARIABLES_LIMIT: Final = "SIZE_LIMIT"
DEFAULTS: Final = GraphQLSettings()

_GRAPHIQL: Final = files("sortkey.graphql").joinpath("graphiql")
_CONTENT_TYPES: Final[Mapping[str, str]] = {
    "graphiql.min.css": "text/css",
    "graphiql.min.js": "text/javascript",
    "page.js": "text/javascript",
    "react-dom.production.min.js": "text/javascript",
    "react.production.min.js": "text/javascript",
}
_OPENING: Final = "OPENING_QUERY"
"""In the page, where the query is that it opens with."""

_POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; font-src data:; img-src 'self' data:; frame-ancestors 'none'"
)
"""Has the browser enforce that nothing comes from other hosts, and that no other site can show the page as its own."""


class GraphQLRequest(msgspec.Struct, frozen=True, rename="camel"):
    query: str | None = None
    """The document; optional if `extensions` name a persisted query."""
    operation_name: str | None = None
    variables: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None


class GraphQLAnswer(msgspec.Struct, frozen=True):
    errors: list[dict[str, Any]] | UnsetType = UNSET
    data: dict[str, Any] | UnsetType | None = UNSET


class GraphQLEndpoint:
    """Executes requests on one schema. Its resolvers see the service and the caller, as `Asked`. GraphiQL opens with
    the query `opening`:

        GraphQLEndpoint(SCHEMA._schema, shop, PageSizes(64, 2048), opening='{ book(id: "1") { title } }')
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        service: Any,
        sizes: PageSizes,
        settings: GraphQLSettings = DEFAULTS,
        *,
        opening: str = "",
    ) -> None:
        self._service = service
        self.opening = opening
        self._limits = settings.limits
        self._introspection = settings.introspection
        self._documents = Documents(schema, sizes, self._limits)

    async def answer(self, request: GraphQLRequest, caller: Caller) -> GraphQLAnswer:
        """Raises what `caller` raises if a mutation's token may not write."""
        operation = current_operation()
        try:
            answer = answer_of(await self._execute(request, caller))
        except Refused as error:
            if operation is not None:
                operation.fail(400)
            return GraphQLAnswer(errors=error.errors)
        if operation is not None and answer.errors is not UNSET:
            # Perhaps one of several mutations was carried out, or the store was away.
            operation.fail()
        return answer

    async def _execute(self, request: GraphQLRequest, caller: Caller) -> ExecutionResult:
        persisted = (request.extensions or {}).get("persistedQuery")
        text = request.query
        if isinstance(persisted, dict):
            text = self._documents.persisted(text, persisted)
        if text is None:
            raise refused(BAD_REQUEST, "query: required, unless extensions name a persisted query.")
        known = self._documents.operation(text, request.operation_name)
        if isinstance(persisted, dict) and request.query is not None:
            self._documents.keep(persisted["sha256Hash"], text)
        if known.cost.introspects:
            self._check_introspection(caller)
        operation = known.operation
        if operation.is_mutation:
            caller.require("write")
        raw = request.variables or {}
        elements = _elements(raw, self._limits.variable_values)
        check_changes(known.cost, elements, self._limits)
        variables = await operation.coerced(raw)
        if isinstance(variables, list):
            raise Refused([error_answer(error) for error in variables])
        check_cost(known.cost, Sent(variables, elements), self._limits)
        return await operation.execute(Asked(self._service, caller), raw, variables, lambda: caller.gone)

    def _check_introspection(self, caller: Caller) -> None:
        if self._introspection == "always" or (self._introspection == "loopback" and _is_loopback(caller.address)):
            return
        raise refused(INTROSPECTION_DISABLED, "Introspection is disabled here; docs/guides/graphql.md has the schema.")


def graphql_routes(endpoint: GraphQLEndpoint) -> list[ControllerRouterHandler]:
    page = _graphiql_page(endpoint.opening)

    @post("/graphql", status_code=200, fast=True, scope="read", summary="Execute a GraphQL operation")
    async def graphql(
        caller: NamedDependency[Caller], data: JSONBody[GraphQLRequest | list[dict[str, Any]]]
    ) -> GraphQLAnswer:
        """The answer is 200 with `errors` if the operation is refused or fails. A mutation needs the write scope."""
        if isinstance(data, list):
            raise BadRequest("send one operation at a time: lists of operations are not executed")
        return await endpoint.answer(data, caller)

    @get("/graphql", scope="open", include_in_schema=False, media_type="text/html")
    async def graphiql(request: Request[Any, Any, Any]) -> Response[bytes]:
        accepted = request.headers.get("accept", "*/*")
        if "text/html" not in accepted and "*/*" not in accepted:
            raise BadRequest("send operations by POST; GET shows GraphiQL, to browsers")
        return Response(page, headers={"content-security-policy": _POLICY})

    @get("/graphql/{name:str}", scope="open", include_in_schema=False)
    async def graphiql_file(name: FromPath[str]) -> Response[bytes]:
        content, content_type = _graphiql_file(name)
        return Response(content, media_type=content_type, headers={"cache-control": "max-age=3600"})

    return [graphql, graphiql, graphiql_file]


def answer_of(result: ExecutionResult) -> GraphQLAnswer:
    if not result.errors:
        return GraphQLAnswer(data=result.data)
    errors: list[ErrorAnswer] = [error_answer(error) for error in result.errors]
    return GraphQLAnswer(errors=errors, data=result.data)


def _elements(variables: dict[str, Any], most: int) -> dict[str, int]:
    """How many elements the lists of each variable have. Raises Refused for more values than any request needs: each is
    coerced, at some microseconds."""
    found: dict[str, int] = {}
    values = 0
    for name, variable in variables.items():
        elements = 0
        waiting: list[Iterable[Any]] = [(variable,)]
        while waiting:
            for value in waiting.pop():
                values += 1
                if values > most:
                    raise refused(VARIABLES_LIMIT, f"variables: at most {most:,} values.")
                if isinstance(value, dict):
                    waiting.append(value.values())
                elif isinstance(value, list):
                    elements += len(value)
                    waiting.append(value)
        found[name] = elements
    return found


@lru_cache(1024)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _graphiql_page(opening: str) -> bytes:
    page = _GRAPHIQL.joinpath("page.html").read_text(encoding="utf-8")
    return page.replace(_OPENING, escape(opening)).encode()


def _graphiql_file(name: str) -> tuple[bytes, str]:
    """A file of the page, and its content type. Raises NotFound."""
    content_type = _CONTENT_TYPES.get(name)
    if content_type is None:
        raise NotFound(f"GraphiQL has no file {name!r}")
    return _GRAPHIQL.joinpath(name).read_bytes(), content_type
