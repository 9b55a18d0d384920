"""Answers in the two forms that callers want: JSON text for the wire, plain objects in the process.

In both, `stored.Json` leaves hold text as it lies in the store. The wire splices it; objects are parsed from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from sortkey.engine.core import Answer
from sortkey.engine.rows.stored_item import Json

Parse = Callable[[Json], Any]


def to_json(answer: Answer) -> bytes:
    """The answer as DynamoDB JSON text."""
    return orjson.dumps(answer, default=_splice)


def _splice(leaf: Any) -> orjson.Fragment:
    if isinstance(leaf, Json):
        return orjson.Fragment(leaf.text)
    raise TypeError(f"an answer cannot hold {type(leaf).__name__}")


def _parse(leaf: Json) -> Any:
    return orjson.loads(leaf.text)


def to_dict(answer: Answer, parse: Parse = _parse) -> dict[str, Any]:
    """The answer with every leaf parsed; binary stays base64 text unless `parse` does more."""
    return {name: _plain(value, parse) for name, value in answer.items()}


def _plain(value: Any, parse: Parse) -> Any:
    if type(value) is Json:
        return parse(value)
    if type(value) is dict:
        return {name: _plain(member, parse) for name, member in value.items()}
    if type(value) is list:
        return [_plain(element, parse) for element in value]
    return value
