"""What the fast operations share: their answer, the errors that end the fast path, and how a write begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.requests import table_name_of
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException

NOT_FAST: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValidationException)
"""Raised for a request that the fast path does not handle, or that is wrong; the general operation finds out which."""

EMPTY_ANSWER: Final = b"{}"


class FastAnswer(msgspec.Struct, frozen=True, gc=False):
    text: bytes
    """The answer's JSON."""
    units: dict[str, float]
    """Capacity units by table. The endpoint counts them, also those of a request that does not ask for them."""


FastWork = Callable[[WriteBatch], FastAnswer | Answer]
"""The part of a write that runs in the writer's transaction. It gives the general operation's answer, consumed capacity
included, if the table is followed by then.
"""


def compile_write(
    shape: Any,
    plan: Callable[[Core, Table, Any], FastWork | None],
    general: Callable[[Core, Any], Work],
) -> Callable[[Core, bytes], FastWork | None]:
    """The fast operation for requests of this shape.

    A request to a table that is not followed is `plan`ned. If the table is followed, the `general` operation takes the
    decoded request, so that no body is decoded twice. The table is the one last seen: the work has to look again.
    """
    decode = msgspec.json.Decoder(shape).decode

    def begin(core: Core, body: bytes) -> FastWork | None:
        try:
            request = decode(body)
            table = core.catalog.last_seen(table_name_of(request.table_name))
            if table is None:
                return None
            return general(core, request) if table.followed else plan(core, table, request)
        except NOT_FAST:
            return None

    return begin
