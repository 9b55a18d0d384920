"""The routes of a GraphQL endpoint: requests by POST, GraphiQL by GET."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.graphql.endpoint import GraphQLAnswer, GraphQLEndpoint, GraphQLRequest
from sortkey.graphql.graphiql_page import POLICY, page, page_file


def graphql_routes(endpoint: GraphQLEndpoint) -> list[ControllerRouterHandler]:
    @post("/graphql", status_code=200, fast=True, scope="read", summary="Execute a GraphQL operation")
    async def graphql(
        caller: NamedDependency[sk.services.Caller], data: JSONBody[GraphQLRequest | list[dict[str, Any]]]
    ) -> GraphQLAnswer:
        """The answer is 200 with `errors` if the operation is refused or fails. A mutation needs the write scope."""
        if isinstance(data, list):
            raise sk.services.BadRequest("send one operation at a time: lists of operations are not executed")
        return await endpoint.answer(data, caller)

    @get("/graphql", scope="open", include_in_schema=False, media_type="text/html")
    async def graphiql(request: Request[Any, Any, Any]) -> Response[bytes]:
        accepted = request.headers.get("accept", "*/*")
        if "text/html" not in accepted and "*/*" not in accepted:
            raise sk.services.BadRequest("send operations by POST; GET shows GraphiQL, to browsers")
        return Response(page(), headers={"content-security-policy": POLICY})

    @get("/graphql/{name:str}", scope="open", include_in_schema=False)
    async def graphiql_file(name: FromPath[str]) -> Response[bytes]:
        content, content_type = page_file(name)
        return Response(content, media_type=content_type, headers={"cache-control": "max-age=3600"})

    return [graphql, graphiql, graphiql_file]
