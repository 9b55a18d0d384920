"""Changes of existing tables: a declared index is added, one that is no longer declared is removed, or tables are
dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.model.calls.arguments import require_key
from sortkey.model.calls.create_tables import POLL, describe, table_request
from sortkey.model.calls.steps import Context, Steps, code_of
from sortkey.model.errors import TablesDiffer, Unsupported
from sortkey.model.items.key import BoundKey
from sortkey.model.items.table import Table
from sortkey.model.items.vector_index import BoundVectorIndex
from sortkey.model.maintenance.long_work import LongWork
from sortkey.model.tables import provision

_POLL: Final = 0.5


class IndexCreation(LongWork[bool]):
    """Adds a declared index to an existing table, and waits until the store has built it. The result is whether the
    index was missing."""

    def __init__(self, context: Context, index: BoundKey[Any] | BoundVectorIndex[Any]) -> None:
        self._local = False
        if not isinstance(index, BoundVectorIndex):
            require_key(index)
            self._local = index.layout.local
        if index.layout.index is None:
            raise TypeError(f"{index.name} is the primary key; expected an index, such as Order.by_day")
        self._context = context
        self._name = index.name
        self.index: str = index.layout.index
        self.table: Table = index.schema.owner.__table__
        self._was_missing = False

    @property
    def result(self) -> bool:
        return self._was_missing

    def pause(self) -> float:
        return _POLL

    def part(self) -> Steps[bool]:
        description = yield from describe(self._context, self.table.name)
        if description is None:
            raise TablesDiffer(f"table {self.table.name} does not exist; create_tables creates it with its indexes")
        if provision.has_index(description, self.index):
            self._reject_difference(description)
            return not provision.is_active(description, self.index)
        if self._local:
            raise Unsupported(f"{self._name} is a local index, which only a new table can get")
        # A store makes one change of a table at a time.
        if description["TableStatus"] == "ACTIVE":
            yield from table_request(self._context, "UpdateTable", self._request())
            self._was_missing = True
        return True

    def _request(self) -> dict[str, Any]:
        native, projections = self._context.multi_attribute_keys, self._context.capabilities.index_projections
        return provision.add_index_request(self.table, self.index, native=native, projections=projections)

    def _reject_difference(self, description: dict[str, Any]) -> None:
        native, projections = self._context.multi_attribute_keys, self._context.capabilities.index_projections
        difference = provision.index_difference(
            self.table, description, self.index, native=native, projections=projections
        )
        if difference is not None:
            raise TablesDiffer(f"table {self.table.name}: {difference}")


class IndexRemoval(LongWork[bool]):
    """Removes an index that is no longer declared, because it has a successor, and waits until the store has done so.
    The result is whether the table has it."""

    def __init__(self, context: Context, successor: BoundKey[Any], index: str) -> None:
        require_key(successor)
        table: Table = successor.schema.owner.__table__
        if index in table.indexes():
            raise ValueError(
                f"the index {index} of table {table.name} is declared, so {successor.name} cannot replace it"
            )
        self._context = context
        self._table = table.name
        self._index = index
        self._is_there = False

    @property
    def result(self) -> bool:
        return self._is_there

    def pause(self) -> float:
        return _POLL

    def look(self) -> Steps[dict[str, Any] | None]:
        """The description of the table, if it has the index."""
        description = yield from describe(self._context, self._table)
        self._is_there = description is not None and provision.has_index(description, self._index)
        return description if self._is_there else None

    def part(self) -> Steps[bool]:
        description = yield from self.look()
        # A store makes one change of a table at a time; another program may be removing the index.
        if description is not None and description["TableStatus"] == "ACTIVE":
            removal = {"Delete": {"IndexName": self._index}}
            members = {"TableName": self._table, "GlobalSecondaryIndexUpdates": [removal]}
            try:
                yield from table_request(self._context, "UpdateTable", members)
            except ClientError as error:
                if code_of(error) not in ("ResourceNotFoundException", "ResourceInUseException"):
                    raise
        return description is not None


class DroppedTable(NamedTuple):
    """A table that `drop_tables` drops."""

    name: str
    rows: int
    """As DescribeTable reports; DynamoDB counts them about every six hours."""
    table_bytes: int


def drop_tables(context: Context, tables: Sequence[Table], dry_run: bool) -> Steps[list[DroppedTable]]:
    """Those of the tables that exist."""
    found: list[DroppedTable] = []
    for table in tables:
        description = yield from describe(context, table.name)
        if description is not None:
            found.append(DroppedTable(table.name, description["ItemCount"], description["TableSizeBytes"]))
    if not dry_run:
        for dropped in found:
            yield from table_request(context, "DeleteTable", {"TableName": dropped.name})
        for dropped in found:
            while (yield from describe(context, dropped.name)) is not None:
                yield POLL
    return found
