"""TransactGetItems: up to a hundred items of one snapshot. Their projections are made in slices (see `slices`)."""

from __future__ import annotations

from typing import Any

from sortkey.engine.answer_metrics import Consumed, is_requested
from sortkey.engine.core import Answer, Core
from sortkey.engine.expression_parameters import only_projection
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.transactions import Get, TransactGetItems
from sortkey.engine.rows.item_keys import check_scalar_keys, normalise_key, row_key
from sortkey.engine.rows.records import first_damaged
from sortkey.engine.rows.spaces import PARTITION_END
from sortkey.engine.rows.stored_item import Json, decode, size
from sortkey.engine.slices import SLICE_UNITS, Slices, units_of_rows
from sortkey.engine.tables.table import Table
from sortkey.engine.transactions import transaction
from sortkey.errors import ValidationException
from sortkey.limits import TRANSACTION_BYTES
from sortkey.storage import Transaction, are_sound
from sortkey.values.size import transactional_read_units


class _Get:
    def __init__(self, request: Get) -> None:
        self.name = table_name_of(request.table_name)
        self.key = normalise_key(request.key)
        self.projection = only_projection(request, legacy_fields=())

    def answer(self, row: bytes | None) -> dict[str, Any]:
        if row is None:
            return {}
        return {"Item": Json.item(row) if self.projection is None else Json.of(self.projection(decode(row)))}


def transact_get_items(core: Core, request: TransactGetItems) -> Slices[Answer]:
    gets = [_Get(each.get) for each in request.transact_items]
    with core.read() as snapshot:
        tables = [core.catalog.require(snapshot, each.name) for each in gets]
        rows = _rows(core, snapshot, gets, tables)
    responses: list[dict[str, Any]] = []
    units = 0
    for each, row in zip(gets, rows, strict=True):
        responses.append(each.answer(row))
        units += 0 if row is None or each.projection is None else units_of_rows([row], 0)
        if units >= SLICE_UNITS:
            units = 0
            yield
    answer: Answer = {"Responses": responses}
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = _consumed(tables, rows, request.return_consumed_capacity)
    return answer


def _rows(core: Core, snapshot: Transaction, gets: list[_Get], tables: list[Table]) -> list[bytes | None]:
    row_keys = transaction.map_actions(row_key, tables, [each.key for each in gets])
    transaction.check_distinct(row_keys)
    for each, table in zip(gets, tables, strict=True):
        check_scalar_keys(table, each.projection)
    rows = [snapshot.get(key) for key in row_keys]
    if not are_sound([row for row in rows if row is not None]):
        raise first_damaged(snapshot, row_keys)
    payload = sum(size(row) for row in rows if row is not None)
    if payload > TRANSACTION_BYTES:
        raise ValidationException(f"Payload in response is too large.{payload}")
    for key, row in zip(row_keys, rows, strict=True):
        core.partitions.reads.add(key[:PARTITION_END], transactional_read_units(0 if row is None else size(row)))
    return rows


def _consumed(tables: list[Table], rows: list[bytes | None], detail: str | None) -> list[dict[str, Any]]:
    totals: dict[str, Consumed] = {}
    for table, row in zip(tables, rows, strict=True):
        units = transactional_read_units(0 if row is None else size(row))
        totals.setdefault(table.name, Consumed(table)).add(units)
    return [total.shape(detail, "Read") for total in totals.values()]
