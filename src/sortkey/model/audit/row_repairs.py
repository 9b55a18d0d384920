"""Repairs rows of a live table, several at a time.

Each repair is one write, conditional on what it was computed from. If another writer was faster, the error has the row
as it is now: it is judged again, and repaired if it still needs that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.model.audit.finding import Verdict
from sortkey.model.audit.repair import Repair
from sortkey.model.audit.report import AuditReport, Outcome
from sortkey.model.calls.conditional_writes import row_of_failed_condition
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.costs.meter import units_of
from sortkey.model.fields.codec import Row

ATTEMPTS: Final = 10
"""How often a row is judged again because other writers change it."""

_REJECTIONS: Final = frozenset({"ValidationException", "ItemCollectionSizeLimitExceededException"})
"""Errors of one row, such as an index key that is too long; others end the audit."""


class Pending(NamedTuple):
    """A row that needs a repair."""

    key: Row
    verdict: Verdict
    repair: Repair
    attempt: int = 0


class RowRepairs:
    def __init__(self, context: Context, table: str, judge: Callable[[Row], Verdict], report: AuditReport) -> None:
        self._context = context
        self._table = table
        self._judge = judge
        self._report = report

    def carry_out(self, rows: Sequence[Pending]) -> Steps[None]:
        """Repairs these rows, and adds them to the report."""
        pending = list(rows)
        attempt = 0
        while pending:
            results = yield ParallelCalls(tuple(map(self._call, pending)))
            left = []
            throttled = False
            for each, result in zip(pending, results, strict=True):
                if not isinstance(result, ClientError):
                    self._repaired(each, result)
                elif code_of(result) in THROTTLED:
                    throttled = True
                    left.append(each)
                elif code_of(result) in _REJECTIONS:
                    self._report.add(each.key, each.verdict, Outcome.REJECTED, str(result))
                elif (again := self._judged_again(each, row_of_failed_condition(result))) is not None:
                    left.append(again)
            pending = left
            if throttled:
                yield self._context.pacing.pause(attempt)
                attempt += 1

    def _call(self, pending: Pending) -> Call:
        members = pending.repair.request(self._table, pending.key)
        return self._context.call("UpdateItem", members, f"repair {self._table}")

    def _repaired(self, pending: Pending, answer: Answer) -> None:
        self._report.write_units += units_of(answer.get("ConsumedCapacity"))
        self._report.add(pending.key, pending.verdict, Outcome.REPAIRED)

    def _judged_again(self, pending: Pending, row: Row | None) -> Pending | None:
        """What is still to be repaired of a row that another writer has changed."""
        if row is None:
            self._report.deleted += 1
            return None
        self._report.changed += pending.attempt == 0
        verdict = self._judge(row)
        if verdict.repair is None:
            self._report.add(pending.key, verdict)
            return None
        if pending.attempt == ATTEMPTS:
            self._report.add(pending.key, verdict, Outcome.SKIPPED)
            return None
        return Pending(pending.key, verdict, verdict.repair, pending.attempt + 1)
