"""GetItem: one item by its key."""

from __future__ import annotations

from sortkey.engine.answer_metrics import Consumed, is_requested
from sortkey.engine.core import Answer, Core
from sortkey.engine.expression_parameters import only_projection
from sortkey.engine.partition_loads import SMALL_UNITS
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import GetItem
from sortkey.engine.rows.item_keys import check_scalar_keys, normalise_key, row_key_of
from sortkey.engine.rows.records import damaged
from sortkey.engine.rows.stored_item import Json, decode, size
from sortkey.engine.tables.catalog import not_found
from sortkey.engine.tables.table import Table
from sortkey.expressions import Projection
from sortkey.storage import is_sound
from sortkey.values.size import read_units


def get_item(core: Core, request: GetItem) -> Answer:
    projection = only_projection(request)
    table, row_key, row = _find(core, request, projection)
    units = read_units(0 if row is None else size(row), bool(request.consistent_read))
    partitions = core.partitions
    if partitions.reads_left_out and units <= SMALL_UNITS:
        partitions.reads_left_out -= 1
    else:
        partitions.count_read(row_key, units)
    answer: Answer = {}
    if row is not None:
        answer["Item"] = Json.item(row) if projection is None else Json.of(projection(decode(row)))
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = Consumed(table, units).shape(request.return_consumed_capacity)
    return answer


def _find(core: Core, request: GetItem, projection: Projection | None) -> tuple[Table, bytes, bytes | None]:
    """The table, and the request's row key and row."""
    snapshot, tables = core.read_tables()
    try:
        table = tables.get(table_name_of(request.table_name))
        if table is None:
            # If the key is malformed as well, AWS reports that.
            normalise_key(request.key)
            raise not_found()
        row_key = row_key_of(table, request.key)
        check_scalar_keys(table, projection)
        row = snapshot.get(row_key)
        if row is not None and not is_sound(row):
            raise damaged(snapshot, row_key)
        return table, row_key, row
    finally:
        snapshot.abort()
