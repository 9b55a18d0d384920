"""Requests that fill the caches of compiled expressions.

Those are bounded, but mutated texts fill them only after some hundred thousand cases: until then memory grows, and a
leak would not be seen. So they are full before the first case, with texts of the length that mutated ones have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sortkey.expressions.compilation import CACHED_LONG_TEXTS, CACHED_TEXTS
from tests.faults.fuzz.corpus import KEY, Call

SHORT: Final = 5
LONG: Final = 120
"""Terms of a text."""
VALUES: Final = {"ExpressionAttributeValues": {":v": {"S": "x"}}}


def fill_caches(call: Call) -> None:
    """Every answer is good: a text is compiled before its request is rejected for its content."""
    for operation, members in requests():
        call(operation, members)


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    for count, terms in ((CACHED_TEXTS, SHORT), (CACHED_LONG_TEXTS, LONG)):
        for number in range(count):
            for make in (_condition, _key_condition, _update, _projection, _statement):
                yield make([f"a{number}x{term}" for term in range(terms)])


def _condition(names: list[str]) -> tuple[str, dict[str, Any]]:
    text = " OR ".join(f"{name} = :v" for name in names)
    return "DeleteItem", {"TableName": "orders", "Key": KEY, "ConditionExpression": text, **VALUES}


def _key_condition(names: list[str]) -> tuple[str, dict[str, Any]]:
    # Not "=": such conditions are compiled only if they are long.
    text = " AND ".join(f"{name} BETWEEN :v AND :v" for name in names)
    return "Query", {"TableName": "orders", "KeyConditionExpression": text, **VALUES}


def _update(names: list[str]) -> tuple[str, dict[str, Any]]:
    text = f"SET city = :v REMOVE {', '.join(names)}"
    return "UpdateItem", {"TableName": "orders", "Key": KEY, "UpdateExpression": text, **VALUES}


def _projection(names: list[str]) -> tuple[str, dict[str, Any]]:
    return "GetItem", {"TableName": "orders", "Key": KEY, "ProjectionExpression": ", ".join(names)}


def _statement(names: list[str]) -> tuple[str, dict[str, Any]]:
    # What is compiled of a statement is kept with it.
    where = " OR ".join(f"{name} = 'x'" for name in names)
    return "ExecuteStatement", {"Statement": f"SELECT * FROM orders WHERE {where}", "Limit": 1}
