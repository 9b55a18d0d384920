"""Transactions: TransactGetItems and TransactWriteItems, all or nothing.

TransactGetItems reads up to a hundred items of one snapshot. Their projections are made in slices (see `slices`).

Each of up to a hundred writes and condition checks is an action. An action is checked without its table first, then
finds its row, then is checked against the row. The actions of a transaction are applied only when all have passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from sortkey.engine.operations import write
from sortkey.engine.operations.answers import Consumed, collection_metrics, is_requested, total_by_table
from sortkey.engine.operations.rehearsal import rehearsed
from sortkey.engine.operations.slices import SLICE_UNITS, Slices, units_of_rows
from sortkey.engine.requests import items, table_name_of
from sortkey.engine.requests.constraints import check_names
from sortkey.engine.requests.expression_parameters import bindings_of_part, condition_of, only_projection
from sortkey.engine.requests.items import TransactGetItems, TransactWriteItems
from sortkey.engine.rows import records
from sortkey.engine.rows.records import PARTITION_END, first_damaged
from sortkey.engine.rows.stored_item import Json, decode, size
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.table import EmptyKey, Table, check_scalar_keys, checked_row_key, normalise_key
from sortkey.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    DynamoDBError,
    IdempotentParameterMismatchException,
    ResourceNotFoundException,
    TransactionCanceledException,
    ValidationException,
)
from sortkey.expressions import Condition, Projection, ShownPaths, Update, update
from sortkey.limits import TRANSACTION_BYTES, TRANSACTION_TOKEN_SECONDS
from sortkey.storage import Transaction, are_sound
from sortkey.values.attribute import Item, Normalised, normalise_item
from sortkey.values.size import item_size, transactional_read_units, write_units

DIGEST_BYTES: Final = 16

Request = items.Put | items.Update | items.Delete | items.ConditionCheck

Result = TypeVar("Result")


def transact_get_items(core: Core, request: TransactGetItems) -> Slices[Answer]:
    check_names(request, (each.get.table_name for each in request.transact_items))
    responses, units = yield from read_together(core, [_get_of(each.get) for each in request.transact_items])
    # AWS's reference: without projected attributes, the response itself is an empty map.
    answer: Answer = {"Responses": [each if _shows_something(each) else {} for each in responses]}
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = _shapes(total_by_table(units), request.return_consumed_capacity, "Read")
    return answer


def _shows_something(response: dict[str, Any]) -> bool:
    return "Item" in response and response["Item"].text != b"{}"


def read_together(core: Core, gets: list[Get]) -> Slices[tuple[list[dict[str, Any]], list[Consumed]]]:
    """The responses to reads of one snapshot, and what each of them consumes."""
    with core.read() as snapshot:
        tables = [core.catalog.require(snapshot, each.name) for each in gets]
        row_keys, rows = _read_rows(snapshot, gets, tables)
    consumed: list[Consumed] = []
    for table, key, row in zip(tables, row_keys, rows, strict=True):
        read_units = transactional_read_units(0 if row is None else size(row))
        core.partitions.reads.add(key[:PARTITION_END], read_units)
        consumed.append(Consumed(table, read_units))
    responses: list[dict[str, Any]] = []
    units = 0
    for each, row in zip(gets, rows, strict=True):
        responses.append(each.answer(row))
        units += 0 if row is None or each.projection is None else units_of_rows([row], 0)
        if units >= SLICE_UNITS:
            units = 0
            yield
    return responses, consumed


class Get(NamedTuple):
    name: str
    key: Item
    """Canonical."""
    projection: Projection | ShownPaths | None

    def answer(self, row: bytes | None) -> dict[str, Any]:
        if row is None:
            return {}
        return {"Item": Json.item(row) if self.projection is None else Json.of(self.projection(decode(row)))}


def _get_of(request: items.Get) -> Get:
    name = table_name_of(request.table_name)
    # AWS ignores names without an expression, in a part of a transaction.
    projection = None if request.projection_expression is None else only_projection(request, legacy_fields=())
    return Get(name, normalise_key(request.key), projection)


def _read_rows(snapshot: Transaction, gets: list[Get], tables: list[Table]) -> tuple[list[bytes], list[bytes | None]]:
    """The row keys and the rows."""
    row_keys = map_actions(checked_row_key, tables, [each.key for each in gets])
    check_distinct(row_keys)
    for each, table in zip(gets, tables, strict=True):
        check_scalar_keys(table, each.projection)
    rows = [snapshot.get(key) for key in row_keys]
    if not are_sound([row for row in rows if row is not None]):
        raise first_damaged(snapshot, row_keys)
    payload = sum(size(row) for row in rows if row is not None)
    if payload > TRANSACTION_BYTES:
        raise ValidationException(f"Payload in response is too large.{payload}")
    return row_keys, rows


def _shapes(totals: dict[str, Consumed], detail: str | None, access: str) -> list[dict[str, Any]]:
    return [total.shape(detail, access) for total in totals.values()]


def transact_write_items(core: Core, request: TransactWriteItems) -> Work:
    given = [actions_in(each) for each in request.transact_items]
    check_names(request, [action.table_name for each in given for action in each])
    actions = [action_of(each) for each in given]
    token = token_of(request.client_request_token, actions)

    def answer(batch: WriteBatch, prepared: list[Prepared] | None, consumed: list[Consumed]) -> Answer:
        totals = total_by_table(consumed)
        if prepared is None:
            return _repeated_answer(request, totals)
        return _write_answer(batch, request, prepared, totals)

    return write_together(core, actions, token, answer)


def token_of(text: str | None, actions: list[Action]) -> Token | None:
    """The request's token, if it has one; rejects actions that are too large together."""
    for payload in accumulate(action.payload for action in actions):
        if payload > TRANSACTION_BYTES:
            raise ValidationException(f"Transaction payload size cannot exceed 4MB. Payload Size: {payload}")
    return None if text is None else Token(text, [action.meaning for action in actions])


