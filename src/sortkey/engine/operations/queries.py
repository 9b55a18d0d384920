"""Query: the items of one partition, in the order of their sort keys. Scan: every item of a table or index, or of one
segment of a parallel scan.
"""

from __future__ import annotations

from sortkey.engine.operations.pages import INVALID_START, PageWalk, Selection, start_row
from sortkey.engine.operations.slices import Slices
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.expression_parameters import bindings_of, filter_of, to_members
from sortkey.engine.requests.items import Query, Scan
from sortkey.engine.tables.core import Answer, Core, require_table
from sortkey.engine.tables.table import KEY_MISMATCH, Keyed, Table, check_scalar_keys
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, Condition, KeyCondition, KeyRange, key_condition, legacy
from sortkey.storage import after_prefix
from sortkey.values.attribute import Item
from sortkey.values.key_bytes import prefix_bounds, sort_bytes

_QUERY_EXPRESSIONS = ("projection_expression", "filter_expression", "key_condition_expression")
_QUERY_LEGACY = ("attributes_to_get", "query_filter", "conditional_operator", "key_conditions")
_BESIDE_KEY_CONDITIONS = _QUERY_LEGACY[:-1]
"""AWS accepts KeyConditions together with the expressions for filter and projection."""
OUTSIDE_QUERY = "The provided starting key is outside query boundaries based on provided conditions"
OUTSIDE_RANGE = "The provided starting key does not match the range key predicate"

_SCAN_EXPRESSIONS = ("projection_expression", "filter_expression")
_SCAN_LEGACY = ("attributes_to_get", "scan_filter", "conditional_operator")


def query(core: Core, request: Query) -> Slices[Answer]:
    name = table_name_of(request.table_name)
    legacy_fields = _BESIDE_KEY_CONDITIONS if request.key_condition_expression is None else _QUERY_LEGACY
    bindings = bindings_of(request, _QUERY_EXPRESSIONS, legacy_fields)
    keys = _key_condition(request, bindings)
    condition = filter_of(request, bindings, "query_filter")
    selection = Selection(request, bindings, condition)
    if bindings is not None:
        bindings.check_all_used()
    forward = request.scan_index_forward is not False
    snapshot, tables = core.read_tables()
    try:
        table = require_table(tables, name)
        target = selection.target(table)
        wanted = keys.resolve(target.partitions, target.sorts)
        check_scalar_keys(table, condition, selection.projection)
        _check_filter(request, target, condition)
        low, high = bounds(target, wanted)
        if request.exclusive_start_key is not None:
            low, high = resume_in_range(table, target, wanted, request.exclusive_start_key, low, high, forward)
        walk = PageWalk(core, snapshot, low, high, forward, request.limit)
        rows = walk.first_rows()
        answer = selection.answer_at_once(table, target, walk, rows)
        if answer is None:
            answer = yield from selection.answer(table, target, walk, rows)
        walk.charge(bool(request.consistent_read))
        return answer
    finally:
        snapshot.abort()


def _key_condition(request: Query, bindings: Bindings | None) -> KeyCondition:
    if request.key_condition_expression is not None and bindings is not None:
        return key_condition(request.key_condition_expression, bindings)
    if request.key_conditions is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    return legacy.key_conditions(to_members(request.key_conditions))


def _check_filter(request: Query, target: Keyed, condition: Condition | None) -> None:
    """A filter must not use the key attributes."""
    for name in target.names if condition is not None else ():
        if condition is not None and name in condition.attributes:
            member = "Filter Expression" if request.filter_expression is not None else "QueryFilter"
            raise ValidationException(
                f"{member} can only contain non-primary key attributes: Primary key attribute: {name}"
            )


def bounds(target: Keyed, wanted: KeyRange) -> tuple[bytes, bytes]:
    """The half-open range of row keys that a key condition selects."""
    start = target.partition_prefix(wanted.equal)
    for name, key_type in wanted.leading:
        start += sort_bytes(key_type, wanted.equal[name][key_type])
    end = after_prefix(start)
    if wanted.ranged is None:
        return start, end
    key_type = wanted.ranged.type
    operands = [operand[key_type] for operand in wanted.operands]
    if wanted.operator == "begins_with":
        low, high = prefix_bounds(key_type, operands[0])
        return start + low, start + high
    first = start + sort_bytes(key_type, operands[0])
    match wanted.operator:
        case "=":
            return first, after_prefix(first)
        case "<":
            return start, first
        case "<=":
            return start, after_prefix(first)
        case ">":
            return after_prefix(first), end
        case ">=":
            return first, end
        case _:
            return first, after_prefix(start + sort_bytes(key_type, operands[1]))


def resume_in_range(
    table: Table, target: Keyed, wanted: KeyRange, start: Item, low: bytes, high: bytes, forward: bool
) -> tuple[bytes, bytes]:
    """The rest of the range after the start key, which must itself be in the range."""
    key, row = start_row(table, target, start, INVALID_START)
    if any(key[name] != wanted.equal[name] for name, _ in target.partitions):
        raise ValidationException(OUTSIDE_QUERY)
    if not low <= row < high:
        raise ValidationException(OUTSIDE_RANGE)
    return (row + b"\0", high) if forward else (low, row)


def scan(core: Core, request: Scan) -> Slices[Answer]:
    name = table_name_of(request.table_name)
    _check_segments(request)
    bindings = bindings_of(request, _SCAN_EXPRESSIONS, _SCAN_LEGACY)
    condition = filter_of(request, bindings, "scan_filter")
    selection = Selection(request, bindings, condition)
    if bindings is not None:
        bindings.check_all_used()
    snapshot = core.read()
    try:
        table = core.catalog.require(snapshot, name)
        target = selection.target(table)
        check_scalar_keys(table, condition, selection.projection)
        low, high = segment_bounds(target, request.segment or 0, request.total_segments or 1)
        if request.exclusive_start_key is not None:
            low = resume_scan(table, target, request.exclusive_start_key, low, high, request)
        walk = PageWalk(core, snapshot, low, high, True, request.limit)
        rows = walk.first_rows()
        answer = selection.answer_at_once(table, target, walk, rows)
        return (yield from selection.answer(table, target, walk, rows)) if answer is None else answer
    finally:
        snapshot.abort()


def _check_segments(request: Scan) -> None:
    segment, total = request.segment, request.total_segments
    if segment is None and total is not None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present"
        )
    if segment is not None and total is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if segment is not None and total is not None and segment >= total:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )


def segment_bounds(target: Keyed, segment: int, total: int) -> tuple[bytes, bytes]:
    """One of `total` equal slices of the hash space."""
    low = target.space + _slice(segment, total)
    high = target.space + _slice(segment + 1, total) if segment + 1 < total else after_prefix(target.space)
    return low, high


def _slice(segment: int, total: int) -> bytes:
    return ((segment << 64) // total).to_bytes(8, "big")


def resume_scan(table: Table, target: Keyed, start: Item, low: bytes, high: bytes, request: Scan) -> bytes:
    _, row = start_row(table, target, start, f"{INVALID_START}: {KEY_MISMATCH}")
    if not low <= row < high:
        raise ValidationException(
            f"{INVALID_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {request.total_segments} Segment: {request.segment}"
        )
    return row + b"\0"
