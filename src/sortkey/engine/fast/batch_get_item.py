"""BatchGetItem of whole items.

For fifty keys, making and checking fifty dictionaries was half of the work. Here msgspec decodes and checks the keys of
a table with a structure made for that table (`row_keys.compile_row_keys_of_json`).

Megabytes of items are left to the general operation, which reads them in slices.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
import orjson

from sortkey import limits
from sortkey.engine.answer_metrics import units_of_rows
from sortkey.engine.core import Core
from sortkey.engine.fast.fast_path import NOT_FAST, FastAnswer
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import Shape, TableName
from sortkey.engine.rows.records import first_damaged
from sortkey.engine.rows.stored_item import texts
from sortkey.engine.tables.table import Table
from sortkey.storage import Transaction, are_sound


class FastKeys(Shape, kw_only=True, forbid_unknown_fields=True):
    keys: msgspec.Raw
    consistent_read: bool = False


class FastBatchGet(Shape, kw_only=True, forbid_unknown_fields=True):
    request_items: Annotated[dict[TableName, FastKeys], msgspec.Meta(min_length=1)]
    return_consumed_capacity: Literal["NONE"] | None = None


FAST_BYTES: Final = limits.MIB
"""Of the items' text."""
CHUNK_KEYS: Final = 50
"""Read before their text is measured."""

_decode = msgspec.json.Decoder(FastBatchGet).decode


def batch_get_item(core: Core, body: bytes) -> FastAnswer | None:
    try:
        request = _decode(body)
        names = [table_name_of(given) for given in request.request_items]
    except NOT_FAST:
        return None
    snapshot, tables = core.read_tables()
    try:
        return _collect(core, snapshot, [tables.get(name) for name in names], request)
    finally:
        snapshot.abort()


def _collect(core: Core, snapshot: Transaction, tables: list[Table | None], request: FastBatchGet) -> FastAnswer | None:
    parts: list[bytes] = []
    units: dict[str, float] = {}
    requested = length = 0
    for table, (given, keys) in zip(tables, request.request_items.items(), strict=True):
        row_keys = None if table is None else table.fast_row_keys_of_json(keys.keys)
        if table is None or not row_keys or table.name in units or len(set(row_keys)) != len(row_keys):
            return None
        rows: list[bytes] = []
        for start in range(0, len(row_keys), CHUNK_KEYS):
            chunk = [row for row in map(snapshot.get, row_keys[start : start + CHUNK_KEYS]) if row is not None]
            length += sum(map(len, chunk))
            if length > FAST_BYTES:
                return None
            rows += chunk
        if core.verifies_many and not are_sound(rows):
            raise first_damaged(snapshot, row_keys)
        requested += len(row_keys)
        units[table.name] = consumed = units_of_rows(rows, len(row_keys), keys.consistent_read)
        core.partitions.count_batch(row_keys, consumed)
        parts.append(b"%b:[%b]" % (orjson.dumps(given), texts(rows)))
    if requested > limits.BATCH_GET_KEYS:
        return None
    return FastAnswer(b'{"Responses":{%b},"UnprocessedKeys":{}}' % b",".join(parts), units)
