"""Pages as answers of FastAPI and Litestar: their JSON, and how it is described."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import litestar
import msgspec
import pytest
from fastapi import FastAPI
from litestar.params import FromQuery
from litestar.testing import TestClient

import sortkey as sk

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


class Delivery(sk.Item, table="delivered-pages"):
    customer: str
    number: int
    at: datetime = NOON

    key = sk.Key("CUSTOMER#{customer}", "DELIVERY#{number:06}")


@pytest.fixture
def db() -> Iterator[sk.Session]:
    with sk.testing.local(Delivery) as session:
        session.batch(put=[Delivery(customer="ada", number=number) for number in range(3)])
        yield session


def expected(page: sk.Page[Delivery]) -> dict[str, Any]:
    return {
        "items": [{"customer": "ada", "number": each.number, "at": "2026-08-24T12:00:00Z"} for each in page],
        "has_next": page.has_next,
        "has_previous": page.has_previous,
        "start_cursor": page.start_cursor,
        "end_cursor": page.end_cursor,
    }


def test_a_page_is_an_answer_of_fastapi(db: sk.Session) -> None:
    app = FastAPI()

    @app.get("/deliveries")
    def deliveries(after: str | None = None) -> sk.Page[Delivery]:
        return db.page(Delivery.key(customer="ada"), first=2, after=after)

    async def play() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
            first = (await client.get("/deliveries")).json()
            assert first == expected(db.page(Delivery.key(customer="ada"), first=2))
            second = (await client.get(f"/deliveries?after={first['end_cursor']}")).json()
            assert ([each["number"] for each in second["items"]], second["has_next"]) == ([2], False)
            described = (await client.get("/openapi.json")).json()
            found = described["paths"]["/deliveries"]["get"]["responses"]["200"]["content"]["application/json"]
            check_description(resolved(found["schema"], described))

    asyncio.run(play())


def test_a_page_is_an_answer_of_litestar(db: sk.Session) -> None:
    @litestar.get("/deliveries", sync_to_thread=False)
    def deliveries(after: FromQuery[str | None] = None) -> sk.Page[Delivery]:
        return db.page(Delivery.key(customer="ada"), first=2, after=after)

    with TestClient(litestar.Litestar([deliveries])) as client:
        first = client.get("/deliveries").json()
        assert first == expected(db.page(Delivery.key(customer="ada"), first=2))
        second = client.get(f"/deliveries?after={first['end_cursor']}").json()
        assert ([each["number"] for each in second["items"]], second["has_next"]) == ([2], False)
        described = client.get("/schema/openapi.json").json()
        found = described["paths"]["/deliveries"]["get"]["responses"]["200"]["content"]["application/json"]
        check_description(resolved(found["schema"], described))


def resolved(schema: Any, described: dict[str, Any]) -> Any:
    """The schema without references."""
    if isinstance(schema, list):
        return [resolved(each, described) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name:
        return resolved(described["components"]["schemas"][name], described)
    return {key: resolved(each, described) for key, each in schema.items()}


def check_description(schema: dict[str, Any]) -> None:
    names = ["end_cursor", "has_next", "has_previous", "items", "start_cursor"]
    assert (sorted(schema["properties"]), sorted(schema["required"])) == (names, names)
    assert {*schema["properties"]["items"]["items"]["properties"]} == {"customer", "number", "at"}
    assert schema["properties"]["has_next"]["type"] == "boolean"
    cursor = schema["properties"]["end_cursor"]
    assert {each["type"] for each in cursor.get("anyOf") or cursor["oneOf"]} == {"string", "null"}


def test_msgspec_writes_a_page(db: sk.Session) -> None:
    empty = db.page(Delivery.key(customer="bob"))
    assert msgspec.json.decode(msgspec.json.encode(empty)) == {
        "items": [],
        "has_next": False,
        "has_previous": False,
        "start_cursor": None,
        "end_cursor": None,
    }
