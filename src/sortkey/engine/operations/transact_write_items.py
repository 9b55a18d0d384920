"""TransactWriteItems: up to a hundred writes and condition checks, all or nothing."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from sortkey.engine import write
from sortkey.engine.answer_metrics import Consumed, collection_metrics, is_requested
from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.rehearsal import rehearsed_together
from sortkey.engine.requests.transactions import TransactWriteItems
from sortkey.engine.tables.table import Table
from sortkey.engine.transactions import transaction
from sortkey.engine.transactions.action import Action, Prepared, action_of
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException
from sortkey.limits import TRANSACTION_BYTES
from sortkey.values.size import transactional_read_units


def transact_write_items(core: Core, request: TransactWriteItems) -> Work:
    actions = [action_of(each) for each in request.transact_items]
    for payload in accumulate(action.payload for action in actions):
        if payload > TRANSACTION_BYTES:
            raise ValidationException(f"Transaction payload size cannot exceed 4MB. Payload Size: {payload}")
    token = None
    if request.client_request_token is not None:
        token = transaction.Token(request.client_request_token, [action.meaning for action in actions])

    def work(batch: WriteBatch) -> Answer:
        tables = [core.catalog.require_in(batch, action.name) for action in actions]
        if token is not None and token.used(batch):
            return _repeated(batch, request, actions, tables)
        prepared = _prepare(batch, actions, tables)
        totals: dict[str, Consumed] = {}
        for each in prepared:
            written = each.apply(batch)
            total = totals.setdefault(written.table.name, Consumed(written.table))
            # A transaction writes everything twice: once to prepare and once to commit.
            total.add(2 * written.units, {name: 2 * units for name, units in written.indexes.items()})
            batch.charge(each.found.key, written.units)
        if token is not None:
            token.remember(batch)
        return _answer(batch, request, prepared, totals)

    return rehearsed_together(work, [(action.name, action.keyed, action.condition) for action in actions])


def _prepare(batch: WriteBatch, actions: list[Action], tables: list[Table]) -> list[Prepared]:
    """Check every action against the stored items, before any action changes one."""
    found = transaction.map_actions(lambda action, table: action.find(batch, table), actions, tables)
    transaction.check_distinct([each.key for each in found])
    for action, table in zip(actions, tables, strict=True):
        action.check_expressions(table)
    return transaction.map_actions(lambda action, row: action.prepare(row), actions, found)


def _answer(
    batch: WriteBatch, request: TransactWriteItems, prepared: list[Prepared], totals: dict[str, Consumed]
) -> Answer:
    answer: Answer = {}
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = [
            total.shape(request.return_consumed_capacity, "Write") for total in totals.values()
        ]
    if request.return_item_collection_metrics == "SIZE":
        metrics = _metrics(batch, prepared, totals)
        if metrics:
            answer["ItemCollectionMetrics"] = metrics
    return answer


def _metrics(
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


def _repeated(batch: WriteBatch, request: TransactWriteItems, actions: list[Action], tables: list[Table]) -> Answer:
    """The same request again: it writes nothing, and costs what reading the items costs."""
    if not is_requested(request.return_consumed_capacity):
        return {}
    totals: dict[str, Consumed] = {}
    for action, table in zip(actions, tables, strict=True):
        found: write.Found = action.find(batch, table)
        totals.setdefault(table.name, Consumed(table)).add(transactional_read_units(found.size))
    return {"ConsumedCapacity": [total.shape(request.return_consumed_capacity, "Read") for total in totals.values()]}
