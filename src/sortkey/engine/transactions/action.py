"""One action of a TransactWriteItems request: Put, Update, Delete or ConditionCheck.

An action is checked without its table first, then finds its row, then is checked against the row. The actions of a
transaction are applied only when all have passed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sortkey.engine import write
from sortkey.engine.answer_metrics import Consumed
from sortkey.engine.expression_parameters import bindings_of, condition_of
from sortkey.engine.requests import table_name_of, transactions
from sortkey.engine.rows.item_keys import check_scalar_keys, normalise_key
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, Update, update
from sortkey.values.attribute import Item, Normalised, normalise_item
from sortkey.values.size import item_size, write_units

Request = transactions.Put | transactions.Update | transactions.Delete | transactions.ConditionCheck


class Prepared(NamedTuple):
    """An action that has passed all checks: the row it found and the item that it leaves there."""

    action: Action
    found: write.Found
    new: Normalised | None

    def apply(self, batch: WriteBatch) -> Consumed:
        if self.action.only_checks:
            # A check changes nothing, but costs as much as a write of the item.
            units = write_units(self.found.size)
            batch.charge(self.found.key, units)
            return Consumed(self.found.table, units)
        return write.replace(batch, self.found, self.new)


class Action:
    def __init__(self, request: Request) -> None:
        self.name = table_name_of(request.table_name)
        self.only_checks = isinstance(request, transactions.ConditionCheck)
        self._put: Normalised | None = None
        if isinstance(request, transactions.Put):
            self._put = normalise_item(request.item)
            write.check_size(self._put.size)
            keyed = self._put.item
        else:
            keyed = normalise_key(request.key)
        self.keyed: Item = keyed
        """Attributes that include the key."""
        self.payload = item_size(self.keyed)
        self._return_old = request.return_values_on_condition_check_failure
        self._bindings = self._bind(request)
        self._texts = (getattr(request, "update_expression", None), request.condition_expression)

    @property
    def meaning(self) -> list[Any]:
        """What the action asks for, as JSON, in canonical values: equal for two requests that do the same."""
        names, values = (None, None) if self._bindings is None else (self._bindings.names, self._bindings.values)
        does = "put" if self._put is not None else "check" if self.only_checks else "change"
        return [does, self.name, self.keyed, *self._texts, names, values, self._return_old]

    def _bind(self, request: Request) -> Bindings | None:
        self._update: Update | None = None
        if isinstance(request, transactions.Update):
            bindings = bindings_of(request, ("update_expression", "condition_expression"))
            if bindings is not None:
                self._update = update(request.update_expression, bindings)
        else:
            bindings = bindings_of(request, ("condition_expression",))
        self.condition = condition_of(request, bindings)
        if bindings is not None:
            bindings.check_all_used()
        return bindings

    def find(self, batch: WriteBatch, table: Table) -> write.Found:
        """The action's row. Raises ValidationException if the action does not fit the table's keys."""
        if self._put is None:
            found = write.find(batch, table, self.keyed)
            write.check_update(table, self._update)
            return found
        row_key = write.row_key_to_put(table, self._put)
        return write.Found(table, row_key, batch.get(row_key))

    def check_expressions(self, table: Table) -> None:
        check_scalar_keys(table, self._update, self.condition)

    def prepare(self, found: write.Found) -> Prepared:
        write.check_condition(found, self.condition, self._return_old)
        if self._update is None:
            return Prepared(self, found, self._put)
        return Prepared(self, found, write.apply_update(found, self.keyed, self._update))


def action_of(request: transactions.TransactWriteItem) -> Action:
    given = [
        part for part in (request.condition_check, request.put, request.delete, request.update) if part is not None
    ]
    if len(given) > 1:
        raise ValidationException("TransactItems can only contain one of Check, Put, Update or Delete")
    if not given:
        raise ValidationException(
            "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
        )
    return Action(given[0])
