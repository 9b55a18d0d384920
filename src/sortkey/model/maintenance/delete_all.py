"""`db.delete_all`: deletes what a path, or a scan of a class, finds.

Rows that are found by their primary key alone are deleted in batches, because nothing about them can change. Rows that
are found by an index, by `where=` or by the tag of their class are deleted one by one, each on the condition that it is
still found so: an index is older than its table, and other writers go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import Unparsed
from sortkey.client.stores import IN_FLIGHT
from sortkey.limits import BATCH_WRITE_REQUESTS
from sortkey.model.calls.arguments import reject_path
from sortkey.model.calls.conditional_writes import (
    ConditionalWrite,
    Prepared,
    may_succeed,
    row_of_failed_condition,
)
from sortkey.model.calls.item_decoder import Decoded, ItemTest, decode_row, require_known_version
from sortkey.model.calls.queries import query_of
from sortkey.model.calls.sharded_queries import shard_queries
from sortkey.model.calls.skipped_rows import report_others
from sortkey.model.calls.steps import THROTTLED, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.calls.wanted_items import item_test
from sortkey.model.calls.writes import write_all
from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.changes.version_tests import is_current, is_not_newer
from sortkey.model.changes.write_conditions import ItemCondition, unchanged
from sortkey.model.costs.meter import units_of
from sortkey.model.errors import ConditionFailed
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema
from sortkey.model.maintenance.long_work import LongWork, UnitRate
from sortkey.model.maintenance.scan import AnyScan, ScanOptions
from sortkey.model.maintenance.scan_source import source_of

_PART: Final = IN_FLIGHT * BATCH_WRITE_REQUESTS
"""The most rows that one part of the work deletes."""


class DeleteResult(NamedTuple):
    """What `delete_all` did."""

    items: int
    """How many it deleted."""
    kept: int
    """How many it found but did not delete, since they no longer matched."""
    read_units: float
    write_units: float


class DeleteOptions(NamedTuple):
    scan: bool = False
    segments: int | None = None
    rate: float | None = None


class DeleteAll(LongWork[DeleteResult]):
    def __init__(
        self, context: Context, deleted: AccessPath[Any] | type[Item], where: Where | None, options: DeleteOptions
    ) -> None:
        self._context = context
        self._where = where
        self._path: AccessPath[Any] | None = None
        self._source: PathRows | ClassRows
        if isinstance(deleted, type) and issubclass(deleted, Item):
            _require_scan(deleted, options.scan)
            self._schema: Schema[Any] = context.schema(deleted)
            self._source = ClassRows(context, deleted, where, options.segments)
        elif isinstance(deleted, AccessPath):
            if options.scan or options.segments is not None:
                raise ValueError(f"{deleted!r} is a path, which is queried: scan and segments are for classes")
            self._path = context.adapt(deleted)
            self._schema = self._path.schema
            self._source = PathRows(context, self._path, where)
        else:
            reject_path(deleted)
        if options.rate is not None:
            context.require_consumed_capacity("rate=")
        self._rate = None if options.rate is None else UnitRate(options.rate, context.pacing.monotonic)
        self._metered = f"delete {self._schema.name}"
        self._found: list[Row] = []
        self._items = self._kept = 0
        self._write_units = 0.0
        self._paid = 0.0

    @property
    def result(self) -> DeleteResult:
        return DeleteResult(self._items, self._kept, self._source.units, self._write_units)

    def pause(self) -> float:
        if self._rate is None:
            return 0.0
        spent = self._source.units + self._write_units
        self._rate.took(spent - self._paid)
        self._paid = spent
        return self._rate.pause()

    def part(self) -> Steps[bool]:
        if not self._found:
            self._found = yield from self._source.read()
        else:
            rows, self._found = self._found[:_PART], self._found[_PART:]
            if self._may_change:
                yield from self._delete_each(rows)
            else:
                yield from self._delete_batches(rows)
        return bool(self._found) or self._source.more

    @property
    def _may_change(self) -> bool:
        """Whether a row that was found may no longer be found, although it exists."""
        path = self._path
        if not requires_nothing(self._where) or (path is not None and path.layout.index is not None):
            return True
        return self._schema.required_tags is not None and (path is None or not path.collection)

    def _key(self, row: Row) -> Row:
        return {part.name: row[part.name] for part in self._schema.primary.attributes}

    def _delete_batches(self, rows: Sequence[Row]) -> Steps[None]:
        writes = [(self._schema.table, {"DeleteRequest": {"Key": self._key(row)}}) for row in rows]
        self._write_units += yield from write_all(self._context, writes, self._metered)
        self._items += len(rows)

    def _delete_each(self, rows: Sequence[Row]) -> Steps[None]:
        # Of an index with a part of the items, only the keys are taken.
        is_whole = self._path is None or self._path.layout.projection == "ALL"
        pending = [(self._deletion(row), row if is_whole else None) for row in rows]
        attempt = 0
        while pending:
            results = yield ParallelCalls(tuple(self._call(*each) for each in pending))
            left: list[tuple[_Deletion, Row | None]] = []
            must_pause = False
            for (deletion, row), result in zip(pending, results, strict=True):
                if not isinstance(result, ClientError):
                    self._write_units += units_of(result.get("ConsumedCapacity"))
                    self._items += 1
                elif code_of(result) in THROTTLED:
                    left.append((deletion, row))
                    must_pause = True
                elif (found := row_of_failed_condition(result)) is not None:
                    if may_succeed(deletion, deletion.prepare(row).members, found):
                        left.append((deletion, found))
                        # A row that was known has been changed since.
                        must_pause = must_pause or row is not None
                    else:
                        self._kept += 1
            pending = left
            if must_pause:
                yield self._context.pacing.pause(attempt)
                attempt += 1

    def _deletion(self, row: Row) -> _Deletion:
        found: Schema[Any] = self._schema.owner.__table__.schema_of(row) or self._schema
        schema = found.joined or found if self._schema.is_joined else found
        tags = None if self._path is not None and self._path.collection else self._schema.required_tags
        if self._path is not None and self._path.layout.index is not None:
            require_known_version(schema, row)
        return _Deletion(schema, self._path, self._where, self._key(row), tags)

    def _call(self, deletion: _Deletion, row: Row | None) -> Call:
        return self._context.call("DeleteItem", deletion.prepare(row).members, self._metered)


class _Deletion(ConditionalWrite):
    """The delete of one row that an index, `where=` or a tag found."""

    def __init__(
        self,
        schema: Schema[Any],
        path: AccessPath[Any] | None,
        where: Where | None,
        key: Row,
        tags: tuple[str, list[Value]] | None,
    ) -> None:
        """`tags` are those that the row may have; None for any."""
        self._tags = tags
        self.schema = schema
        self.key = key
        self.metered = f"delete {schema.name}"
        self._path = path
        self._condition = ItemCondition(schema, where, schema.primary.parse(key) or {})

    @property
    def description(self) -> str:
        return self.metered

    @property
    def _is_of_index(self) -> bool:
        return self._path is not None and self._path.layout.index is not None

    def prepare(self, row: Row | None) -> Prepared:
        placeholders = Placeholders()
        members: dict[str, Any] = {"TableName": self.schema.table, "Key": self.key}
        tests = [f"attribute_exists({placeholders.name(next(iter(self.key)))})"]
        if self._path is not None and self._is_of_index:
            query = self._path.request()
            found = query["KeyConditionExpression"]
            # A row may be in any shard, and move meanwhile.
            tests.append(found.replace("#pk = :pk", "begins_with(#pk, :pk)") if self._path.is_sharded else found)
            members |= {name: query[name] for name in ("ExpressionAttributeNames", "ExpressionAttributeValues")}
        if self._tags is not None:
            attribute, tags = self._tags
            tests.append(any_of(*(placeholders.equal(attribute, tag) for tag in tags)))
        tests += self._tests(row, placeholders)
        members["ConditionExpression"] = all_of(tests)
        members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return Prepared("Delete", placeholders.added_to(members))

    def _tests(self, row: Row | None, placeholders: Placeholders) -> list[str]:
        if self._condition.is_empty:
            return [is_not_newer(self.schema, placeholders)] if self._is_of_index else []
        if row is not None and self.schema.is_outdated(row):
            return unchanged(self.schema, row, placeholders)
        return [*self._condition.tests(placeholders), is_current(self.schema, placeholders)]

    def accepts(self, row: Row) -> bool:
        """Raises DecodeError if the program cannot judge the row."""
        if self._is_of_index:
            require_known_version(self.schema, row)
        return self._condition.accepts(decode_row(self.schema, row))

    def rejected(self, row: Row | None) -> Exception:
        return ConditionFailed(f"{self.description}: no longer found", None if row is None else self.schema.decode(row))


def _require_scan(cls: type[Item], scan: bool) -> None:
    if not scan:
        raise ValueError(
            f"delete_all({cls.__name__}) scans the whole table, and without where deletes every {cls.__name__}; if you "
            f"want that, say scan=True"
        )


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
