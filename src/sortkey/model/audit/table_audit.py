"""`TableAudit`: judges the rows of a table as a scan hands them out, and repairs them in small groups.

Each repair is one write, conditional on what it was computed from. If another writer was faster, the error has the row
as it is now: it is judged again, and repaired if it still needs that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.model.audit.classification import Classifier
from sortkey.model.audit.finding import Finding, Kind, Repair, Verdict
from sortkey.model.audit.report import EXAMPLES, AuditReport, Outcome
from sortkey.model.calls.conditional_writes import row_of_failed_condition
from sortkey.model.calls.skipped_rows import advice
from sortkey.model.calls.steps import PARALLEL, THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.costs.meter import units_of
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.tables.provision import tables_of

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


REPORTED_ROWS: Final = 500
"""After so many rows at most, the audit reports its progress."""


class AuditProgress(NamedTuple):
    """How far an audit is; `progress=` receives one after every few hundred rows."""

    report: AuditReport
    """What was found up to the cursor; the audit does not change it any more."""
    cursor: str
    """From here another audit continues."""


ShowProgress = Callable[[AuditProgress], None]


class AuditOptions(NamedTuple):
    repair: bool = False
    upgrade: bool = False
    rewrite: bool = False
    rate: float | None = None
    examples: int = EXAMPLES
    only_index: str | None = None
    """The only index whose keys are judged; None for all indexes, and what else there is to judge."""


class TableAudit:
    def __init__(self, context: Context, audited: Table | type[Item], options: AuditOptions) -> None:
        (table,) = tables_of([audited])
        self.report = AuditReport(table.name, most_examples=options.examples)
        self._classifier = Classifier(
            table,
            native=context.multi_attribute_keys,
            upgrade=options.upgrade,
            rewrite=options.rewrite,
            only_index=options.only_index,
        )
        self._repair = options.repair
        self._rate = options.rate
        self._schema = table.schemas[0]
        self._key = tuple(part.name for part in self._schema.primary.attributes)
        self._repairs = RowRepairs(context, table.name, self._classifier.classify, self.report)
        self._pending: list[Pending] = []
        self._since = 0
        self._paused = 0.0

    def add(self, row: Row) -> bool:
        """Judges a row. Returns whether it is time to `settle`."""
        verdict = self._explained(self._classifier.classify(row), row)
        key = {name: row[name] for name in self._key}
        if self._repair and verdict.repair is not None:
            self._pending.append(Pending(key, verdict, verdict.repair))
        else:
            self.report.add(key, verdict)
        self._since += 1
        return len(self._pending) == PARALLEL or self._since == REPORTED_ROWS

    def _explained(self, verdict: Verdict, row: Row) -> Verdict:
        """The first rows that no class recognises are reported with the key that would read them."""
        if verdict.entity is not None or self.report.count(Kind.UNRECOGNISED) >= self.report.most_examples:
            return verdict
        return Verdict(None, (Finding(Kind.UNRECOGNISED, detail=advice(self._schema, row)),))

    def settle(self) -> Steps[None]:
        """Repairs the rows that need it, so that the report has all rows that were added."""
        pending, self._pending, self._since = self._pending, [], 0
        return self._repairs.carry_out(pending)

    def pause(self) -> float:
        """The seconds to wait for the units written since the last pause, if the rate is limited."""
        if self._rate is None:
            return 0.0
        written, self._paused = self.report.write_units - self._paused, self.report.write_units
        return written / self._rate
