"""Items in FastAPI and pydantic: as answers, as bodies, inside models, and in the description."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import httpx
import msgspec
import pydantic
import pytest
from fastapi import Body, FastAPI

import sortkey as sk
from tests.model.typed_values import Circle, Rank, Square


class Line(sk.Item):
    product: str
    amount: Decimal


class Sale(sk.Item, table="pydantic-sales"):
    customer: str
    number: Annotated[int, msgspec.Meta(ge=1)]
    at: datetime
    lines: list[Line] = sk.field(default_factory=list)
    shape: Circle | Square | None = None
    rank: Rank | None = None
    tags: set[str] = sk.field(default_factory=set)

    key = sk.Key("CUSTOMER#{customer}", "SALE#{number:06}")


class Ranked(sk.Item):
    rank: Rank = Rank(1)


class Branch(sk.Item):
    name: str
    parts: list[Branch] = sk.field(default_factory=list)


NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
SALE = Sale(
    customer="ada", number=1, at=NOON, lines=[Line(product="P1", amount=Decimal("9.90"))], shape=Circle(2), rank=Rank(1)
)
JSON = {
    "customer": "ada",
    "number": 1,
    "at": "2026-08-24T12:00:00Z",
    "lines": [{"product": "P1", "amount": "9.90"}],
    "shape": {"type": "Circle", "radius": 2},
    "rank": 1,
    "tags": [],
}

app = FastAPI()


@app.get("/sale")
def one() -> Sale:
    return SALE


@app.get("/sales")
def several() -> list[Sale]:
    return [SALE, SALE]


@app.post("/sales")
def receive(sale: Annotated[Sale, Body()]) -> dict[str, Any]:
    return {"equal": sale == SALE}


@app.get("/branch")
def branch() -> Branch:
    return Branch(name="a", parts=[Branch(name="b")])


@app.get("/ranked")
def ranked() -> Ranked:
    return Ranked()


def request(method: str, path: str, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


def test_an_item_is_an_answer() -> None:
    assert request("GET", "/sale").json() == JSON
    assert request("GET", "/sales").json() == [JSON, JSON]
    assert request("GET", "/branch").json() == {"name": "a", "parts": [{"name": "b", "parts": []}]}


def test_an_item_is_a_body() -> None:
    assert request("POST", "/sales", json=JSON).json() == {"equal": True}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": "x"}, "Expected `int`, got `str` - at `$.number`"),
        ({"number": 0}, "Expected `int` >= 1 - at `$.number`"),
        ({"lines": [{}]}, "Object missing required field `product` - at `$.lines[0]`"),
        ({"shape": {"type": "Star"}}, "Invalid value 'Star' - at `$.shape.type`"),
    ],
)
def test_a_wrong_body_is_an_error_of_the_caller(changes: dict[str, Any], message: str) -> None:
    answer = request("POST", "/sales", json={**JSON, **changes})
    assert answer.status_code == 422
    assert message in answer.json()["detail"][0]["msg"]


def test_the_description_has_the_fields() -> None:
    paths = request("GET", "/openapi.json").json()["paths"]
    sale = paths["/sale"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert sale["required"] == ["customer", "number", "at"]
    assert sale["properties"]["number"] == {"type": "integer", "minimum": 1}
    assert sale["properties"]["lines"]["items"]["properties"]["amount"] == {"type": "string", "format": "decimal"}
    assert sale["properties"]["rank"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    body = paths["/sales"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"] == sale["properties"]
    inner = paths["/branch"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert inner["properties"]["parts"]["items"] == {"type": "object", "title": "Branch"}


# msgspec cannot describe such a default, and the rest of the description must not fail for it.
def test_a_default_with_a_codec_is_described_as_an_object() -> None:
    answer = request("GET", "/openapi.json").json()["paths"]["/ranked"]["get"]["responses"]["200"]
    schema = answer["content"]["application/json"]["schema"]
    assert schema["type"] == "object"
    assert "properties" not in schema
    assert request("GET", "/ranked").json() == {"rank": 1}


def test_an_item_is_a_field_of_a_model() -> None:
    class Receipt(pydantic.BaseModel):
        sale: Sale

    receipt = Receipt.model_validate({"sale": JSON})
    assert receipt.sale == SALE
    assert receipt.model_dump(mode="json") == {"sale": JSON}
    with pytest.raises(pydantic.ValidationError, match="missing required field"):
        Receipt.model_validate({"sale": {}})
