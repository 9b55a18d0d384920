"""The rows of requests with an `Idempotency-Key`: what `idempotency.py` writes, and the console shows."""

from __future__ import annotations

from datetime import datetime

import msgspec

from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.services.operation import REQUESTS


class KeptRequest(Item, table=REQUESTS):
    """A request with a key, and its answer as soon as there is one."""

    request: str
    """The hash of caller, method, path and key."""
    content: str
    """The hash of the query string and the body."""
    operation: str
    """The same for all attempts."""
    owner: str
    """The attempt that runs, or that has answered; nobody's after an error."""
    counter: int = 0
    """Grows with every renewal and attempt."""
    attempts: int = 1
    expires: datetime
    status: int | None = None
    """Of the answer; None until there is one."""
    headers: list[list[str]] = msgspec.field(default_factory=list)
    body: bytes = b""
    parts: int = 0
    """In which the body is kept, if it is long."""

    key = Key("REQUEST#{request}", "REQUEST")


class AnswerPart(Item, table=REQUESTS):
    request: str
    owner: str
    number: int
    body: bytes
    expires: datetime

    key = Key("REQUEST#{request}", "PART#{owner}#{number}")
