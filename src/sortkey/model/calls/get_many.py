"""Reads of many exact keys, of any classes and tables: in batches, or in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import Unparsed
from sortkey.limits import BATCH_GET_KEYS, TRANSACTION_ACTIONS
from sortkey.model.calls.item_decoder import Identity, decode_items_by_key, decode_row, identifier
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.calls.transaction import is_temporary
from sortkey.model.items.codec import Row
from sortkey.model.items.schema import Schema
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.arguments import require_path, require_several

_CANCELLED: Final = "TransactionCanceledException"

Place = tuple[str, Identity]
"""A table, and the identity of a key in it."""


class RequestedRow(NamedTuple):
    """One row to be read."""

    table: str
    key: Row
    schema: Schema[Any]


def get_many(
    context: Context, paths: Iterable[AccessPath[Any]], consistent: bool, transaction: bool
) -> Steps[list[Any] | tuple[Any, ...]]:
    """One item, or None, for each path; a tuple if `paths` is one."""
    places: list[tuple[Place, type]] = []
    requested: dict[Place, RequestedRow] = {}
    require_several(paths, "access paths")
    for path in paths:
        require_path(path)
        key = path.key()
        place = (path.table, identifier(path.primary)(key))
        places.append((place, path.schema.owner))
        requested[place] = RequestedRow(path.table, key, path.schema)
    # The same names in the same order, whatever the order of the paths.
    metered = f"get_many {', '.join(sorted({each.schema.name for each in requested.values()}))}"
    found: Mapping[Place, Any] = {}
    if requested and transaction:
        found = yield from _get_in_transaction(context, requested, metered)
    elif requested:
        found = yield from _get_in_batches(context, requested, consistent, metered)
    context.meter.returned(metered, len(found), read=len(found))
    # An item may be of another class with the same key, which its tag tells.
    items = [item if isinstance(item := found.get(place), cls) else None for place, cls in places]
    return tuple(items) if isinstance(paths, tuple) else items


def _get_in_transaction(
    context: Context, requested: Mapping[Place, RequestedRow], metered: str
) -> Steps[dict[Place, Any]]:
    context.require_transactions("get_many(transaction=True)")
    if len(requested) > TRANSACTION_ACTIONS:
        raise ValueError(f"a transaction reads at most {TRANSACTION_ACTIONS} items, not {len(requested)}")
    gets = [{"Get": {"TableName": each.table, "Key": each.key}} for each in requested.values()]
    attempt = 0
    while True:
        try:
            answer = yield from context.send("TransactGetItems", {"TransactItems": gets}, metered)
        except ClientError as error:
            if code_of(error) != _CANCELLED or not is_temporary(error):
                raise
        else:
            break
        yield context.pacing.pause(attempt)
        attempt += 1
    rows = [response.get("Item") for response in answer["Responses"]]
    return {
        place: decode_row(each.schema, row)
        for (place, each), row in zip(requested.items(), rows, strict=True)
        if row is not None
    }


def _get_in_batches(
    context: Context, requested: Mapping[Place, RequestedRow], consistent: bool, metered: str
) -> Steps[dict[Place, Any]]:
    found: dict[Place, Any] = {}
    pending = list(requested.values())
    attempt = 0
    while pending:
        chunks = [pending[start : start + BATCH_GET_KEYS] for start in range(0, len(pending), BATCH_GET_KEYS)]
        calls = [_batch_call(context, chunk, consistent, metered) for chunk in chunks]
        results = yield ParallelCalls(tuple(calls))
        left: list[RequestedRow] = []
        for chunk, result in zip(chunks, results, strict=True):
            if isinstance(result, ClientError):
                if code_of(result) not in THROTTLED:
                    raise result
                left += chunk
                continue
            for table, stored in result["Responses"].items():
                found |= _decoded(table, stored, requested, chunk)
            left += _unprocessed(result, requested, chunk)
        if left:
            attempt = attempt + 1 if len(left) == len(pending) else 0
            yield context.pacing.pause(attempt)
        pending = left
    return found


def _batch_call(context: Context, chunk: Sequence[RequestedRow], consistent: bool, metered: str) -> Call:
    tables: dict[str, dict[str, Any]] = {}
    for each in chunk:
        part = tables.setdefault(each.table, {"Keys": [], "ConsistentRead": True} if consistent else {"Keys": []})
        part["Keys"].append(each.key)
    binary = any(each.schema.primary.binary for each in chunk)
    return context.call_unparsed("BatchGetItem", {"RequestItems": tables}, metered, binary=binary)


def _decoded(
    table: str, stored: Unparsed, requested: Mapping[Place, RequestedRow], chunk: Sequence[RequestedRow]
) -> dict[Place, Any]:
    """The items of one table, whose classes all have the same key attributes."""
    schemas = list(dict.fromkeys(each.schema for each in chunk if each.table == table))
    if len(schemas) == 1 and schemas[0].family is None:
        items = decode_items_by_key(schemas[0], stored)
        return {(table, identity): item for identity, item in items.items()}
    identify = identifier(schemas[0].primary)
    places = [((table, identify(row)), row) for row in stored.parsed()]
    return {place: decode_row(requested[place].schema, row) for place, row in places}


def _unprocessed(
    answer: Answer, requested: Mapping[Place, RequestedRow], chunk: Sequence[RequestedRow]
) -> list[RequestedRow]:
    """What the store has left out, to be requested again."""
    left: list[RequestedRow] = []
    for table, part in answer.get("UnprocessedKeys", {}).items():
        identify = identifier(next(each.schema.primary for each in chunk if each.table == table))
        left += [requested[table, identify(key)] for key in part["Keys"]]
    return left
