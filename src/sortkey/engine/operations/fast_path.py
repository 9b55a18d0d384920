"""The fast path: common requests, from their JSON directly to the JSON of the answer.

Each operation here handles the common case: whole items, keys of short text, a table that exists. It returns None
otherwise, and the general operation of the same name runs and words any error. What is read and written is counted by
the functions of the general operations.

- GetItem and BatchGetItem of whole items. For fifty keys, making and checking fifty dictionaries was half of the work.
  Here msgspec decodes and checks the keys of a table with a structure made for that table. Megabytes of items are left
  to the general operation, which reads them in slices.
- Query of a table's whole items by `partition = :value` and at most one term for the sort key, both text.
- PutItem without conditions and UpdateItem that returns no attributes. What follows from a new item alone, such as its
  index rows, is prepared before the writer's turn.

`rows_by_text_keys` is for callers in the process that build the keys themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

import msgspec
import orjson

from sortkey import limits
from sortkey.engine.operations import write
from sortkey.engine.operations.batches import CHUNK_KEYS, FIRST_KEYS, charge_batch
from sortkey.engine.operations.items import row_by_key
from sortkey.engine.operations.items import update_item as general_update_item
from sortkey.engine.operations.pages import PageWalk
from sortkey.engine.operations.queries import bounds
from sortkey.engine.operations.rehearsal import CHEAP_EVALUATIONS
from sortkey.engine.operations.slices import ROW_UNITS, SLICE_UNITS, Slices
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import UpdateItem
from sortkey.engine.requests.shapes import AttributeMap, NameBindings, PositiveInteger, Shape, TableName
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.records import damaged_page
from sortkey.engine.rows.stored_item import HEADER_BYTES, Json, key_reader, text, texts
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.table import ShortText, Table, check_scalar_keys, row_key_in_item
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, KeyRange, condition, fast_form, update
from sortkey.limits import ITEM_BYTES
from sortkey.storage import DAMAGED_PAGE, SEAL_BYTES, Transaction, seal
from sortkey.values.attribute import Normalised, normalise_item

NOT_FAST: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValidationException)
"""Raised for a request that the fast path does not handle, or that is wrong; the general operation finds out which."""

EMPTY_ANSWER: Final = b"{}"


class FastAnswer(msgspec.Struct, frozen=True, gc=False):
    text: bytes
    """The answer's JSON."""
    units: dict[str, float]
    """Capacity units by table. The endpoint counts them, also those of a request that does not ask for them."""


FastWork = Callable[[WriteBatch], FastAnswer | Answer]
"""The part of a write that runs in the writer's transaction. It may give the general operation's answer, consumed
capacity included, if the table has changed since.
"""


def compile_write(
    shape: Any, plan: Callable[[Core, Table, Any], FastWork | None]
) -> Callable[[Core, bytes], FastWork | None]:
    """The fast operation for requests of this shape. A request is `plan`ned for the table as it was last seen: the work
    has to look again.
    """
    decode = msgspec.json.Decoder(shape).decode

    def begin(core: Core, body: bytes) -> FastWork | None:
        try:
            request = decode(body)
            table = core.catalog.last_seen(table_name_of(request.table_name))
            return None if table is None else plan(core, table, request)
        except NOT_FAST:
            return None

    return begin


