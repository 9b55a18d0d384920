"""Fences in stores that know none: rows in the table `sortkey-fences`, at which clients look before they write.

Sortkey's own engine checks its fences in the transaction of each write. For DynamoDB and other endpoints, the client of
a session looks at one row: twice a minute at most, and ten times a second while the row says that a fence is to come.
So whoever raises a fence announces it, waits until every client has looked (`LOOK_SECONDS`), raises it, and waits once
more (`WATCH_SECONDS`). Clients that are not those of sessions do not look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final, NoReturn

import msgspec

from sortkey.client.errors import client_error
from sortkey.clock import monotonic
from sortkey.errors import DynamoDBError, TableFencedException, TableMovedException

FENCES: Final = "sortkey-fences"
FENCES_KEY: Final = "store"
LOOK: Final[Mapping[str, Any]] = {
    "TableName": FENCES,
    "Key": {FENCES_KEY: {"S": "fences"}},
    "ConsistentRead": True,
}
"""The members of the GetItem."""
LOOK_SECONDS: Final = 30.0
WATCH_SECONDS: Final = 0.1

WRITES: Final = frozenset(
    {
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "BatchWriteItem",
        "TransactWriteItems",
        "ExecuteStatement",
        "BatchExecuteStatement",
        "ExecuteTransaction",
    }
)
_ACTIONS: Final = ("Put", "Update", "Delete")


class FenceRow(msgspec.Struct, omit_defaults=True):
    """What the row says; times are seconds of the epoch."""

    watch_until: float = 0.0
    until: dict[str, float] = {}
    """The tables that take no writes until then."""
    moved: dict[str, str] = {}
    """The tables that take none, and where they are."""


class FenceWatch:
    """What a client has last seen."""

    def __init__(self) -> None:
        self._row = FenceRow()
        self._next_look = 0.0

    @property
    def is_due(self) -> bool:
        return monotonic() >= self._next_look

    def seen(self, answer: Mapping[str, Any] | None) -> None:
        """Learn from the answer to a look; None if it failed, as it does where there is no such table."""
        state = {} if answer is None else answer.get("Item", {}).get("state", {})
        self._row = msgspec.json.decode(state["S"], type=FenceRow) if "S" in state else FenceRow()
        is_near = self._row.watch_until > _now()
        self._next_look = monotonic() + (WATCH_SECONDS if is_near else LOOK_SECONDS)

    def check(self, operation: str, members: dict[str, Any]) -> None:
        """Raises the error of a write to a fenced table."""
        row = self._row
        if not (row.until or row.moved):
            return
        for table in _tables(operation, members):
            name = table.rpartition("/")[2]
            if name in row.moved:
                moved = TableMovedException(f"Nothing was written: table {name} has {row.moved[name]}")
                _raise(operation, members, moved)
            if row.until.get(name, 0.0) > _now():
                text = f"Nothing was written: table {name} is fenced for a moment; try again"
                _raise(operation, members, TableFencedException(text))


def _raise(operation: str, members: dict[str, Any], error: TableFencedException | TableMovedException) -> NoReturn:
    raise client_error(operation, members, error)


def _tables(operation: str, members: Mapping[str, Any]) -> Iterator[str]:
    if "TableName" in members:
        yield members["TableName"]
    elif operation == "BatchWriteItem":
        yield from members.get("RequestItems", ())
    elif operation == "TransactWriteItems":
        for action in members.get("TransactItems", ()):
            yield from (action[kind]["TableName"] for kind in _ACTIONS if kind in action)
    else:
        statements = members.get("Statements") or members.get("TransactStatements") or [members]
        for statement in statements:
            yield from _written_by(statement.get("Statement", ""))


def _written_by(text: str) -> Iterator[str]:
    try:
        # Few programs send statements, and expressions take long to import.
        statement = import_module("sortkey.expressions.partiql_parser").parse_statement(text)
    except DynamoDBError:
        # The store says what is wrong with it.
        return
    if statement.writes:
        yield statement.table


def _now() -> float:
    return datetime.now(UTC).timestamp()
