"""Reading by exact keys, counting, and walking a whole path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import Unparsed
from sortkey.limits import BATCH_GET_KEYS
from sortkey.model.changes.conditions import Where, render_conditions
from sortkey.model.errors import NoAccessPath
from sortkey.model.items.codec import Row
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import Path
from sortkey.model.sessions.context import Context
from sortkey.model.sessions.found_items import Identity, found_on, identifier, item_of, items_by_key
from sortkey.model.sessions.placeholders import Placeholders, all_of
from sortkey.model.sessions.steps import THROTTLED, Answer, Call, Calls, Steps, again, code_of, retried

T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)

_texts_of = msgspec.json.Decoder(list[msgspec.Raw]).decode


def get(context: Context, path: Path[T], consistent: bool) -> Steps[T | None]:
    answer = yield from retried(_get(context, path, consistent), context.pacing)
    return _got(context, path, answer)


def get_again(context: Context, path: Path[T], consistent: bool, error: ClientError) -> Steps[T | None]:
    """The same after a first try that was rejected."""
    answer = yield from again(_get(context, path, consistent), context.pacing, error)
    return _got(context, path, answer)


def _get(context: Context, path: Path[Any], consistent: bool) -> Call:
    members: dict[str, Any] = {"TableName": path.table, "Key": path.key()}
    if consistent:
        members["ConsistentRead"] = True
    return context.read_request("GetItem", members, path.name, binary=path.layout.binary)


def _got(context: Context, path: Path[T], answer: Answer) -> T | None:
    stored = answer.get("Item")
    context.meter.returned(path.name, 0 if stored is None else 1)
    # The key is one of this class, so the row is.
    item: T | None = None if stored is None else item_of(path.schema, stored)
    return item


def lookup(
    context: Context, key: BoundKey[S], wanted: Iterable[Mapping[str, Any]], consistent: bool
) -> Steps[list[S | None]]:
    """One item, or None, for each of the keys, in their order."""
    identities, keys = _identified(key, wanted)
    found: dict[Identity, S] = {}
    for stored in (yield from _fetch(context, key, dict(zip(identities, keys, strict=True)), consistent)):
        found |= items_by_key(key.schema, stored)
    context.meter.returned(key.name, len(found), read=len(found))
    return list(map(found.get, identities))


def lookup_as(
    context: Context, key: BoundKey[Any], wanted: Iterable[Mapping[str, Any]], read: Callable[[bytes], list[R]]
) -> Steps[list[R]]:
    """What `read` makes of the rows, null where there is none, in the order of the keys."""
    identities, keys = _identified(key, wanted)
    texts: dict[Identity, bytes] = {}
    for stored in (yield from _fetch(context, key, dict(zip(identities, keys, strict=True)), consistent=False)):
        rows = map(bytes, _texts_of(stored.text))
        texts.update(zip(map(identifier(key.layout), stored.parsed()), rows, strict=True))
    context.meter.returned(key.name, len(texts), read=len(texts))
    return read(b"[%b]" % b",".join(texts.get(identity, b"null") for identity in identities))


def _identified(key: BoundKey[Any], wanted: Iterable[Mapping[str, Any]]) -> tuple[list[Identity], list[Row]]:
    if key.layout.index is not None:
        raise NoAccessPath(f"{key.name} is an index; exact keys are looked up by {key.schema.primary.name}")
    keys = list(map(key.layout.key_from_fields, wanted))
    return list(map(identifier(key.layout), keys)), keys


def _fetch(
    context: Context, key: BoundKey[Any], pending: dict[Identity, Row], consistent: bool
) -> Steps[list[Unparsed]]:
    """The rows of these keys, as many lists as it took requests."""
    identify = identifier(key.layout)
    fetched: list[Unparsed] = []
    attempt = 0
    while pending:
        calls = [_batch_get(context, key, chunk, consistent) for chunk in _chunks(list(pending.values()))]
        outcomes = yield Calls(tuple(calls))
        left: dict[Identity, Row] = {}
        for call, outcome in zip(calls, outcomes, strict=True):
            stored, unprocessed = _outcome(outcome, key.schema.table, call.members)
            if stored is not None:
                fetched.append(stored)
            left.update((identify(each), each) for each in unprocessed)
        if left:
            attempt = attempt + 1 if len(left) == len(pending) else 0
            yield context.pacing.pause(attempt)
        pending = left
    return fetched


def _batch_get(context: Context, key: BoundKey[Any], keys: list[Row], consistent: bool) -> Call:
    asked: dict[str, Any] = {"Keys": keys}
    if consistent:
        asked["ConsistentRead"] = True
    members = {"RequestItems": {key.schema.table: asked}}
    return context.read_request("BatchGetItem", members, key.name, binary=key.layout.binary)


def _outcome(
    outcome: Answer | ClientError, table: str, members: Mapping[str, Any]
) -> tuple[Unparsed | None, list[Row]]:
    """The rows found, if any, and the keys to ask for again."""
    if isinstance(outcome, ClientError):
        if code_of(outcome) not in THROTTLED:
            raise outcome
        return None, members["RequestItems"][table]["Keys"]
    unprocessed = outcome.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
    return outcome["Responses"].get(table), unprocessed


def _chunks(keys: list[Row]) -> list[list[Row]]:
    return [keys[start : start + BATCH_GET_KEYS] for start in range(0, len(keys), BATCH_GET_KEYS)]


class Chunk(NamedTuple):
    """As many items as one request gives, and where the next one begins."""

    items: list[Any]
    next_start: Row | None


def question(path: Path[Any], where: Where | None, descending: bool, consistent: bool) -> dict[str, Any]:
    """The Query of a path, with what is asked besides the key."""
    request = path.request()
    if where:
        if path.collection:
            raise NoAccessPath(f"{path!r} has items of several classes; where is for one")
        for field in where.keys() & path.layout.unfiltered:
            raise NoAccessPath(f"{path!r}: {field} is an attribute of the key, so the path asks for it, not where")
        placeholders = Placeholders()
        request["FilterExpression"] = all_of(render_conditions(path.schema, where, placeholders))
        request = placeholders.added_to(request)
    if descending:
        request["ScanIndexForward"] = False
    if consistent:
        request["ConsistentRead"] = True
    return request


def may_have_binary(path: Path[Any], request: Mapping[str, Any]) -> bool:
    """Whether binary may occur in a Query: the keys tell; filters are not examined."""
    return path.layout.binary or path.primary.binary or "FilterExpression" in request


def chunk(context: Context, path: Path[T], request: Mapping[str, Any], start: Row | None) -> Steps[Chunk]:
    members = dict(request)
    if start is not None:
        members["ExclusiveStartKey"] = start
    answer = yield from context.read("Query", members, path.name, may_have_binary(path, members))
    items = found_on(path, answer["Items"]).items
    context.meter.returned(path.name, len(items))
    return Chunk(items, answer.get("LastEvaluatedKey"))


def count(context: Context, path: Path[Any], where: Where | None, consistent: bool) -> Steps[int]:
    """How many items of the path's class there are; rows of others may lie between them."""
    path = context.here(path)
    request = question(path, where, False, consistent)
    names = {f"#k{index}": part.name for index, part in enumerate(path.primary.attributes)}
    request["ProjectionExpression"] = ", ".join(names)
    request["ExpressionAttributeNames"] = {**request["ExpressionAttributeNames"], **names}
    total = 0
    while True:
        answer = yield from context.call("Query", dict(request), path.name)
        rows = answer["Items"]
        total += len(rows) if path.collection else sum(map(path.schema.recognises, rows))
        if "LastEvaluatedKey" not in answer:
            context.meter.returned(path.name, total)
            return total
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
