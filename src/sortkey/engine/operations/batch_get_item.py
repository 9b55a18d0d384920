"""BatchGetItem: up to a hundred items of any tables, each read by itself.

A hundred items can have 16 MB of text, and a projection has to decode them all. So the items are read in chunks of a
few keys, each from a snapshot of its own, and in slices (see `slices`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

import orjson

from sortkey.engine import slices
from sortkey.engine.answer_metrics import Consumed, is_requested, units_of_rows
from sortkey.engine.core import Answer, Core
from sortkey.engine.expression_parameters import only_projection
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.batches import BatchGetItem, KeysAndAttributes
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.item_keys import check_scalar_keys, normalise_key, row_key_of
from sortkey.engine.rows.records import first_damaged
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.slices import SLICE_UNITS, Slices
from sortkey.engine.tables.catalog import not_found
from sortkey.engine.tables.table import Table
from sortkey.errors import ValidationException
from sortkey.limits import BATCH_GET_BYTES, BATCH_GET_KEYS
from sortkey.storage import are_sound

DUPLICATES = "Provided list of item keys contains duplicates"
CHUNK_KEYS: Final = 50
"""Read at once. The largest items take a few milliseconds."""


class _TablePart:
    """The part of the request that reads from one table."""

    def __init__(self, given: str, request: KeysAndAttributes) -> None:
        self.given = given
        self.name = table_name_of(given)
        self.request = request
        self.projection = only_projection(request)

    def check_keys(self) -> None:
        """Raise the errors of keys that do not depend on the table."""
        for key in self.request.keys:
            normalise_key(key)

    def row_keys(self, table: Table) -> list[bytes]:
        fast_row_key = table.fast_row_key
        row_keys = [fast_row_key(key) or row_key_of(table, key) for key in self.request.keys]
        if len(set(row_keys)) != len(row_keys):
            raise ValidationException(DUPLICATES)
        check_scalar_keys(table, self.projection)
        return row_keys


def batch_get_item(core: Core, request: BatchGetItem) -> Slices[Answer]:
    if sum(len(part.keys) for part in request.request_items.values()) > BATCH_GET_KEYS:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    parts = [_TablePart(given, part) for given, part in request.request_items.items()]
    snapshot, known = core.read_tables()
    try:
        tables = [_table(known, part) for part in parts]
        row_keys = [part.row_keys(table) for part, table in zip(parts, tables, strict=True)]
    finally:
        snapshot.abort()
    return (yield from _collect(core, request, parts, tables, row_keys))


def unprocessed_keys(part: KeysAndAttributes, done: int = 0) -> dict[str, Any]:
    """A table's part of the request, without the keys that were answered."""
    members = {
        "Keys": [Json.of(key) for key in part.keys[done:]],
        "AttributesToGet": part.attributes_to_get,
        "ConsistentRead": part.consistent_read,
        "ProjectionExpression": part.projection_expression,
        "ExpressionAttributeNames": part.expression_attribute_names,
    }
    return {name: value for name, value in members.items() if value is not None}


def _table(known: Mapping[str, Table], part: _TablePart) -> Table:
    table = known.get(part.name)
    if table is None:
        part.check_keys()
        raise not_found()
    return table


def _collect(
    core: Core,
    request: BatchGetItem,
    parts: list[_TablePart],
    tables: list[Table],
    row_keys: list[list[bytes]],
) -> Slices[Answer]:
    responses: dict[str, Json] = {}
    unprocessed: dict[str, Any] = {}
    consumed: list[dict[str, Any]] = []
    left = BATCH_GET_BYTES
    for part, table, wanted in zip(parts, tables, row_keys, strict=True):
        found = _Found(part)
        yield from found.read(core, wanted, left)
        core.partitions.count_batch(wanted[: found.keys], found.units)
        left -= found.length
        responses[part.given] = found.json()
        if found.keys < len(wanted):
            unprocessed[part.given] = unprocessed_keys(part.request, found.keys)
        if is_requested(request.return_consumed_capacity):
            consumed.append(Consumed(table, found.units).shape(request.return_consumed_capacity))
    answer: Answer = {"Responses": responses, "UnprocessedKeys": unprocessed}
    if consumed:
        answer["ConsumedCapacity"] = consumed
    return answer


class _Found:
    """The items of one table, as text."""

    def __init__(self, part: _TablePart) -> None:
        self._projection = part.projection
        self._consistent = bool(part.request.consistent_read)
        self._texts: list[bytes] = []
        self._binary = part.projection is not None
        self.keys = 0
        """Looked up and answered, with an item or without."""
        self.length = 0
        self.units = 0.0

    def read(self, core: Core, wanted: list[bytes], room: int) -> Slices[None]:
        """Read the rows until one does not fit into the room."""
        work = 0
        for start in range(0, len(wanted), CHUNK_KEYS):
            keys = wanted[start : start + CHUNK_KEYS]
            snapshot = core.read()
            try:
                looked_up = list(map(snapshot.get, keys))
                if core.verifies_many and not are_sound([row for row in looked_up if row is not None]):
                    raise first_damaged(snapshot, keys)
            finally:
                snapshot.abort()
            fitting = _count_fitting(looked_up, room - self.length)
            rows = [row for row in looked_up[:fitting] if row is not None]
            self.keys += fitting
            self.length += sum(map(len, rows))
            self.units += units_of_rows(rows, fitting, self._consistent)
            for taken in (rows,) if self._projection is None else ([row] for row in rows):
                work += self._take(taken)
                if work >= SLICE_UNITS:
                    work = 0
                    yield
            if fitting < len(keys):
                return

    def _take(self, rows: list[bytes]) -> int:
        """Add the rows' text; returns the units of work."""
        if not rows:
            return 0
        projection = self._projection
        if projection is None:
            self._texts.append(stored_item.texts(rows))
            self._binary = self._binary or stored_item.any_binary(rows)
            return slices.units_of_text(rows)
        self._texts += [orjson.dumps(projection(stored_item.decode(row))) for row in rows]
        return slices.units_of_rows(rows, 0)

    def json(self) -> Json:
        return Json(b"[%b]" % b",".join(self._texts), self._binary)


def _count_fitting(rows: list[bytes | None], room: int) -> int:
    """How many of the rows fit into the rest of the 16 MB, measured as the text of the answer."""
    if sum([len(row) for row in rows if row is not None]) <= room:
        return len(rows)
    lengths = accumulate(0 if row is None else len(row) for row in rows)
    return next(count for count, length in enumerate(lengths) if length > room)
