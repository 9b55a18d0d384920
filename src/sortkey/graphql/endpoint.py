"""`POST /graphql`: a request to its answer, in GraphQL's shape."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final

import msgspec
from graphql import ExecutionResult, GraphQLSchema
from msgspec import UNSET, UnsetType

import sortkey as sk
from sortkey.graphql.cost import PageSizes, check_cost
from sortkey.graphql.documents import Documents
from sortkey.graphql.errors import BAD_REQUEST, ErrorAnswer, Refused, error_answer, refused
from sortkey.graphql.settings import GraphQLSettings

INTROSPECTION_DISABLED: Final = "INTROSPECTION_DISABLED"
VARIABLES_LIMIT: Final = "SIZE_LIMIT"
DEFAULTS: Final = GraphQLSettings()


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

    async def answer(self, request: GraphQLRequest, caller: sk.services.Caller) -> GraphQLAnswer:
        """Raises what `caller` raises if a mutation's token may not write."""
        try:
            return answer_of(await self._execute(request, caller))
        except Refused as error:
            return GraphQLAnswer(errors=error.errors)

    async def _execute(self, request: GraphQLRequest, caller: sk.services.Caller) -> ExecutionResult:
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

    def _check_introspection(self, caller: sk.services.Caller) -> None:
        if self._introspection == "always" or (self._introspection == "loopback" and _is_loopback(caller.address)):
            return
        raise refused(INTROSPECTION_DISABLED, "Introspection is disabled here; docs/guides/graphql.md has the schema.")


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
