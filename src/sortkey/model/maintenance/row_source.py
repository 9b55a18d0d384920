"""The rows that a path or a scan of a class finds, page by page, for work on each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.item_decoder import Decoded, ItemTest, decode_row
from sortkey.model.calls.queries import query_of
from sortkey.model.calls.sharded_queries import shard_queries
from sortkey.model.calls.skipped_rows import report_others
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.wanted_items import item_test
from sortkey.model.changes.combination import Where, requires_nothing
from sortkey.model.changes.shown_range import shown_range
from sortkey.model.items.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema
from sortkey.model.maintenance.scan import AnyScan, ScanOptions
from sortkey.model.maintenance.scan_source import source_of
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.meter import units_of


class PathRows:
    """The rows of a path's class, or of every class if it is a collection."""

    def __init__(self, context: Context, path: AccessPath[Any], where: Where | None) -> None:
        self._context = context
        self._path = path
        is_global = path.layout.index is not None and not path.layout.local
        query = query_of(path, where, False, consistent=not is_global)
        self._queries = shard_queries(path, query) if path.is_sharded else [query]
        """The Query of the path, or one of each shard, one after the other."""
        # An index with a part of the items cannot tell; the condition of the write does.
        self._is_judged = path.layout.projection == "ALL" and not requires_nothing(where)
        self._accepts = item_test(path, where)
        self._in_range = shown_range(path)
        self.more = True
        """Whether there may be more rows."""
        self.units = 0.0

    def read(self) -> Steps[list[Row]]:
        path = self._path
        answer = yield from self._context.send("Query", dict(self._queries[0]), path.name)
        self.units += units_of(answer.get("ConsumedCapacity"))
        start = answer.get("LastEvaluatedKey")
        if start is not None:
            self._queries[0]["ExclusiveStartKey"] = start
        else:
            del self._queries[0]
        self.more = bool(self._queries)
        rows: list[Row] = answer["Items"]
        is_own: Callable[[Row], bool] = path.schema.recognises
        if path.collection:
            is_own = path.schema.owner.__table__.recognises
        others = [row for row in rows if not is_own(row)]
        if others:
            report_others(self._context.meter, path.name, path.schema, others)
        own = [row for row in rows if is_own(row)]
        if self._is_judged:
            own = _accepted(path.schema, own, self._accepts)
        if self._in_range is not None:
            own = [row for row in own if self._in_range.accepts_row(row)]
        self._context.meter.returned(path.name, len(own))
        return own


class ClassRows:
    """The rows of a class, by a scan."""

    def __init__(self, context: Context, cls: type[Item], where: Where | None, segments: int | None) -> None:
        source = source_of(context, cls, where, True, "raise")
        schema = source.schema

        def decode(stored: Unparsed) -> Decoded:
            rows = stored.parsed()
            own = [row for row in rows if schema.recognises(row)]
            if not requires_nothing(where):
                own = _accepted(schema, own, source.accepts)
            return Decoded(own, own, [row for row in rows if not schema.recognises(row)])

        self._scan: AnyScan[Row] = AnyScan(context, source.with_decoder(decode), ScanOptions(segments))

    @property
    def more(self) -> bool:
        return self._scan.is_unfinished

    @property
    def units(self) -> float:
        return self._scan.units

    def read(self) -> Steps[list[Row]]:
        return self._scan.read_all_segments()


def _accepted(schema: Schema[Any], rows: list[Row], accepts: ItemTest | None) -> list[Row]:
    """The rows whose items match. `accepts` is None if the store has judged all that have the current version. Raises
    DecodeError if the store cannot judge a row, and the class cannot read it."""
    if accepts is not None:
        return [row for row in rows if accepts(decode_row(schema, row))]
    for row in rows:
        if schema.is_outdated(row):
            decode_row(schema, row)
    return rows
