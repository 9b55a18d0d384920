"""Scan: every item of a table or index, or of one segment of a parallel scan."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.expression_parameters import bindings_of, filter_of
from sortkey.engine.read import PageWalk
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.reads import Scan
from sortkey.engine.rows.item_keys import check_scalar_keys
from sortkey.engine.selection import INVALID_START, Selection, start_row
from sortkey.engine.slices import Slices
from sortkey.engine.tables.table import Keyed, Table
from sortkey.errors import ValidationException
from sortkey.storage import after_prefix
from sortkey.values.attribute import Item

EXPRESSIONS = ("projection_expression", "filter_expression")
LEGACY = ("attributes_to_get", "scan_filter", "conditional_operator")


def scan(core: Core, request: Scan) -> Slices[Answer]:
    name = table_name_of(request.table_name)
    _check_segments(request)
    bindings = bindings_of(request, EXPRESSIONS, LEGACY)
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
            low = _resume(table, target, request.exclusive_start_key, low, high, request)
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


def _resume(table: Table, target: Keyed, start: Item, low: bytes, high: bytes, request: Scan) -> bytes:
    _, row = start_row(table, target, start)
    if not low <= row < high:
        raise ValidationException(
            f"{INVALID_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {request.total_segments} Segment: {request.segment}"
        )
    return row + b"\0"
