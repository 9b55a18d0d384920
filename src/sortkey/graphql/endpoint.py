"""A service's GraphQL endpoint: `POST /graphql` executes operations, `GET /graphql` shows GraphiQL to browsers.

GraphiQL is served from the package: its page loads nothing from other hosts. `tools/graphiql.sh` fetches its files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
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

from sortkey.graphql.cost import PageSizes, check_cost
from sortkey.graphql.documents import Documents
from sortkey.graphql.errors import BAD_REQUEST, ErrorAnswer, Refused, error_answer, refused
from sortkey.graphql.settings import GraphQLSettings
from sortkey.services.interface import BadRequest, Caller, NotFound

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
    """Executes requests on one schema. `context` is what its resolvers see."""

    def __init__(
        self,
        schema: GraphQLSchema,
        context: Any,
        sizes: PageSizes,
        settings: GraphQLSettings = DEFAULTS,
    ) -> None:
        self._context = context
        self._limits = settings.limits
        self._introspection = settings.introspection
        self._documents = Documents(schema, sizes, self._limits)

    async def answer(self, request: GraphQLRequest, caller: Caller) -> GraphQLAnswer:
        """Raises what `caller` raises if a mutation's token may not write."""
        try:
            return answer_of(await self._execute(request, caller))
        except Refused as error:
            return GraphQLAnswer(errors=error.errors)

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
        _check_variables(raw, self._limits.variable_values)
        variables = operation.coerced(raw)
        if isinstance(variables, list):
            raise Refused([error_answer(error) for error in variables])
        check_cost(known.cost, variables, self._limits)
        return await operation.execute(self._context, raw, variables)

    def _check_introspection(self, caller: Caller) -> None:
        if self._introspection == "always" or (self._introspection == "loopback" and _is_loopback(caller.address)):
            return
        raise refused(INTROSPECTION_DISABLED, "Introspection is disabled here; docs/guides/graphql.md has the schema.")


def graphql_routes(endpoint: GraphQLEndpoint) -> list[ControllerRouterHandler]:
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
        return Response(_graphiql_page(), headers={"content-security-policy": _POLICY})

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


def _check_variables(variables: dict[str, Any], most: int) -> None:
    """Raises Refused for more values than any request needs: each is coerced, at some microseconds."""
    values = 0
    waiting: list[Iterable[Any]] = [variables.values()]
    while waiting:
        for value in waiting.pop():
            values += 1
            if values > most:
                raise refused(VARIABLES_LIMIT, f"variables: at most {most:,} values.")
            if isinstance(value, dict):
                waiting.append(value.values())
            elif isinstance(value, list):
                waiting.append(value)


@lru_cache(1024)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _graphiql_page() -> bytes:
    return _GRAPHIQL.joinpath("page.html").read_bytes()


def _graphiql_file(name: str) -> tuple[bytes, str]:
    """A file of the page, and its content type. Raises NotFound."""
    content_type = _CONTENT_TYPES.get(name)
    if content_type is None:
        raise NotFound(f"GraphiQL has no file {name!r}")
    return _GRAPHIQL.joinpath(name).read_bytes(), content_type
