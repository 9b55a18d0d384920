"""What a usual request gives, and what shows that a request is not of this kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.engine import requests
from sortkey.engine.core import Answer
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValidationException)
"""What reading a request raises that has another member, type or length than the usual ones, or a name of no table."""


NOTHING: Final = b"{}"


class FastAnswer(NamedTuple):
    text: bytes
    """The answer's JSON."""
    units: dict[str, float]
    """Capacity units by table; nobody has to be told, but everything is counted."""


FastWork = Callable[[WriteBatch], FastAnswer | Answer]
"""What is left of a usual write for the writer's transaction. It may find the table unusual after all, and then gives
what the operation gives, consumed capacity included.
"""


def metered(operation: str, body: bytes) -> Any:
    """The request for the operation, which shall say what it consumed."""
    request: Any = requests.decode(operation, body)
    request.return_consumed_capacity = "TOTAL"
    return request
