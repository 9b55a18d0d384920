"""Writes of whole items: put, delete, and batches of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from sortkey.limits import BATCH_WRITE_REQUESTS
from sortkey.model.changes.conditions import Where, attribute_of, encoded, render_conditions
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.errors import ConditionFailed, EncodeError
from sortkey.model.items.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema
from sortkey.model.paths.access_path import Path
from sortkey.model.sessions.arguments import require_item, require_path
from sortkey.model.sessions.item_decoder import Identity, identifier
from sortkey.model.sessions.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of

T = TypeVar("T")

_CONDITION_FAILED: Final = "ConditionalCheckFailedException"


def row_of_failed_condition(error: ClientError) -> Row | None:
    """The stored row on which a condition failed, if there was an item and the request asked for it. Raises any other
    error."""
    if code_of(error) != _CONDITION_FAILED:
        raise error
    response: Any = error.response
    row: Row | None = response.get("Item")
    return row


def put(context: Context, item: Item, newer_by: str | None, if_absent: bool, if_version: str | None) -> Steps[bool]:
    """Whether the item was written."""
    require_item(item)
    schema = context.schema(type(item))
    members = put_request(schema, item, newer_by, if_absent, if_version)
    try:
        yield from context.send("PutItem", members, f"put {schema.name}")
    except ClientError as error:
        row = row_of_failed_condition(error)
        if if_version is None:
            return False
        raise _outdated(schema, item, if_version, row) from None
    if if_version is not None:
        setattr(item, if_version, getattr(item, if_version) + 1)
    return True


def put_request(
    schema: Schema[Any], item: Item, newer_by: str | None, if_absent: bool, if_version: str | None
) -> dict[str, Any]:
    if sum((newer_by is not None, if_absent, if_version is not None)) > 1:
        raise ValueError("a put takes one of newer_by, if_absent and if_version")
    row = schema.encode(item)
    placeholders = Placeholders()
    members: dict[str, Any] = {"TableName": schema.table, "Item": row}
    if newer_by is not None:
        members["ConditionExpression"] = _newer(schema, item, newer_by, placeholders)
    elif if_absent:
        members["ConditionExpression"] = placeholders.equal(schema.primary.partition.name, None)
    elif if_version is not None:
        version = _version(schema, item, if_version)
        attribute = attribute_of(schema, if_version)
        row[attribute] = encoded(schema, if_version, version + 1)
        expected = encoded(schema, if_version, version) if version else None
        members["ConditionExpression"] = placeholders.equal(attribute, expected)
        members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return placeholders.added_to(members)


def _newer(schema: Schema[Any], item: Item, field: str, placeholders: Placeholders) -> str:
    name = placeholders.name(attribute_of(schema, field))
    value = placeholders.value(encoded(schema, field, getattr(item, field)))
    return f"attribute_not_exists({name}) OR {name} < {value}"


def _version(schema: Schema[Any], item: Item, field: str) -> int:
    attribute_of(schema, field)
    version = getattr(item, field)
    if type(version) is not int or version < 0:
        raise EncodeError(f"{schema.name}.{field}: a version is an int from 0 on, not {version!r}")
    return version


def _outdated(schema: Schema[Any], item: Item, field: str, row: Row | None) -> ConditionFailed:
    stored = None if row is None else schema.decode(row)
    found = "the item does not exist" if stored is None else f"the stored item has {getattr(stored, field)}"
    return ConditionFailed(f"{schema.name}.{field} is {getattr(item, field)}, but {found}", stored)


def delete(context: Context, path: Path[T], where: Where | None) -> Steps[T | None]:
    """The item as it was before."""
    members = delete_request(path, where)
    members["ReturnValues"] = "ALL_OLD"
    try:
        answer = yield from context.send("DeleteItem", members, f"delete {path.entity}")
    except ClientError as error:
        row = row_of_failed_condition(error)
        stored = None if row is None else path.decode(row)
        raise ConditionFailed(f"{path!r} does not match {dict(where or {})}", stored) from None
    row = answer.get("Attributes")
    return None if row is None else path.decode(row)


def delete_request(path: Path[Any], where: Where | None) -> dict[str, Any]:
    require_path(path)
    members: dict[str, Any] = {"TableName": path.table, "Key": path.key()}
    if where:
        placeholders = Placeholders()
        members["ConditionExpression"] = all_of(render_conditions(path.schema, where, placeholders))
        members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        members = placeholders.added_to(members)
    return members


def batch(context: Context, put: Iterable[Item], delete: Iterable[Path[Any]]) -> Steps[None]:
    """Writes without a transaction, in no order; the last of several writes to one item wins."""
    pending: dict[tuple[str, Identity], tuple[str, dict[str, Any]]] = {}
    for item in put:
        require_item(item)
        schema = context.schema(type(item))
        row = schema.encode(item)
        pending[schema.table, identifier(schema.primary)(row)] = (schema.table, {"PutRequest": {"Item": row}})
    for path in delete:
        require_path(path)
        key = path.key()
        pending[path.table, identifier(path.primary)(key)] = (path.table, {"DeleteRequest": {"Key": key}})
    writes = list(pending.values())
    attempt = 0
    while writes:
        calls = [_batch_write_call(context, chunk) for chunk in _chunks(writes)]
        results = yield ParallelCalls(tuple(calls))
        left = [write for call, result in zip(calls, results, strict=True) for write in _unprocessed(call, result)]
        if left:
            attempt = attempt + 1 if len(left) == len(writes) else 0
            yield context.pacing.pause(attempt)
        writes = left


def _chunks(writes: list[tuple[str, Row]]) -> list[list[tuple[str, Row]]]:
    return [writes[start : start + BATCH_WRITE_REQUESTS] for start in range(0, len(writes), BATCH_WRITE_REQUESTS)]


def _batch_write_call(context: Context, writes: list[tuple[str, Row]]) -> Call:
    tables: dict[str, list[Row]] = {}
    for table, write in writes:
        tables.setdefault(table, []).append(write)
    return context.call("BatchWriteItem", {"RequestItems": tables}, f"batch {', '.join(sorted(tables))}")


def _unprocessed(call: Call, result: Answer | ClientError) -> list[tuple[str, Row]]:
    """The writes to send again."""
    if isinstance(result, ClientError):
        if code_of(result) not in THROTTLED:
            raise result
        tables = call.members["RequestItems"]
    else:
        tables = result.get("UnprocessedItems", {})
    return [(table, write) for table, writes in tables.items() for write in writes]
