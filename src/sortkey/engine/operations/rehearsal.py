"""Costly conditions of writes, evaluated before the writer's turn.

While work runs in the writer's transaction, all other writes wait. A condition with hundreds of operators over an item
of 400 KB takes a second, and a transaction can have a hundred of them. So the endpoint *rehearses* such work first, on
a snapshot and in slices: the conditions are evaluated, and remember for which row they have said what. In the writer's
turn, a row that is still the same needs no second evaluation. If the row has changed meanwhile, the work ends with
NotRehearsed before it writes anything, and has to be rehearsed again.

Work that was never rehearsed, as that of an embedded client, evaluates its conditions in the writer's turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sortkey.engine.operations.slices import SLICE_UNITS, Slices, units_of_rows
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import checked_row_key
from sortkey.errors import ResourceNotFoundException, ValidationException
from sortkey.expressions import Condition
from sortkey.storage import Transaction, is_sound
from sortkey.values.attribute import Item

Result = TypeVar("Result")

CHEAP_EVALUATIONS: Final = 8
"""Work with fewer evaluations in all is not rehearsed."""
CHEAP_UNITS: Final = 100
"""A condition that takes less on a row is evaluated in the writer's turn. A transaction has a hundred at most."""
NO_ROW: Final = b""
"""A fingerprint that no row has."""


class NotRehearsed(Exception):
    """In the writer's turn, a costly condition met a row for which it was not rehearsed. Nothing was written."""


class Check(NamedTuple):
    """A condition on the item with a key."""

    table: str
    keyed: Item
    """Canonical attributes that include the key."""
    condition: Condition


class CostlyWork(Generic[Result]):
    """Work that should be rehearsed."""

    def __init__(self, work: Callable[[WriteBatch], Result], checks: Sequence[Check]) -> None:
        self._work = work
        self._checks = checks

    def __call__(self, batch: WriteBatch) -> Result:
        return self._work(batch)

    def rehearse(self, core: Core) -> Slices[dict[str, Any]]:
        """Evaluate the conditions. The answer is empty."""
        units = 0
        for check in self._checks:
            condition = check.condition
            condition.remember(NO_ROW, False)
            with core.read() as snapshot:
                row = _row(core, snapshot, check)
            if row is None or _is_cheap(condition, row):
                continue
            units += units_of_rows([row], 0)
            step_units = units_of_rows([row], 1) - units_of_rows([row], 0)
            steps = condition.steps(stored_item.decode(row))
            try:
                while True:
                    next(steps)
                    units += step_units
                    if units >= SLICE_UNITS:
                        units = 0
                        yield
            except StopIteration as end:
                condition.remember(stored_item.fingerprint(row), end.value)
        return {}


def rehearsed(
    work: Callable[[WriteBatch], Result], *checks: tuple[str, Item, Condition | None]
) -> Callable[[WriteBatch], Result]:
    """The work; as CostlyWork, if the conditions that it checks may take long. A check has a table and a key, too."""
    given = [Check(table, keyed, condition) for table, keyed, condition in checks if condition is not None]
    evaluations = sum(check.condition.evaluations for check in given)
    return work if evaluations < CHEAP_EVALUATIONS else CostlyWork(work, given)


def recall(condition: Condition, row: bytes | None) -> bool | None:
    """What a rehearsed condition has said of the row; None if it is cheap to evaluate. Raises NotRehearsed."""
    if condition.remembered is None or row is None:
        return None
    fingerprint, verdict = condition.remembered
    if fingerprint != NO_ROW and stored_item.fingerprint(row) == fingerprint:
        return verdict
    if _is_cheap(condition, row):
        return None
    raise NotRehearsed


def _is_cheap(condition: Condition, row: bytes) -> bool:
    return units_of_rows([row], condition.evaluations) < CHEAP_UNITS


def _row(core: Core, snapshot: Transaction, check: Check) -> bytes | None:
    """None if there is no such row, or the work will be rejected anyway, as it is if the row is damaged."""
    try:
        table = core.catalog.require(snapshot, check.table)
        key = checked_row_key(table, {name: check.keyed[name] for name in table.names if name in check.keyed})
    except (ValidationException, ResourceNotFoundException):
        return None
    row = snapshot.get(key)
    return row if row is None or is_sound(row) else None