class FastGet(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    key: AttributeMap
    consistent_read: bool = False
    return_consumed_capacity: Literal["NONE"] | None = None


_decode_get = msgspec.json.Decoder(FastGet).decode


def get_item(core: Core, body: bytes) -> FastAnswer | None:
    try:
        request = _decode_get(body)
        name = table_name_of(request.table_name)
    except NOT_FAST:
        return None
    found = row_by_key(core, name, request.key, request.consistent_read)
    if found is None:
        return None
    _, row, units = found
    return FastAnswer(EMPTY_ANSWER if row is None else b'{"Item":%b}' % text(row), {name: units})


class FastKeys(Shape, kw_only=True, forbid_unknown_fields=True):
    keys: msgspec.Raw
    consistent_read: bool = False


class FastBatchGet(Shape, kw_only=True, forbid_unknown_fields=True):
    request_items: Annotated[dict[TableName, FastKeys], msgspec.Meta(min_length=1)]
    return_consumed_capacity: Literal["NONE"] | None = None


FAST_BYTES: Final = limits.MIB
"""Of the items' text."""

_CHUNKS: Final = ((0, FIRST_KEYS), (FIRST_KEYS, CHUNK_KEYS), (CHUNK_KEYS, limits.BATCH_GET_KEYS))
"""The places of the keys that are read before the text of their items is measured."""

_decode_batch_get = msgspec.json.Decoder(FastBatchGet).decode


def batch_get_item(core: Core, body: bytes) -> FastAnswer | None:
    try:
        request = _decode_batch_get(body)
        names = [table_name_of(given) for given in request.request_items]
    except NOT_FAST:
        return None
    snapshot, tables = core.read_tables()
    try:
        return _batch_answer(core, snapshot, [tables.get(name) for name in names], request)
    finally:
        snapshot.abort()


def _batch_answer(
    core: Core, snapshot: Transaction, tables: list[Table | None], request: FastBatchGet
) -> FastAnswer | None:
    parts: list[bytes] = []
    units: dict[str, float] = {}
    requested = length = 0
    for table, (given, keys) in zip(tables, request.request_items.items(), strict=True):
        row_keys = None if table is None else table.fast_row_keys_of_json(keys.keys)
        if table is None or not row_keys or table.name in units or len(set(row_keys)) != len(row_keys):
            return None
        requested += len(row_keys)
        rows: list[bytes] = []
        for start, end in _CHUNKS:
            chunk = _present([*map(snapshot.get, row_keys[start:end])])
            length += sum(map(len, chunk))
            # The items behind are most likely as large.
            if length * len(row_keys) > FAST_BYTES * min(end, len(row_keys)):
                return None
            rows += chunk
            if end >= len(row_keys):
                break
        units[table.name] = charge_batch(core, snapshot, row_keys, rows, keys.consistent_read)
        parts.append(b"%b:[%b]" % (orjson.dumps(given), texts(rows)))
    if requested > limits.BATCH_GET_KEYS:
        return None
    return FastAnswer(b'{"Responses":{%b},"UnprocessedKeys":{}}' % b",".join(parts), units)


def _present(found: list[bytes | None]) -> list[bytes]:
    # Mostly each key has a row. Looking at each in Python takes as long as reading five.
    return cast(list[bytes], found) if all(found) else [row for row in found if row is not None]


_GAP: Final = bytes(HEADER_BYTES) + b"null" + bytes(SEAL_BYTES)


class Rows(NamedTuple):
    items: Json
    """A list of the items found; with `gaps`, null for each key without an item."""
    number: int
    units: float


def rows_by_text_keys(
    core: Core, table_name: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
) -> Rows | None:
    """BatchGetItem without its limits: distinct keys, items in the order of the keys."""
    snapshot, tables = core.read_tables()
    try:
        table = tables.get(table_name)
        row_keys = None if table is None else table.fast_row_keys_of_texts(pairs)
        if row_keys is None:
            return None
        found = [*map(snapshot.get, row_keys)]
        rows = [row for row in found if row is not None]
        units = charge_batch(core, snapshot, row_keys, rows, consistent)
    except DAMAGED_PAGE as error:
        raise damaged_page(error) from error
    finally:
        snapshot.abort()
    listed = rows if len(rows) == len(found) or not gaps else [row or _GAP for row in found]
    return Rows(Json.items(listed), len(rows), units)


class FastQuery(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    key_condition_expression: str
    expression_attribute_names: Annotated[NameBindings, msgspec.Meta(min_length=1)] | None = None
    expression_attribute_values: dict[str, ShortText]
    limit: PositiveInteger | None = None
    scan_index_forward: bool = True
    consistent_read: bool = False
    return_consumed_capacity: Literal["NONE"] | None = None


SLICE_ROWS: Final = SLICE_UNITS // ROW_UNITS

_decode_query = msgspec.json.Decoder(FastQuery).decode
_Terms = dict[str, tuple[str, str]]


def query(core: Core, body: bytes) -> FastAnswer | Slices[FastAnswer] | None:
    try:
        request = _decode_query(body)
        name = table_name_of(request.table_name)
    except NOT_FAST:
        return None
    terms = _terms(request)
    snapshot, tables = core.read_tables()
    in_one_slice = True
    try:
        table = tables.get(name)
        wanted = None if table is None or terms is None else _key_range(table, terms)
        if table is None or wanted is None:
            return None
        low, high = bounds(table, wanted)
        walk = PageWalk(core, snapshot, low, high, request.scan_index_forward, request.limit)
        rows = walk.rows(SLICE_ROWS)
        in_one_slice = walk.ended
    finally:
        if in_one_slice:
            snapshot.abort()
    if in_one_slice:
        return _query_answer(table, walk, texts(rows), request)
    return _rest_of_query(table, walk, texts(rows), request)


def _rest_of_query(table: Table, walk: PageWalk, first: bytes, request: FastQuery) -> Slices[FastAnswer]:
    """The rest of a page that takes more than one slice."""
    parts = [first]
    try:
        while not walk.ended:
            yield
            walk.pause()
            if rows := walk.rows(SLICE_ROWS):
                parts.append(texts(rows))
    finally:
        walk.close()
    return _query_answer(table, walk, b",".join(parts), request)


def _query_answer(table: Table, walk: PageWalk, items: bytes, request: FastQuery) -> FastAnswer:
    count = walk.rows_read
    rest = b""
    if walk.more and count:
        rest = b',"LastEvaluatedKey":%b' % key_reader(table.names)(text(walk.last_row))
    answer = b'{"Count":%d,"ScannedCount":%d,"Items":[%b]%b}' % (count, count, items, rest)
    return FastAnswer(answer, {table.name: walk.charge(request.consistent_read)})


def _terms(request: FastQuery) -> _Terms | None:
    """Operator and operand by attribute; None unless each placeholder is defined and used, and each attribute once."""
    form = fast_form(request.key_condition_expression)
    names, values = request.expression_attribute_names or {}, request.expression_attribute_values
    if form is None or len(values) != len(form):
        return None
    terms: _Terms = {}
    resolved = 0
    for attribute, operator, placeholder in form:
        operand = values.get(placeholder)
        if attribute[0] == "#":
            attribute = names.get(attribute, "")
            resolved += 1
        if operand is None:
            return None
        terms[attribute] = (operator, operand.S)
    return terms if len(terms) == len(form) and resolved == len(names) else None


def _key_range(table: Table, terms: _Terms) -> KeyRange | None:
    partition, sort = table.partition, table.sort
    operator, text = terms.pop(partition.name, ("", ""))
    if operator != "=" or partition.type != "S":
        return None
    equal = {partition.name: {"S": text}}
    if not terms:
        return KeyRange(equal, (), None, None, ())
    if sort is None or sort.type != "S" or [*terms] != [sort.name]:
        return None
    operator, text = terms[sort.name]
    return KeyRange(equal, (), sort, operator, ({"S": text},))


class FastPut(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    item: AttributeMap
    return_values: Literal["NONE"] | None = None
    return_consumed_capacity: Literal["NONE"] | None = None


def _plan_put(core: Core, known: Table, request: FastPut) -> FastWork | None:
    name = known.name
    new = normalise_item(request.item)
    item, size, binary = new
    if size > ITEM_BYTES:
        return None
    if known.followed:
        return _plan_followed_put(core, known, new)
    payload = stored_item.payload(item, size, binary)

    def work(batch: WriteBatch) -> FastAnswer:
        table = core.catalog.require_in(batch, name)
        if table.followed:
            return FastAnswer(EMPTY_ANSWER, {name: write.put_prepared(batch, write.prepare_put(table, new))})
        row_key = row_key_in_item(table, item)
        found = write.Found(table, row_key, batch.get(row_key))
        return FastAnswer(EMPTY_ANSWER, {name: write.put_row(batch, found, seal(row_key, payload), size)})

    return work


def _plan_followed_put(core: Core, known: Table, new: Normalised) -> FastWork:
    name = known.name
    prepared = write.prepare_put(known, new, keeps_item=True)

    def work(batch: WriteBatch) -> FastAnswer:
        table = core.catalog.require_in(batch, name)
        put = prepared if table is known else prepared.for_table(table)
        return FastAnswer(EMPTY_ANSWER, {name: write.put_prepared(batch, put)})

    return work


put_item: Final = compile_write(FastPut, _plan_put)


class FastUpdate(Shape, kw_only=True, forbid_unknown_fields=True):
    table_name: TableName
    key: AttributeMap
    update_expression: str
    condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None
    return_values: Literal["NONE"] | None = None
    return_consumed_capacity: Literal["NONE"] | None = None


def _plan_update(core: Core, known: Table, request: FastUpdate) -> FastWork | None:
    name, key = known.name, request.key
    row_key = known.fast_row_key(key)
    if row_key is None:
        return None
    bindings = Bindings(request.expression_attribute_names, request.expression_attribute_values)
    change = update(request.update_expression, bindings)
    text = request.condition_expression
    test = None if text is None else condition(text, bindings, "ConditionExpression")
    if test is not None and test.evaluations >= CHEAP_EVALUATIONS:
        return _general_update(core, request)
    bindings.check_all_used()
    write.check_update(known, change)
    check_scalar_keys(known, change, test)

    def work(batch: WriteBatch) -> FastAnswer | Answer:
        table = core.catalog.require_in(batch, name)
        if table is not known:
            return _general_update(core, request)(batch)
        found = write.Found(table, row_key, batch.get(row_key))
        if test is not None:
            write.check_condition(found, test, None)
        new = write.apply_update(found, key, change)
        return FastAnswer(EMPTY_ANSWER, {name: write.replace(batch, found, new).total()})

    return work


def _general_update(core: Core, request: FastUpdate) -> Work:
    general = UpdateItem(
        table_name=request.table_name,
        key=request.key,
        update_expression=request.update_expression,
        condition_expression=request.condition_expression,
        expression_attribute_names=request.expression_attribute_names,
        expression_attribute_values=request.expression_attribute_values,
        return_consumed_capacity="TOTAL",
    )
    return general_update_item(core, general)


update_item: Final = compile_write(FastUpdate, _plan_update)


FAST_READS: Final[Mapping[str, Callable[[Core, bytes], FastAnswer | Slices[FastAnswer] | None]]] = {
    "GetItem": get_item,
    "BatchGetItem": batch_get_item,
    "Query": query,
}

FAST_WRITES: Final[Mapping[str, Callable[[Core, bytes], FastWork | None]]] = {
    "PutItem": put_item,
    "UpdateItem": update_item,
}
