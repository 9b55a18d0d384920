"""An answer in its two forms: JSON text for the wire, dictionaries for callers in the process.

The `Json` leaves of an answer hold text as it is stored. `to_json` splices that text in; `to_dict` parses it.
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
    """The answer as DynamoDB JSON, with every leaf parsed. Binary stays base64 text unless `parse` decodes it."""
    return {name: _parse_leaves(value, parse) for name, value in answer.items()}


def _parse_leaves(value: Any, parse: Parse) -> Any:
    if type(value) is Json:
        return parse(value)
    if type(value) is dict:
        return {name: _parse_leaves(member, parse) for name, member in value.items()}
    if type(value) is list:
        return [_parse_leaves(element, parse) for element in value]
    return value