def write_together(
    core: Core,
    actions: list[Action],
    token: Token | None,
    answer: Callable[[WriteBatch, list[Prepared] | None, list[Consumed]], Answer],
) -> Work:
    """The work of a transaction. `answer` gets what was written, or None if the token was used before, and what each
    action consumes."""

    def work(batch: WriteBatch) -> Answer:
        tables = [core.catalog.require_in(batch, action.name) for action in actions]
        if token is not None and (units := token.units_of_first(batch)) is not None:
            return answer(batch, None, list(map(Consumed, tables, units)))
        prepared = _prepare(batch, actions, tables)
        consumed: list[Consumed] = []
        for each in prepared:
            written = each.apply(batch)
            batch.charge(each.found.key, written.units)
            # A transaction writes items twice, once to prepare and once to commit; index rows are written once.
            written.units *= 2
            consumed.append(written)
        if token is not None:
            token.remember(batch, [transactional_read_units(each.size) for each in prepared])
        return answer(batch, prepared, consumed)

    return rehearsed(work, *((action.name, action.keyed, action.condition) for action in actions))


def _prepare(batch: WriteBatch, actions: list[Action], tables: list[Table]) -> list[Prepared]:
    """Check every action against the stored items, before any action changes one."""
    found = map_actions(lambda action, table: action.find(batch, table), actions, tables)
    check_distinct([each.key for each in found])
    for action, table in zip(actions, tables, strict=True):
        action.check_expressions(table)
    return map_actions(lambda action, row: action.prepare(row), actions, found)


def _write_answer(
    batch: WriteBatch, request: TransactWriteItems, prepared: list[Prepared], totals: dict[str, Consumed]
) -> Answer:
    answer: Answer = {}
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = _shapes(totals, request.return_consumed_capacity, "Write")
    if request.return_item_collection_metrics == "SIZE":
        metrics = _collection_metrics(batch, prepared, totals)
        if metrics:
            answer["ItemCollectionMetrics"] = metrics
    return answer


