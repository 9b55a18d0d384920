"""Query parameters of every route of every service, by the services' own description: one that a route does not have is
an error that names it, so that a misspelt filter never lists everything."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.boosts.service_definition import BOOSTS
from sortkey_services.favourites.service_definition import FAVOURITES
from sortkey_services.goals.service_definition import GOALS
from sortkey_services.pricing.service_definition import PRICING
from sortkey_services.social.service_definition import SOCIAL
from tests.server.calling import Answer, call

SERVICES = (BOOSTS, FAVOURITES, GOALS, PRICING, SOCIAL)
METHODS = ("get", "put", "post", "patch", "delete")
UNKNOWN = "nonsense-2026"
OF_THE_SERVER = {"GET /health", "GET /metrics"}
"""Balancers and Prometheus add parameters of their own."""
QUERIES = ("{unknown}=1", "{unknown}=", "{unknown}", "{known}&{unknown}=1")


def routes(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def known_query(route: dict[str, Any]) -> str:
    names = [each["name"] for each in route.get("parameters", ()) if each["in"] == "query"]
    return "&".join(f"{name}=1" for name in names) or UNKNOWN


async def answers() -> dict[str, Answer]:
    """Of each route, to each query."""
    tables = [table for each in SERVICES for table in each.tables({})]
    async with sk.async_connect("memory:", tables=tables) as session:
        services = [each.make(session, {}) for each in SERVICES]
        for service in services:
            await service.start()
        app = app_of(services)
        document = (await call(app, "GET", "/openapi.json")).json()
        found: dict[str, Answer] = {}
        for method, path, route in routes(document):
            body: dict[str, Any] | None = {} if "requestBody" in route else None
            for query in QUERIES:
                asked = query.format(known=known_query(route), unknown=UNKNOWN)
                filled = re.sub("{[^}]*}", "1", path)
                found[f"{method} {path}?{query}"] = await call(app, method, f"{filled}?{asked}", body)
        return found


@pytest.mark.slow
def test_every_route_names_a_parameter_that_it_does_not_have() -> None:
    found = asyncio.run(answers())
    for service in SERVICES:
        assert any(f" /{service.name}/" in route for route in found), service.name
    wrong = {
        route: (answer.status, answer.body[:200])
        for route, answer in found.items()
        if answer.status != 400 or f"There is no query parameter {UNKNOWN!r}" not in answer.error["message"]
    }
    assert {route: status for route, (status, _) in wrong.items()} == {
        f"{route}?{query}": 200 for route in OF_THE_SERVER for query in QUERIES
    }, wrong
