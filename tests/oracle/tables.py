"""The tables that the families share, and a short notation for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

KEY_TYPES: Final = ("HASH", "RANGE")


def keys(*names: str) -> list[dict[str, str]]:
    """A key schema: the partition key's attribute, and optionally the sort key's."""
    return [{"AttributeName": name, "KeyType": key_type} for name, key_type in zip(names, KEY_TYPES, strict=False)]


def index(name: str, *key_names: str, include: Sequence[str] | str = "ALL") -> dict[str, Any]:
    """An index that projects everything, only its keys (KEYS_ONLY), or the attributes listed."""
    projection: dict[str, Any] = {"ProjectionType": include if isinstance(include, str) else "INCLUDE"}
    if not isinstance(include, str):
        projection["NonKeyAttributes"] = list(include)
    return {"IndexName": name, "KeySchema": keys(*key_names), "Projection": projection}


def table(
    name: str,
    *key_names: str,
    types: str = "",
    local: Sequence[dict[str, Any]] = (),
    global_: Sequence[dict[str, Any]] = (),
    **options: Any,
) -> dict[str, Any]:
    """A CreateTable request. `types` as in "pk:S n:N"; key attributes it does not name are strings."""
    declared = dict(part.split(":") for part in types.split())
    used = [each["AttributeName"] for index in (*local, *global_) for each in index["KeySchema"]]
    definition: dict[str, Any] = {
        "TableName": name,
        "KeySchema": keys(*key_names),
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": declared.get(attribute, "S")}
            for attribute in dict.fromkeys((*key_names, *used))
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if local:
        definition["LocalSecondaryIndexes"] = list(local)
    if global_:
        definition["GlobalSecondaryIndexes"] = list(global_)
    return definition | options


PLAIN: Final = table("plain", "pk")
"""A table with a partition key only, for tests in which only the item matters."""

ORDERS: Final = table(
    "orders",
    "pk",
    "sk",
    types="n:N b:B",
    local=[index("by_n", "pk", "n"), index("by_b", "pk", "b", include="KEYS_ONLY")],
    global_=[
        index("by_kind", "kind", "n"),
        index("by_city", "city", include=["note"]),
        index("by_sk", "sk", "pk", include="KEYS_ONLY"),
    ],
)
"""Every type of index: local and global, with and without a sort key, with each projection."""
