"""Query of a table's whole items by `partition = :value` and at most one term for the sort key, both text."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.fast.fast_path import NOT_FAST, FastAnswer
from sortkey.engine.operations.query import bounds
from sortkey.engine.partition_loads import SMALL_UNITS
from sortkey.engine.read import PageWalk
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import NameBindings, PositiveInteger, Shape, TableName
from sortkey.engine.rows.key_json import key_reader
from sortkey.engine.rows.row_keys import ShortText
from sortkey.engine.rows.stored_item import text, texts
from sortkey.engine.slices import ROW_UNITS, SLICE_UNITS, Slices
from sortkey.engine.tables.table import Table
from sortkey.expressions import KeyRange, fast_form
from sortkey.values.size import read_units


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

_decode = msgspec.json.Decoder(FastQuery).decode
_Terms = dict[str, tuple[str, str]]


def query(core: Core, body: bytes) -> FastAnswer | Slices[FastAnswer] | None:
    try:
        request = _decode(body)
        name = table_name_of(request.table_name)
    except NOT_FAST:
        return None
    terms = _terms(request)
    snapshot, tables = core.read_tables()
    in_one_slice = True
    try:
        table = tables.get(name)
        wanted = None if table is None or terms is None else _range(table, terms)
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
        return _answer(core, table, walk, low, texts(rows), request)
    return _rest(core, table, walk, low, texts(rows), request)


def _rest(core: Core, table: Table, walk: PageWalk, low: bytes, first: bytes, request: FastQuery) -> Slices[FastAnswer]:
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
    return _answer(core, table, walk, low, b",".join(parts), request)


def _answer(core: Core, table: Table, walk: PageWalk, low: bytes, items: bytes, request: FastQuery) -> FastAnswer:
    units = read_units(walk.size, request.consistent_read)
    partitions = core.partitions
    if partitions.reads_left_out and units <= SMALL_UNITS:
        partitions.reads_left_out -= 1
    else:
        partitions.count_read(low, units)
    return FastAnswer(_text(table, walk, items), {table.name: units})


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


def _range(table: Table, terms: _Terms) -> KeyRange | None:
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


def _text(table: Table, walk: PageWalk, items: bytes) -> bytes:
    count = walk.rows_read
    rest = b""
    if walk.more and count:
        rest = b',"LastEvaluatedKey":%b' % key_reader(table.names)(text(walk.last_row))
    return b'{"Count":%d,"ScannedCount":%d,"Items":[%b]%b}' % (count, count, items, rest)