def _collection_metrics(
    batch: WriteBatch, prepared: list[Prepared], totals: dict[str, Consumed]
) -> dict[str, list[dict[str, Any]]]:
    metrics: dict[str, list[dict[str, Any]]] = {}
    for name, total in totals.items():
        written = [
            each.action.keyed for each in prepared if each.found.table is total.table and not each.action.only_checks
        ]
        if total.table.local_indexes and written:
            metrics[name] = collection_metrics(batch, total.table, written)
    return metrics


def _repeated_answer(request: TransactWriteItems, totals: dict[str, Consumed]) -> Answer:
    """The same request again: it writes nothing, and costs what reading the items costs."""
    if not is_requested(request.return_consumed_capacity):
        return {}
    return {"ConsumedCapacity": _shapes(totals, request.return_consumed_capacity, "Read")}


class Action:
    """A put, an update, a deletion or a check of one item, without its table."""

    __slots__ = ("_put", "_return_old", "condition", "keyed", "meaning", "name", "only_checks", "payload", "update")

    def __init__(
        self,
        name: str,
        keyed: Item,
        meaning: list[Any],
        *,
        put: Normalised | None = None,
        update: Update | None = None,
        condition: Condition | None = None,
        only_checks: bool = False,
        return_old: str | None = None,
    ) -> None:
        self.name = name
        self.keyed = keyed
        """Canonical attributes that include the key."""
        self.meaning = meaning
        """What the action asks for, as JSON, in canonical values: equal for two requests that do the same."""
        self.condition = condition
        self.only_checks = only_checks
        self.payload = item_size(keyed) if put is None else put.size
        self.update = update
        self._put = put
        self._return_old = return_old

    def find(self, batch: WriteBatch, table: Table) -> write.Found:
        """The action's row. Raises ValidationException if the action does not fit the table's keys."""
        if self._put is None:
            found = write.find(batch, table, self.keyed)
            write.check_update(table, self.update)
            return found
        row_key = write.row_key_to_put(table, self._put)
        return write.Found(table, row_key, batch.get(row_key))

    def check_expressions(self, table: Table) -> None:
        if self.update is not None or self.condition is not None:
            check_scalar_keys(table, self.update, self.condition)

    def prepare(self, found: write.Found) -> Prepared:
        write.check_condition(found, self.condition, self._return_old)
        if self.update is None:
            return Prepared(self, found, self._put)
        return Prepared(self, found, write.apply_update(found, self.keyed, self.update))


def actions_in(request: items.TransactWriteItem) -> list[Request]:
    parts = (request.condition_check, request.put, request.delete, request.update)
    return [part for part in parts if part is not None]


def action_of(given: list[Request]) -> Action:
    """The action of an element of `TransactItems`, which should have one."""
    if len(given) > 1:
        raise ValidationException("TransactItems can only contain one of Check, Put, Update or Delete")
    if not given:
        raise ValidationException(
            "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
        )
    return _action_of(given[0])


_EXPRESSION: Final = ("condition_expression",)
_EXPRESSIONS: Final = ("update_expression", *_EXPRESSION)
"""Of an update."""


def _action_of(request: Request) -> Action:
    name = table_name_of(request.table_name)
    put, change, text = None, None, None
    does, only_checks = "change", False
    if isinstance(request, items.Put):
        does = "put"
        put = normalise_item(request.item)
        write.check_size(put.size)
        keyed = put.item
    else:
        keyed = normalise_key(request.key)
        if isinstance(request, items.ConditionCheck):
            does, only_checks = "check", True
        elif isinstance(request, items.Update):
            text = request.update_expression
    bindings = bindings_of_part(request, _EXPRESSION if text is None else _EXPRESSIONS)
    condition, names, values = None, None, None
    if bindings is not None:
        change = None if text is None else update(text, bindings)
        condition = condition_of(request, bindings)
        bindings.check_all_used()
        names, values = bindings.names, bindings.values
    return_old = request.return_values_on_condition_check_failure
    meaning = [does, name, keyed, text, request.condition_expression, names, values, return_old]
    return Action(
        name,
        keyed,
        meaning,
        put=put,
        update=change,
        condition=condition,
        only_checks=only_checks,
        return_old=return_old,
    )


