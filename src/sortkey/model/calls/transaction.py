"""Transactions: up to 100 writes and checks of any items, all or nothing.

tx = sk.Transaction()
tx.put(order, if_absent=True)
tx.update(Stock.key(product="P1"), [left.add(-1)], where=left >= 1)
await db.transact(tx)
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.limits import TRANSACTION_ACTIONS
from sortkey.model.calls.arguments import require_item, require_path
from sortkey.model.calls.conditional_writes import ConditionalWrite, may_succeed, read
from sortkey.model.calls.steps import Context, Steps, code_of
from sortkey.model.calls.updates import Update
from sortkey.model.calls.writes import DeleteOrCheck, Put
from sortkey.model.changes.conditions import Where
from sortkey.model.changes.operators import Changes
from sortkey.model.changes.typed_field import FieldName, name_of
from sortkey.model.changes.write_conditions import PutOptions
from sortkey.model.errors import TransactionFailed
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of

_CANCELLED: Final = "TransactionCanceledException"
_MISMATCH: Final = "IdempotentParameterMismatchException"
_LONGEST_TOKEN: Final = 36
_CONDITION: Final = "ConditionalCheckFailed"
_TEMPORARY: Final = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


class Action(NamedTuple):
    write: ConditionalWrite
    joined: ConditionalWrite | None = None
    """The write to a store whose index keys have one attribute each, if it differs."""

    def adapted(self, context: Context) -> ConditionalWrite:
        return self.write if self.joined is None or context.multi_attribute_keys else self.joined


class Transaction:
    """Actions to carry out together. Nothing is sent before `db.transact`, which writes items and changes as they were
    when they were added."""

    def __init__(self, *, token: str | None = None) -> None:
        """For ten minutes, a transaction with a `token` of its own is made once, however often it is sent."""
        if token is not None and not 1 <= len(token) <= _LONGEST_TOKEN:
            raise ValueError(f"a token has 1 to {_LONGEST_TOKEN} characters, not {len(token)}")
        self.token = token
        self.actions: list[Action] = []
        self.sent: list[dict[str, dict[str, Any]]] | None = None
        """The actions as they were sent with the token; another attempt must send the same."""

    def __repr__(self) -> str:
        return f"<transaction: {', '.join(action.write.description for action in self.actions) or 'no actions'}>"

    def _add(self, action: Action) -> None:
        for write in (action.write, action.joined):
            if write is not None:
                write.detach()
        self.actions.append(action)
        self.sent = None

    def put(
        self,
        item: Item,
        *,
        newer_by: FieldName | None = None,
        if_absent: bool = False,
        if_version: FieldName | None = None,
        where: Where | None = None,
    ) -> None:
        """Add a put of a whole item; see `Session.put`."""
        require_item(item)
        schema = schema_of(type(item))
        options = PutOptions(name_of(newer_by), if_absent, name_of(if_version), where)
        joined = None if schema.joined is None else Put(schema.joined, item, options)
        self._add(Action(Put(schema, item, options), joined))

    def update(self, path: AccessPath[Any], changes: Changes, *, where: Where | None = None) -> None:
        """Add an update of some fields; see `Session.update`."""
        require_path(path)
        joined = None if path.schema.joined is None else Update(path.joined(), changes, where)
        self._add(Action(Update(path, changes, where), joined))

    def delete(self, path: AccessPath[Any], *, where: Where | None = None) -> None:
        """Add a delete; see `Session.delete`."""
        self._add(Action(DeleteOrCheck("Delete", path, where)))

    def check(self, path: AccessPath[Any], *, where: Where) -> None:
        """Require that an item matches `where`, without writing it."""
        self._add(Action(DeleteOrCheck("ConditionCheck", path, where)))


def transact(context: Context, transaction: Transaction, metered: str = "transaction") -> Steps[None]:
    if not isinstance(transaction, Transaction):
        raise TypeError(f"expected an sk.Transaction, not {type(transaction).__name__}")
    context.require_transactions("transact", "have one write decide, such as that of a row which the others name")
    if not 1 <= len(transaction.actions) <= TRANSACTION_ACTIONS:
        raise ValueError(f"a transaction has 1 to {TRANSACTION_ACTIONS} actions, not {len(transaction.actions)}")
    writes = [action.adapted(context) for action in transaction.actions]
    now = context.moment
    for write in writes:
        write.stamp(now)
    rows: dict[int, Row] = {}
    attempt = 0
    while True:
        items = transaction.sent or (yield from _prepared(context, writes, rows))
        members: dict[str, Any] = {"TransactItems": items}
        if transaction.token is not None:
            members["ClientRequestToken"] = transaction.token
            transaction.sent = items
        try:
            yield from context.send("TransactWriteItems", members, metered)
        except ClientError as error:
            if code_of(error) == _CANCELLED:
                # The store has written nothing, so the next attempt may differ.
                transaction.sent = None
            found = _rows_to_retry_from(writes, items, error)
        else:
            break
        if not found or found.keys() & rows.keys():
            # A row was known, and another writer has changed it since; or another transaction was in the way.
            yield context.pacing.pause(attempt)
            attempt += 1
        rows |= found
    for write in writes:
        if isinstance(write, Put):
            write.written()


def _prepared(
    context: Context, writes: list[ConditionalWrite], rows: dict[int, Row]
) -> Steps[list[dict[str, dict[str, Any]]]]:
    """The actions as they are sent; adds the rows that had to be read to `rows`."""
    items: list[dict[str, dict[str, Any]]] = []
    for index, write in enumerate(writes):
        prepared = write.prepare(rows.get(index))
        while prepared is None:
            rows[index] = yield from read(context, write)
            prepared = write.prepare(rows[index])
        items.append({prepared.action: prepared.members})
    return items


def _rows_to_retry_from(
    writes: list[ConditionalWrite], sent: list[dict[str, dict[str, Any]]], error: ClientError
) -> dict[int, Row]:
    """The rows that make other requests of the writes that failed on them; raises if another reason cancelled the
    transaction."""
    if code_of(error) == _MISMATCH:
        raise TransactionFailed(
            "nothing was written: within ten minutes, a transaction with this token was made, which differs",
            ["IdempotentParameterMismatch"] * len(writes),
        ) from None
    if code_of(error) != _CANCELLED:
        raise error
    response: Any = error.response
    codes: list[str | None] = [
        None if reason["Code"] == "None" else reason["Code"] for reason in response["CancellationReasons"]
    ]
    again = {
        index: reason["Item"]
        for index, reason in enumerate(response["CancellationReasons"])
        if reason["Code"] == _CONDITION
        and "Item" in reason
        and may_succeed(writes[index], next(iter(sent[index].values())), reason["Item"])
    }
    if any(code is not None and code not in _TEMPORARY and index not in again for index, code in enumerate(codes)):
        raise _failed(writes, codes, response["CancellationReasons"]) from None
    return again


def is_temporary(error: ClientError) -> bool:
    """Whether a cancelled transaction may succeed a little later."""
    response: Any = error.response
    codes = {reason["Code"] for reason in response.get("CancellationReasons", [])} - {"None"}
    return bool(codes) and codes <= _TEMPORARY


def _failed(writes: list[ConditionalWrite], codes: list[str | None], reasons: list[Any]) -> TransactionFailed:
    reported = [
        f"{write.description}: {code}{write.detail(reason.get('Item')) if code == _CONDITION else ''}"
        for write, code, reason in zip(writes, codes, reasons, strict=True)
        if code is not None
    ]
    return TransactionFailed(f"nothing was written: {'; '.join(reported)}", codes)
