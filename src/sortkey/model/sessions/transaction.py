"""Transactions: up to 100 writes and checks of any items, all or nothing.

tx = sk.Transaction()
tx.put(order, if_absent=True)
tx.update(Stock.key(product="P1"), {"left": sk.add(-1)}, where={"left": sk.at_least(1)})
await db.transact(tx)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.limits import TRANSACTION_ACTIONS
from sortkey.model.changes.conditions import Where, render_conditions
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.errors import TransactionFailed, Unsupported
from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value
from sortkey.model.items.item import Item, schema_of
from sortkey.model.paths.access_path import Path
from sortkey.model.sessions.arguments import require_item, require_path
from sortkey.model.sessions.steps import Context, Steps, code_of
from sortkey.model.sessions.updates import Changes, Update, holds, read
from sortkey.model.sessions.writes import delete_request, put_request

_CANCELLED: Final = "TransactionCanceledException"
_CONDITION: Final = "ConditionalCheckFailed"
_TEMPORARY: Final = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


class Action(NamedTuple):
    name: str
    """DynamoDB's name of it, such as `Put`."""
    description: str
    request: dict[str, Any] | Update
    """The request; an update is prepared when it is sent."""
    joined: dict[str, Any] | Update | None = None
    """The request to a store whose index keys have one attribute each, if it differs."""

    def adapted(self, context: Context) -> dict[str, Any] | Update:
        return self.request if self.joined is None or context.multi_attribute_keys else self.joined


class Transaction:
    """Actions to carry out together. Nothing is sent before `db.transact`."""

    def __init__(self) -> None:
        self.actions: list[Action] = []

    def put(self, item: Item, *, newer_by: str | None = None, if_absent: bool = False) -> None:
        """Add a put of a whole item; see `Session.put`."""
        require_item(item)
        schema = schema_of(type(item))
        members = put_request(schema, item, newer_by, if_absent, None)
        joined = None if schema.joined is None else put_request(schema.joined, item, newer_by, if_absent, None)
        self.actions.append(Action("Put", f"put of {schema.name}", members, joined))

    def update(self, path: Path[Any], changes: Changes, *, where: Where | None = None) -> None:
        """Add an update of some fields; see `Session.update`."""
        require_path(path)
        joined = None if path.schema.joined is None else Update(path.joined(), changes, where)
        self.actions.append(Action("Update", f"update of {path!r}", Update(path, changes, where), joined))

    def delete(self, path: Path[Any], *, where: Where | None = None) -> None:
        """Add a delete; see `Session.delete`."""
        members = delete_request(path, where)
        self.actions.append(Action("Delete", f"delete of {path!r}", members))

    def check(self, path: Path[Any], *, where: Where) -> None:
        """Require that an item matches `where`, without writing it."""
        require_path(path)
        placeholders = Placeholders()
        tests = render_conditions(path.schema, where, placeholders)
        members = {"TableName": path.table, "Key": path.key(), "ConditionExpression": all_of(tests)}
        self.actions.append(Action("ConditionCheck", f"check of {path!r}", placeholders.added_to(members)))


def transact(context: Context, transaction: Transaction) -> Steps[None]:
    context.require_transactions("transact")
    if not 1 <= len(transaction.actions) <= TRANSACTION_ACTIONS:
        raise ValueError(f"a transaction has 1 to {TRANSACTION_ACTIONS} actions, not {len(transaction.actions)}")
    rows: dict[int, Row] = {}
    attempt = 0
    while True:
        items, guards = yield from _prepared(context, transaction, rows)
        try:
            yield from context.send("TransactWriteItems", {"TransactItems": items}, "transaction")
        except ClientError as error:
            rows |= _changed_rows(transaction, guards, error)
        else:
            return
        yield context.pacing.pause(attempt)
        attempt += 1


Guards = dict[int, Mapping[str, Value | None]]


def _prepared(
    context: Context, transaction: Transaction, rows: dict[int, Row]
) -> Steps[tuple[list[dict[str, Any]], Guards]]:
    """The actions as they are sent, and the guards of updates among them."""
    items: list[dict[str, Any]] = []
    guards: Guards = {}
    for index, planned in enumerate(transaction.actions):
        name, action = planned.name, planned.adapted(context)
        if not isinstance(action, Update):
            items.append({name: action})
            continue
        prepared = action.prepare(rows.get(index))
        if prepared is None:
            rows[index] = yield from read(context, action)
            prepared = action.prepare(rows[index])
        if prepared is None or (index in rows and action.is_outdated(rows[index])):
            raise Unsupported(
                f"{action.path!r} has an older version; put the item whole before a transaction updates it"
            )
        items.append({name: prepared.members})
        guards[index] = prepared.guards
    return items, guards


def _changed_rows(transaction: Transaction, guards: Guards, error: ClientError) -> dict[int, Row]:
    """The rows that have changed since they were read; raises if another reason cancelled the transaction."""
    if code_of(error) != _CANCELLED:
        raise error
    response: Any = error.response
    reasons = response["CancellationReasons"]
    changed = {
        index: reason["Item"]
        for index, reason in enumerate(reasons)
        if reason["Code"] == _CONDITION
        and guards.get(index)
        and "Item" in reason
        and not holds(guards[index], reason["Item"])
    }
    for index, reason in enumerate(reasons):
        if reason["Code"] not in _TEMPORARY and reason["Code"] != "None" and index not in changed:
            raise _failed(transaction, reasons) from None
    return changed


def _failed(transaction: Transaction, reasons: list[dict[str, Any]]) -> TransactionFailed:
    codes = [None if reason["Code"] == "None" else reason["Code"] for reason in reasons]
    reported = [
        f"{action.description}: {code}"
        for action, code in zip(transaction.actions, codes, strict=True)
        if code is not None
    ]
    return TransactionFailed(f"nothing was written: {'; '.join(reported)}", codes)