class Prepared(NamedTuple):
    """An action that has passed all checks: the row it found and the item that it leaves there."""

    action: Action
    found: write.Found
    new: Normalised | None

    @property
    def size(self) -> int:
        """Of the larger of the item before and after, by which the action is charged."""
        return max(self.found.size, 0 if self.new is None else self.new.size)

    def apply(self, batch: WriteBatch) -> Consumed:
        if self.action.only_checks:
            # A check changes nothing, but costs as much as a write of the item.
            units = write_units(self.found.size)
            batch.charge(self.found.key, units)
            return Consumed(self.found.table, units)
        return write.replace(batch, self.found, self.new)


def map_actions(step: Callable[..., Result], *columns: Sequence[Any]) -> list[Result]:
    """`map` over a transaction's actions. If any step raises, cancel with the reasons of all actions, in order."""
    results: list[Result] = []
    rejected: dict[int, DynamoDBError] = {}
    for arguments in zip(*columns, strict=True):
        try:
            results.append(step(*arguments))
        except EmptyKey:
            raise
        except (ConditionalCheckFailedException, DuplicateItemException, ValidationException) as error:
            rejected[len(results) + len(rejected)] = error
    if rejected:
        places = range(len(results) + len(rejected))
        raise cancelled([reason(rejected[place]) if place in rejected else {"Code": "None"} for place in places])
    return results


def cancelled(reasons: list[dict[str, Any]]) -> TransactionCanceledException:
    """The error of a transaction, with the reason of each action."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    return TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=reasons,
    )


REASONS: Final[dict[type[DynamoDBError], str]] = {
    ConditionalCheckFailedException: "ConditionalCheckFailed",
    DuplicateItemException: "DuplicateItem",
    ResourceNotFoundException: "ResourceNotFound",
}
"""The codes of errors inside a transaction or a batch; all others are ValidationErrors."""


def reason(error: DynamoDBError) -> dict[str, Any]:
    """An error as one of several."""
    return {"Code": reason_code(error), "Message": error.message, **error.members}


def reason_code(error: DynamoDBError) -> str:
    return REASONS.get(type(error), "ValidationError")


def check_distinct(row_keys: Sequence[bytes]) -> None:
    if len(set(row_keys)) != len(row_keys):
        raise ValidationException("Transaction request cannot include multiple operations on one item")


class Token:
    """A ClientRequestToken. For ten minutes, the same request with it does nothing, and another request is rejected."""

    def __init__(self, token: str, actions: Sequence[Any]) -> None:
        """`actions` are what the request means, as JSON; what DynamoDB ignores in a request must not be in it."""
        self._key = records.TOKENS + blake2b(token.encode(), digest_size=16).digest()
        content = orjson.dumps(actions, option=orjson.OPT_SORT_KEYS)
        self._digest = blake2b(content, digest_size=DIGEST_BYTES).digest()

    def units_of_first(self, batch: WriteBatch) -> list[float] | None:
        """What reading the items of the first request with this token costs, by action; None if there was none."""
        found = batch.get_record(self._key)
        if found is None or int.from_bytes(found[:8], "big") + TRANSACTION_TOKEN_SECONDS <= batch.now:
            return None
        if found[8 : 8 + DIGEST_BYTES] != self._digest:
            raise IdempotentParameterMismatchException(
                "Specified idempotent token was used with different request parameters within the idempotency window"
            )
        # Earlier versions kept no units, for ten minutes.
        units: list[float] = orjson.loads(found[8 + DIGEST_BYTES :] or b"[]")
        return units

    def remember(self, batch: WriteBatch, units: list[float]) -> None:
        batch.put_record(self._key, int(batch.now).to_bytes(8, "big") + self._digest + orjson.dumps(units))
