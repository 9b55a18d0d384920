"""Requests that AWS would reject, now and then, and batches of which a part is left unprocessed.

Rejected are throttled requests, and those that meet another transaction's item. They have written nothing. The errors
and their texts are AWS's.

AWS processes at least one item of a batch, or rejects the whole of it (which is the throttle's part). So a batch of one
item is always processed, and a program that sends the rest again comes to an end.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec

from sortkey.engine.faults.faults import Faults
from sortkey.engine.operations import STATEMENTS, writes
from sortkey.engine.operations.batches import unprocessed_keys
from sortkey.engine.operations.transactions import cancelled
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import BatchGetItem, BatchWriteItem, WriteRequest
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.statements import ExecuteTransaction, statements_of
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.tables.core import Answer, Core
from sortkey.engine.tables.settings import ON_DEMAND
from sortkey.errors import (
    ProvisionedThroughputExceededException,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
    ValidationException,
)
from sortkey.expressions.partiql_parser import parse_statement

SINGLE_WRITES: Final = frozenset({"DeleteItem", "PutItem", "UpdateItem"})
TRANSACTIONS: Final = frozenset({"TransactGetItems", "TransactWriteItems", "ExecuteTransaction"})
BATCHES: Final = frozenset({"BatchGetItem", "BatchWriteItem"})
ITEM_OPERATIONS: Final = SINGLE_WRITES | TRANSACTIONS | BATCHES | STATEMENTS | {"GetItem", "Query", "Scan"}

CONFLICT: Final = "Transaction is ongoing for the item"
ON_DEMAND_EXCEEDED: Final = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or "
    "index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)
PROVISIONED_EXCEEDED: Final = (
    "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning "
    "level with the UpdateTable API."
)

Reject = Callable[[Core, str, Any], None]
"""Raises DynamoDBError for some of the requests: of a database, for an operation."""

Amend = Callable[[Answer], Answer]
"""Adds what was left unprocessed to the answer of the rest."""


def rejections(faults: Faults) -> list[Reject]:
    """Those that are switched on."""
    chosen: list[Reject] = []
    if faults.throttle:
        chosen.append(_Throttle(faults))
    if faults.transaction_conflicts:
        chosen.append(_Conflicts(faults))
    return chosen


class _Throttle:
    def __init__(self, faults: Faults) -> None:
        self._probability = faults.throttle
        self._random = faults.random("throttle")

    def __call__(self, core: Core, operation: str, request: Any) -> None:
        if operation not in ITEM_OPERATIONS or self._random.random() >= self._probability:
            return
        on_demand = _is_on_demand(core, operation, request)
        if on_demand is None:
            return
        if operation in TRANSACTIONS:
            code = "ThrottlingError" if on_demand else "ProvisionedThroughputExceeded"
            message = ON_DEMAND_EXCEEDED if on_demand else PROVISIONED_EXCEEDED
            raise _cancelled(self._random, _actions(request), code, message)
        if on_demand:
            raise ThrottlingException(ON_DEMAND_EXCEEDED)
        raise ProvisionedThroughputExceededException(PROVISIONED_EXCEEDED)


class _Conflicts:
    def __init__(self, faults: Faults) -> None:
        self._probability = faults.transaction_conflicts
        self._random = faults.random("transaction_conflicts")

    def __call__(self, core: Core, operation: str, request: Any) -> None:
        transaction = operation in TRANSACTIONS
        if not transaction and operation not in SINGLE_WRITES and not _is_single_statement(operation, request):
            return
        if self._random.random() >= self._probability or _is_on_demand(core, operation, request) is None:
            return
        if transaction:
            raise _cancelled(self._random, _actions(request), "TransactionConflict", CONFLICT)
        raise TransactionConflictException(CONFLICT)


def _is_single_statement(operation: str, request: Any) -> bool:
    """Whether it is the write of one item by a statement."""
    return operation == "ExecuteStatement" and writes(operation, request)


def _actions(request: Any) -> int:
    """How many actions a transaction has."""
    return len(request.transact_statements if isinstance(request, ExecuteTransaction) else request.transact_items)


def _cancelled(random: Random, actions: int, code: str, message: str) -> TransactionCanceledException:
    """A transaction that one of its actions, chosen at random, has cancelled."""
    reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in range(actions)]
    reasons[random.randrange(actions)] = {"Code": code, "Message": message}
    return cancelled(reasons)


def _is_on_demand(core: Core, operation: str, request: Any) -> bool | None:
    """Whether the first table is billed by request; None if a table does not exist, which the operation reports."""
    snapshot, tables = core.read_tables()
    snapshot.abort()
    try:
        found = [tables.get(table_name_of(given)) for given in _tables(operation, request)]
    except ValidationException:
        return None
    if not found or None in found:
        return None
    return found[0] is not None and found[0].entry.billing_mode == ON_DEMAND


def _tables(operation: str, request: Any) -> list[str]:
    """The names or ARNs that a request gives."""
    if operation in STATEMENTS:
        return [parse_statement(each.statement).table for each in statements_of(request)]
    if operation in BATCHES:
        return [*request.request_items]
    if operation == "TransactGetItems":
        return [each.get.table_name for each in request.transact_items]
    if operation == "TransactWriteItems":
        actions = ((each.condition_check, each.put, each.delete, each.update) for each in request.transact_items)
        return [action.table_name for given in actions for action in given if action is not None]
    return [request.table_name]


class Unprocessed:
    def __init__(self, faults: Faults) -> None:
        self._probability = faults.unprocessed
        self._random = faults.random("unprocessed")

    def take_from(self, request: Shape) -> Amend | None:
        """Take some items out of a batch; None if none are taken, or the request is no batch."""
        if isinstance(request, BatchGetItem):
            return self._take_keys(request)
        return self._take_writes(request) if isinstance(request, BatchWriteItem) else None

    def _take_writes(self, request: BatchWriteItem) -> Amend | None:
        kept, left = self._divide({table: [*writes] for table, writes in request.request_items.items()})
        request.request_items = {**kept}
        if not left:
            return None
        unprocessed = {table: [_shape(each) for each in writes] for table, writes in left.items()}
        return lambda answer: {**answer, "UnprocessedItems": unprocessed}

    def _take_keys(self, request: BatchGetItem) -> Amend | None:
        parts = request.request_items
        kept, left = self._divide({table: part.keys for table, part in parts.items()})
        if not left:
            return None
        request.request_items = {
            table: msgspec.structs.replace(parts[table], keys=keys) for table, keys in kept.items()
        }
        unprocessed = {
            table: unprocessed_keys(msgspec.structs.replace(parts[table], keys=keys)) for table, keys in left.items()
        }

        def amend(answer: Answer) -> Answer:
            for table, part in unprocessed.items():
                # What did not fit into the answer is unprocessed already.
                large = answer["UnprocessedKeys"].setdefault(table, part)
                if large is not part:
                    large["Keys"] += part["Keys"]
                answer["Responses"].setdefault(table, [])
            return answer

        return amend

    def _divide(self, given: dict[str, list[Any]]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Which items are processed and which are left, by table."""
        kept: dict[str, list[Any]] = {}
        left: dict[str, list[Any]] = {}
        for table, items in given.items():
            for item in items:
                part = left if self._random.random() < self._probability else kept
                part.setdefault(table, []).append(item)
        if not kept:
            table = next(iter(left))
            kept[table] = [left[table].pop(0)]
            if not left[table]:
                del left[table]
        return kept, left


def _shape(write: WriteRequest) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    if write.put_request is not None:
        shape["PutRequest"] = {"Item": Json.of(write.put_request.item)}
    if write.delete_request is not None:
        shape["DeleteRequest"] = {"Key": Json.of(write.delete_request.key)}
    return shape
