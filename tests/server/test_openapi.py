"""The routes in `GET /openapi.json`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from sortkey.server.tokens import KnownTokens
from tests.server.calling import call
from tests.server.conftest import notes_in_memory

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


def described(**settings: Any) -> dict[str, Any]:
    async def asked() -> Any:
        async with notes_in_memory() as (_, app):
            answer = await call(app(**settings), "GET", "/openapi.json")
            assert answer.headers["content-type"] == "application/json"
            return answer.json()

    document: dict[str, Any] = asyncio.run(asked())
    return document


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return described()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield method, path, item[method]


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


# The rules of OpenAPI 3.1 that generators of clients trip over.
def test_it_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert {"title", "version"} <= document["info"].keys()
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    for _, path, operation in operations(document):
        declared = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        assert declared == set(re.findall(r"{(\w+)}", path))
        assert all(each["required"] for each in operation.get("parameters", ()) if each["in"] == "path")
        assert operation["responses"]
        assert all("description" in response for response in operation["responses"].values())
    for reference in references(document):
        _, section, name = reference.removeprefix("#").strip("/").split("/")
        assert name in document["components"][section], reference


# A fast route is documented by the same types as any other.
def test_fast_routes_are_described(document: dict[str, Any]) -> None:
    fast, slow = (document["paths"][f"/notes/{{shelf}}/{name}"]["post"] for name in ("search", "slow-search"))
    assert fast["requestBody"] == slow["requestBody"]
    assert fast["responses"]["200"] == slow["responses"]["200"]
    assert fast["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Search"}
    assert document["components"]["schemas"]["Search"]["properties"]["names"]["maxItems"] == 100


def test_every_route_can_fail_in_our_shape_only(document: dict[str, Any]) -> None:
    for _, _, operation in operations(document):
        assert all(status < "4" or status == "default" for status in operation["responses"])
        schema = operation["responses"]["default"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/Error"}


def test_the_servers_own_routes_are_described(document: dict[str, Any]) -> None:
    assert {"/health", "/metrics"} <= document["paths"].keys()


def test_routes_that_need_a_token_are_marked() -> None:
    document = described(tokens=KnownTokens([]))
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    secured = {path: "security" in operation for _, path, operation in operations(document)}
    assert secured.pop("/health") is False
    assert secured.pop("/metrics") is False
    assert all(secured.values())


def test_without_tokens_no_route_is_marked(document: dict[str, Any]) -> None:
    assert "securitySchemes" not in document["components"]
    assert not any("security" in operation for _, _, operation in operations(document))
