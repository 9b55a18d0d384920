"""What Query and Scan return of the rows that they have read: filter, projection, count and LastEvaluatedKey."""

from __future__ import annotations

from typing import Any

from sortkey.engine.answer_metrics import Consumed, is_requested
from sortkey.engine.core import Answer
from sortkey.engine.expression_parameters import projection_of
from sortkey.engine.read import Page
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.item_keys import check_key, normalise_key
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.tables.table import Index, Keyed, Table, owner_of
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, Condition, Projection
from sortkey.storage import Transaction
from sortkey.values.attribute import Item
from sortkey.values.capacity_units import read_units

_INVALID = "One or more parameter values were invalid: "
INVALID_START = "The provided starting key is invalid"


class Selection:
    """The part of a request that selects what to return. `target` checks it against the table."""

    def __init__(self, request: Any, bindings: Bindings | None, condition: Condition | None) -> None:
        self.request = request
        self.condition = condition
        self.projection: Projection | None = projection_of(request, bindings)
        self.count_only = request.select == "COUNT"
        self._check_select()

    def _check_select(self) -> None:
        select = self.request.select
        chosen = self.projection is not None
        member = "ProjectionExpression" if self.request.projection_expression is not None else "AttributesToGet"
        if select == "SPECIFIC_ATTRIBUTES" and not chosen:
            raise ValidationException(
                "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            )
        if chosen and select not in (None, "SPECIFIC_ATTRIBUTES"):
            what = "only the Count" if select == "COUNT" else select
            raise ValidationException(f"Cannot specify the {member} when choosing to get {what}")
        if select == "ALL_PROJECTED_ATTRIBUTES" and self.request.index_name is None:
            raise ValidationException(
                f"{_INVALID}ALL_PROJECTED_ATTRIBUTES can be used only when querying using an IndexName"
            )

    def target(self, table: Table) -> Keyed:
        """The table or index to read. Raises ValidationException if it cannot answer the request."""
        name = self.request.index_name
        if name is None:
            return table
        index = table.indexes.get(name)
        if index is None:
            raise ValidationException(f"The table does not have the specified index: {name}")
        if not index.entry.local:
            self._check_global(index)
        elif self.condition is not None:
            _check_filter(index, self.condition)
        return index

    def _check_global(self, index: Index) -> None:
        if self.request.consistent_read:
            raise ValidationException("Consistent reads are not supported on global secondary indexes")
        if index.entry.backfilled_to is not None:
            raise ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")
        if index.kept is None:
            return
        if self.request.select == "ALL_ATTRIBUTES":
            raise ValidationException(
                f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
                "because its projection type is not ALL"
            )
        if self.projection is not None and (missing := sorted(self.projection.attributes - index.kept)):
            raise ValidationException(
                f"{_INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
            )
        if self.condition is not None:
            _check_filter(index, self.condition)

    def answer(self, snapshot: Transaction, table: Table, target: Keyed, page: Page) -> Answer:
        rows, fetched = self._full_rows(snapshot, table, target, page.rows)
        if self.condition is not None:
            condition = self.condition
            rows = [row for row in rows if condition(stored_item.decode(row))]
        answer: Answer = {"Count": len(rows), "ScannedCount": len(page.rows)}
        if not self.count_only:
            answer["Items"] = Json.items(rows, self.projection)
        if page.more and page.rows:
            answer["LastEvaluatedKey"] = Json.of(_last_evaluated_key(table, target, stored_item.decode(page.rows[-1])))
        if is_requested(self.request.return_consumed_capacity):
            answer["ConsumedCapacity"] = self._consumed(table, target, page, fetched)
        return answer

    def _full_rows(
        self, snapshot: Transaction, table: Table, target: Keyed, rows: list[bytes]
    ) -> tuple[list[bytes], list[bytes]]:
        """Rows with all requested attributes, and the rows fetched from the table because a local index lacks some."""
        if not isinstance(target, Index) or not self._lacks(target):
            return rows, []
        fetched = []
        for row in rows:
            full = snapshot.get(table.row_prefix(stored_item.decode(row)))
            if full is not None:
                fetched.append(full)
        return fetched, fetched

    def _lacks(self, index: Index) -> bool:
        if not index.entry.local or index.kept is None:
            return False
        if self.projection is not None:
            return not self.projection.attributes <= index.kept
        return bool(self.request.select == "ALL_ATTRIBUTES")

    def _consumed(self, table: Table, target: Keyed, page: Page, fetched: list[bytes]) -> dict[str, Any]:
        consistent = bool(self.request.consistent_read)
        units = read_units(page.size, consistent)
        if isinstance(target, Index):
            consumed = Consumed(table, 0.0, {target.name: units})
            for row in fetched:
                consumed.add(read_units(stored_item.size(row), consistent))
        else:
            consumed = Consumed(table, units)
        return consumed.shape(self.request.return_consumed_capacity)


def _check_filter(index: Index, condition: Condition) -> None:
    if index.kept is not None and (missing := sorted(condition.attributes - index.kept)):
        raise ValidationException(
            f"{_INVALID}Secondary index {index.name} does not project one or more filter attributes: "
            f"[{', '.join(missing)}]"
        )


def _last_evaluated_key(table: Table, target: Keyed, item: Item) -> Item:
    """LastEvaluatedKey: the key of the table, and of the index that was read."""
    names = dict.fromkeys(target.names + table.names)
    return {name: item[name] for name in names}


def start_row(table: Table, target: Keyed, start: Item) -> tuple[Item, bytes]:
    """The canonical ExclusiveStartKey and its row key. The row need not exist."""
    key = normalise_key(start)
    names = set(target.names + table.names)
    if set(key) != names:
        raise ValidationException(INVALID_START)
    try:
        for keyed in (table, target):
            check_key(keyed, {name: key[name] for name in keyed.names})
    except ValidationException as error:
        raise ValidationException(f"{INVALID_START}: {error.message}") from None
    row = target.row_prefix(key)
    return key, row + owner_of(table.row_prefix(key)) if isinstance(target, Index) else row
