"""Reads by exact keys: of one class, or of any classes and tables, in batches or in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import Unparsed
from sortkey.limits import BATCH_GET_KEYS, TRANSACTION_ACTIONS
from sortkey.model.calls.arguments import require_key, require_path, require_several
from sortkey.model.calls.item_decoder import Identity, decode_item, decode_items_by_key, decode_row, identifier
from sortkey.model.calls.only_fields import OnlyFields
from sortkey.model.calls.rejected_values import explained
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, Turn, code_of
from sortkey.model.calls.transaction import is_temporary
from sortkey.model.changes.typed_field import FieldName
from sortkey.model.errors import NoAccessPath
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.key import BoundKey
from sortkey.model.items.partial_item import is_partial, whole_class
from sortkey.model.items.schema import Schema

T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)
ItemT = TypeVar("ItemT", bound=Item)

_CANCELLED: Final = "TransactionCanceledException"

Place = tuple[str, Identity]
"""A table, and the identity of a key in it."""

_split_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def get(context: Context, path: AccessPath[T], consistent: bool) -> Steps[T | None]:
    answer = yield from context.with_retries(_get_call(context, path, consistent))
    return _decode(context, path, answer)


def retry_get(context: Context, path: AccessPath[T], consistent: bool, error: ClientError) -> Steps[T | None]:
    """The same after a first attempt raised an error."""
    call = _get_call(context, path, consistent)
    answer = yield from context.retry(call, explained(call, error))
    return _decode(context, path, answer)


def _get_call(context: Context, path: AccessPath[Any], consistent: bool) -> Call:
    require_path(path)
    members: dict[str, Any] = {"TableName": path.table, "Key": path.key()}
    if consistent:
        members["ConsistentRead"] = True
    return context.call_unparsed("GetItem", members, path.name, binary=path.layout.binary)


def _decode(context: Context, path: AccessPath[T], answer: Answer) -> T | None:
    stored = answer.get("Item")
    context.meter.returned(path.name, 0 if stored is None else 1)
    item: T | None = None if stored is None else decode_item(path.schema, stored)
    return item


def lookup(
    context: Context, key: BoundKey[S], fields: Iterable[Mapping[str, Any]], consistent: bool
) -> Steps[list[S | None]]:
    """One item, or None, for each key, in the order of the keys."""
    identities, keys = _keys_of(key, fields)
    found: dict[Identity, S] = {}
    for stored in (yield from _fetch(context, key, dict(zip(identities, keys, strict=True)), consistent)):
        found |= decode_items_by_key(key.schema, stored)
    context.meter.returned(key.name, len(found), read=len(found))
    return list(map(found.get, identities))


def get_only(context: Context, path: AccessPath[T], only: Iterable[FieldName], consistent: bool) -> Steps[T | None]:
    """The item with these fields and those of its key."""
    require_path(path)
    fields = OnlyFields(path, only)
    members = fields.added_to({"TableName": path.table, "Key": path.key()})
    if consistent:
        members["ConsistentRead"] = True
    answer = yield from context.send("GetItem", members, path.name)
    row = answer.get("Item")
    context.meter.returned(path.name, 0 if row is None else 1)
    item: T | None = None if row is None else fields.shown(fields.decode(row))
    return item


def whole(context: Context, items: Iterable[ItemT], consistent: bool) -> Steps[list[ItemT]]:
    """The items, with the partial ones read again; those that no longer exist are left out."""
    return [item for item in (yield from completed(context, items, consistent)) if item is not None]


def completed(context: Context, items: Iterable[ItemT], consistent: bool) -> Steps[list[ItemT | None]]:
    """The same, with None for those that no longer exist."""
    require_several(items, "items")
    wanted = list(items)
    found: dict[tuple[type, Identity], ItemT] = {}
    for cls in dict.fromkeys(whole_class(item) for item in wanted if is_partial(item)):
        key: BoundKey[Any] = getattr(cls, schema_of(cls).primary.name)
        keys = {_identity(item): schema_of(cls).key_of(item) for item in wanted if _is_part_of(cls, item)}
        for stored in (yield from _fetch(context, key, keys, consistent)):
            read = decode_items_by_key(context.schema(cls), stored)
            found.update(((cls, identity), item) for identity, item in read.items())
            context.meter.returned(key.name, len(read), read=len(read))
    return [found.get((whole_class(item), _identity(item))) if is_partial(item) else item for item in wanted]


def _is_part_of(cls: type, item: Item) -> bool:
    return is_partial(item) and whole_class(item) is cls


def _identity(item: Item) -> Identity:
    schema = schema_of(whole_class(item))
    return identifier(schema.primary)(schema.key_of(item))


def lookup_as(
    context: Context, key: BoundKey[Any], fields: Iterable[Mapping[str, Any]], read: Callable[[bytes], list[R]]
) -> Steps[list[R]]:
    """What `read` returns for a JSON list of the rows, in the order of the keys, with null for each missing row."""
    identities, keys = _keys_of(key, fields)
    texts: dict[Identity, bytes] = {}
    for stored in (yield from _fetch(context, key, dict(zip(identities, keys, strict=True)), consistent=False)):
        rows = map(bytes, _split_list(stored.text))
        texts.update(zip(map(identifier(key.layout), stored.parsed()), rows, strict=True))
    context.meter.returned(key.name, len(texts), read=len(texts))
    return read(b"[%b]" % b",".join(texts.get(identity, b"null") for identity in identities))


def _keys_of(key: BoundKey[Any], fields: Iterable[Mapping[str, Any]]) -> tuple[list[Identity], list[Row]]:
    require_key(key)
    if key.layout.index is not None:
        raise NoAccessPath(f"{key.name} is an index; look up exact keys by {key.schema.primary.name}")
    keys = list(map(key.layout.key_from_fields, fields))
    return list(map(identifier(key.layout), keys)), keys


def _fetch(
    context: Context, key: BoundKey[Any], pending: dict[Identity, Row], consistent: bool
) -> Steps[list[Unparsed]]:
    """The rows of these keys, one list for each request."""
    identify = identifier(key.layout)
    fetched: list[Unparsed] = []
    attempt = 0
    while pending:
        calls = [_batch_get_call(context, key, chunk, consistent) for chunk in _chunks(list(pending.values()))]
        results = yield ParallelCalls(tuple(calls))
        left: dict[Identity, Row] = {}
        for call, result in zip(calls, results, strict=True):
            stored, unprocessed = _rows_and_rest(result, key.schema.table, call.members)
            if stored is not None:
                fetched.append(stored)
            left.update((identify(each), each) for each in unprocessed)
        if left:
            attempt = attempt + 1 if len(left) == len(pending) else 0
            yield context.pacing.pause(attempt)
        pending = left
    return fetched


def _batch_get_call(context: Context, key: BoundKey[Any], keys: list[Row], consistent: bool) -> Call:
    part: dict[str, Any] = {"Keys": keys}
    if consistent:
        part["ConsistentRead"] = True
    members = {"RequestItems": {key.schema.table: part}}
    return context.call_unparsed("BatchGetItem", members, key.name, binary=key.layout.binary)


def _rows_and_rest(
    result: Answer | ClientError, table: str, members: Mapping[str, Any]
) -> tuple[Unparsed | None, list[Row]]:
    """The rows found, if any, and the keys to request again."""
    if isinstance(result, ClientError):
        if code_of(result) not in THROTTLED:
            raise result
        return None, members["RequestItems"][table]["Keys"]
    unprocessed = result.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
    return result["Responses"].get(table), unprocessed


def _chunks(keys: list[R]) -> list[list[R]]:
    return [keys[start : start + BATCH_GET_KEYS] for start in range(0, len(keys), BATCH_GET_KEYS)]


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
    context.require_transactions("get_many(transaction=True)", "leave transaction=True out")
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
    waiting: list[RequestedRow] = []
    attempt = 0
    while pending:
        if context.in_process and len(pending) > BATCH_GET_KEYS:
            pending, waiting = pending[:BATCH_GET_KEYS], pending[BATCH_GET_KEYS:]
        chunks = _chunks(pending)
        calls = [_call_for_rows(context, chunk, consistent, metered) for chunk in chunks]
        results = yield ParallelCalls(tuple(calls))
        left: list[RequestedRow] = []
        for chunk, result in zip(chunks, results, strict=True):
            if isinstance(result, ClientError):
                if code_of(result) not in THROTTLED:
                    raise result
                left += chunk
                continue
            for table, stored in result["Responses"].items():
                found |= _decoded_rows(table, stored, requested, chunk)
            left += _unprocessed(result, requested, chunk)
        if left:
            attempt = attempt + 1 if len(left) == len(pending) else 0
            yield context.pacing.pause(attempt)
        elif waiting:
            yield Turn()
        pending, waiting = left + waiting, []
    return found


def _call_for_rows(context: Context, chunk: Sequence[RequestedRow], consistent: bool, metered: str) -> Call:
    tables: dict[str, dict[str, Any]] = {}
    for each in chunk:
        part = tables.setdefault(each.table, {"Keys": [], "ConsistentRead": True} if consistent else {"Keys": []})
        part["Keys"].append(each.key)
    binary = any(each.schema.primary.binary for each in chunk)
    return context.call_unparsed("BatchGetItem", {"RequestItems": tables}, metered, binary=binary)


def _decoded_rows(
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
