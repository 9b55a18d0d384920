"""The routes: requests, GraphiQL, and what a token allows."""

from __future__ import annotations

import asyncio
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from sortkey.graphql.endpoint import GraphQLEndpoint, graphql_routes
from sortkey.server import tokens
from sortkey.server.app import app_of
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import Tokens
from tests.graphql.bookshop import SCHEMA, SIZES, Shop, endpoint
from tests.server.calling import Answer, call

TITLE = {"query": "{ book { title } }"}
ADD = {"query": "mutation($ids: [String!]!) { add(ids: $ids) { id } }", "variables": {"ids": ["7"]}}


class Books:
    name = "books"

    @property
    def routes(self) -> list[Any]:
        return graphql_routes(endpoint())


def served(known: Tokens | None = None) -> Middleware:
    books: Any = Books()
    return app_of([books], tokens=known)


def post(body: object, path: str = "/graphql", **headers: str) -> Answer:
    return asyncio.run(call(served(), "POST", path, body, **headers))


# The second is Litestar's general path.
@pytest.mark.parametrize("path", ["/graphql", "/graphql/"])
def test_an_operation_is_answered_with_json(path: str) -> None:
    answer = post(TITLE, path)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.body == b'{"data":{"book":{"title":"A title"}}}'


def test_an_operation_that_is_refused_is_answered_with_200_and_errors() -> None:
    answer = post({"query": "{ nothing }"})
    assert answer.status == 200
    assert answer.json()["errors"][0]["extensions"] == {"code": "GRAPHQL_VALIDATION_FAILED"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([TITLE, TITLE], "send one operation at a time: lists of operations are not executed"),
        ([], "send one operation at a time: lists of operations are not executed"),
        ({"query": 3}, "query: Expected `str | null`, got `int`"),
        ({"query": "{ a }", "variables": []}, "variables: Expected `object | null`, got `array`"),
        ({"query": "{ a }", "extensions": "x"}, "extensions: Expected `object | null`, got `str`"),
        (b"{", "The body is not JSON"),
        (b'{"variables": {"a": ' + b"[" * 5000, "The body is nested too deeply: at most 256 levels."),
    ],
    ids=range(7),
)
def test_a_body_that_is_no_request_is_answered_with_400(body: Any, message: str) -> None:
    answer = post(body)
    assert answer.status == 400
    assert answer.error["message"].startswith(message)


def test_a_page_of_another_site_cannot_send_operations() -> None:
    assert post(ADD, host="localhost:8080", origin="http://evil.test").status == 403
    assert post(ADD, content_type="text/plain").status == 415


def test_a_mutation_takes_the_write_scope(tmp_path: Path) -> None:
    reader, read_entry = tokens.create("reader", ["books:read"])
    writer, write_entry = tokens.create("writer", ["books:read", "books:write"])
    file = tmp_path / "tokens.toml"
    file.write_text(read_entry + write_entry)
    file.chmod(0o600)
    known = tokens.load(file, ["books"])

    def sent(body: object, token: str | None) -> int:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return asyncio.run(call(served(known), "POST", "/graphql", body, **headers)).status

    assert [sent(TITLE, token) for token in (None, reader, writer)] == [401, 200, 200]
    assert [sent(ADD, token) for token in (None, reader, writer)] == [401, 403, 200]
    # GraphiQL itself shows nothing; its requests have the token that is typed there.
    assert asyncio.run(call(served(known), "GET", "/graphql", accept="text/html")).status == 200


def test_graphiql_comes_from_the_package() -> None:
    async def load() -> None:
        middleware = served()
        page = await call(middleware, "GET", "/graphql", accept="text/html")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert page.headers["content-security-policy"].startswith("default-src 'self';")
        text = page.body.decode()
        files = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', text)
        assert len(files) == 5
        assert "//" not in re.sub(r"<!doctype[^>]*>", "", text)
        for file in files:
            answer = await call(middleware, "GET", f"/{file}")
            assert (answer.status, len(answer.body) > 100) == (200, True)
            assert answer.headers["content-type"] in ("text/css; charset=utf-8", "text/javascript; charset=utf-8")

    asyncio.run(load())


# The page's policy allows no script in it, so the query is in an attribute.
def test_graphiql_opens_with_the_query_of_the_service() -> None:
    opening = "query Opening { book(number: \"1\") { title } } # <b> & 'more'"

    class Opened:
        name = "books"
        routes = graphql_routes(GraphQLEndpoint(SCHEMA, Shop(), SIZES, opening=opening))

    books: Any = Opened()
    page = asyncio.run(call(app_of([books]), "GET", "/graphql", accept="text/html")).body.decode()
    found = re.search(r'<div id="graphiql" data-opening="([^"<>]*)">', page)
    assert found is not None
    assert unescape(found[1]) == opening
    plain = asyncio.run(call(served(), "GET", "/graphql", accept="text/html")).body.decode()
    assert '<div id="graphiql" data-opening="">' in plain


# Some clients send queries by GET; a page would only confuse them.
def test_a_program_is_told_to_use_post() -> None:
    answer = asyncio.run(call(served(), "GET", "/graphql?query=%7Bbook%7Bid%7D%7D", accept="application/json"))
    assert (answer.status, answer.error["message"]) == (400, "send operations by POST; GET shows GraphiQL, to browsers")
    assert asyncio.run(call(served(), "GET", "/graphql", accept="*/*")).status == 200


@pytest.mark.parametrize("name", ["LICENSE.react", "page.html", "..%2Fendpoint.py", "nothing.js"])
def test_nothing_else_is_served(name: str) -> None:
    answer = asyncio.run(call(served(), "GET", f"/graphql/{name}"))
    assert answer.status == 404


def test_the_endpoint_is_documented() -> None:
    document = json.loads(asyncio.run(call(served(), "GET", "/openapi.json")).body)
    assert list(document["paths"]["/graphql"]) == ["post"]
    answer = document["paths"]["/graphql"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/GraphQLAnswer"}
