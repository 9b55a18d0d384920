"""Members of CreateTable and UpdateTable, from short descriptions."""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]

UNITS: Shape = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
ALL: Shape = {"ProjectionType": "ALL"}
INVALID = "One or more parameter values were invalid: "


def attributes(**types: str) -> list[Shape]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def key_schema(partition: str, sort: str | None = None) -> list[Shape]:
    schema = [{"AttributeName": partition, "KeyType": "HASH"}]
    return schema if sort is None else [*schema, {"AttributeName": sort, "KeyType": "RANGE"}]


def table(name: str = "orders", **members: Any) -> Shape:
    """An on-demand table with a partition and a sort key. Given members replace these; None removes one."""
    shape = {
        "TableName": name,
        "KeySchema": key_schema("p", "s"),
        "AttributeDefinitions": attributes(p="S", s="N"),
        "BillingMode": "PAY_PER_REQUEST",
    } | members
    return {member: value for member, value in shape.items() if value is not None}


def provisioned(name: str = "orders", **members: Any) -> Shape:
    return table(name, **{"BillingMode": None, "ProvisionedThroughput": UNITS} | members)


def index(name: str = "by_g", partition: str = "g", sort: str | None = None, **members: Any) -> Shape:
    return {"IndexName": name, "KeySchema": key_schema(partition, sort), "Projection": ALL} | members


def local_index(name: str = "by_t", partition: str = "p", sort: str | None = "g", **members: Any) -> Shape:
    return index(name, partition, sort, **members)
