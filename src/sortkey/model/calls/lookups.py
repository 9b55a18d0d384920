"""Reads by exact keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import Unparsed
from sortkey.limits import BATCH_GET_KEYS
from sortkey.model.calls.item_decoder import Identity, decode_item, decode_items_by_key, identifier
from sortkey.model.calls.only_fields import OnlyFields
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.changes.typed_field import FieldName
from sortkey.model.errors import NoAccessPath
from sortkey.model.items.codec import Row
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.partial_item import is_partial, whole_class
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.arguments import require_key, require_path, require_several

T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)
ItemT = TypeVar("ItemT", bound=Item)

_split_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def get(context: Context, path: AccessPath[T], consistent: bool) -> Steps[T | None]:
    answer = yield from context.with_retries(_get_call(context, path, consistent))
    return _decode(context, path, answer)


def retry_get(context: Context, path: AccessPath[T], consistent: bool, error: ClientError) -> Steps[T | None]:
    """The same after a first attempt raised an error."""
    answer = yield from context.retry(_get_call(context, path, consistent), error)
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


def _chunks(keys: list[Row]) -> list[list[Row]]:
    return [keys[start : start + BATCH_GET_KEYS] for start in range(0, len(keys), BATCH_GET_KEYS)]
