"""A table of dishes whose tastes are searched, and an exact model of SearchVectors in plain Python."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Any, Final

from tests.engine.conftest import Call
from tests.engine.operations.table_shapes import ALL, Shape, attributes, key_schema

Item = dict[str, dict[str, Any]]

DIMENSIONS: Final = 3


def vector_index(name: str = "by_taste", *schema: tuple[str, str], **members: Any) -> Shape:
    """An index of `taste`; the schema has pairs of an attribute and its role."""
    shape: Shape = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "taste"},
        "Projection": ALL,
        "Dimensions": DIMENSIONS,
        "DistanceFunction": "COSINE",
    }
    if schema:
        shape["SearchSchema"] = [
            {"AttributeName": attribute, "SearchSchemaElementType": role} for attribute, role in schema
        ]
    return shape | members


def create_dishes(call: Call, *indexes: Shape, **types: str) -> Shape:
    """The table; `types` are those of the attributes of search schemas."""
    made = call(
        "CreateTable",
        TableName="dishes",
        KeySchema=key_schema("id"),
        AttributeDefinitions=attributes(id="S", **types),
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=list(indexes),
    )
    shown: Shape = made["TableDescription"]
    return shown


def numbers(*values: float) -> list[Shape]:
    return [{"N": repr(value)} for value in values]


def vector(*values: float) -> Shape:
    return {"L": numbers(*values)}


def dish(name: str, *taste: float, **others: Any) -> Item:
    return {"id": {"S": name}, **({"taste": vector(*taste)} if taste else {}), **others}


def put(call: Call, *dishes: Item) -> None:
    for each in dishes:
        call("PutItem", TableName="dishes", Item=each)


def search(call: Call, *wanted: float, top: int = 10, **members: Any) -> list[tuple[str, float]]:
    """The names and scores that SearchVectors finds."""
    found = call(
        "SearchVectors",
        **{"TableName": "dishes", "IndexName": "by_taste", "SearchVector": numbers(*wanted), "TopK": top} | members,
    )
    return [(each["Item"]["id"]["S"], each["Score"]) for each in found["SearchResults"]]


def names(found: Iterable[tuple[str, float]]) -> list[str]:
    return [name for name, _ in found]


def single(values: Iterable[Any]) -> list[float]:
    """Numbers as 32-bit floating point numbers."""
    return [struct.unpack("<f", struct.pack("<f", float(value)))[0] for value in values]


def distance(function: str, wanted: Sequence[float], stored: Sequence[float]) -> float:
    """The score, as AWS defines it."""
    product = sum(a * b for a, b in zip(wanted, stored, strict=True))
    if function == "DOT_PRODUCT":
        return product
    if function == "EUCLIDEAN":
        return sqrt(sum((a - b) ** 2 for a, b in zip(wanted, stored, strict=True)))
    lengths = sqrt(sum(a * a for a in wanted)) * sqrt(sum(b * b for b in stored))
    return 1.0 if not lengths else 1.0 - product / lengths


def brute_force(items: Iterable[Item], function: str, wanted: Sequence[float], top: int) -> list[float]:
    """The best scores of items that have a vector, the best first."""
    found = [
        distance(function, single(wanted), single(element["N"] for element in item["taste"]["L"]))
        for item in items
        if "taste" in item
    ]
    return sorted(found, reverse=function == "DOT_PRODUCT")[:top]
