"""What the FilterSpecification of an export selects: items, and the attributes of each.

A key condition is a range of row keys, so no other rows are read. An incremental export judges an item by its latest
image, and a deleted one by what it was.
"""

from __future__ import annotations

from typing import NamedTuple

import orjson

from sortkey.engine.operations.queries import bounds
from sortkey.engine.requests.expression_parameters import bindings_of
from sortkey.engine.requests.transfers import FilterSpecification
from sortkey.engine.rows.records import PARTITION_END, SPACE_BYTES
from sortkey.engine.tables.table import Table, check_scalar_keys
from sortkey.errors import ValidationException
from sortkey.expressions import Condition, Projection, condition, key_condition, projection

_EXPRESSIONS = ("filter_expression", "projection_expression", "key_condition_expression")


class ExportFilter(NamedTuple):
    low: bytes = b""
    high: bytes | None = None
    condition: Condition | None = None
    projection: Projection | None = None

    @property
    def start(self) -> bytes:
        """A row key, without its space, after which all that is selected comes."""
        first = self.low[SPACE_BYTES:PARTITION_END]
        number = int.from_bytes(first)
        return (number - 1).to_bytes(len(first)) if number else b""

    def is_before(self, row_key: bytes) -> bool:
        return row_key < self.low

    def is_behind(self, row_key: bytes) -> bool:
        return self.high is not None and row_key >= self.high

    def selects(self, item: bytes) -> bool:
        return self.condition is None or self.condition(orjson.loads(item))

    def shown(self, item: bytes) -> bytes:
        return item if self.projection is None else orjson.dumps(self.projection(orjson.loads(item)))


EVERYTHING = ExportFilter()


def export_filter(table: Table, asked: FilterSpecification | None) -> ExportFilter:
    """Raises ValidationException, in the words of Query and Scan, whose rules are the same."""
    if asked is None:
        return EVERYTHING
    bindings = bindings_of(asked, _EXPRESSIONS)
    if bindings is None:
        return EVERYTHING
    low, high, test, kept = b"", None, None, None
    if asked.key_condition_expression is not None:
        wanted = key_condition(asked.key_condition_expression, bindings).resolve(table.partitions, table.sorts)
        low, high = bounds(table, wanted)
    if asked.filter_expression is not None:
        test = condition(asked.filter_expression, bindings, "FilterExpression")
        if high is not None and (keys := [name for name in table.names if name in test.attributes]):
            raise ValidationException(
                f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {keys[0]}"
            )
    if asked.projection_expression is not None:
        kept = projection(asked.projection_expression, bindings)
    bindings.check_all_used()
    check_scalar_keys(table, test, kept)
    return ExportFilter(low, high, test, kept)
