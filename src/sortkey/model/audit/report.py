"""`AuditReport`: how many rows of a table have which findings, with examples, and what a repair made of them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import msgspec

from sortkey.model.audit.finding import Finding, Kind, Verdict
from sortkey.model.fields.codec import Row

EXAMPLES: Final = 3
"""How many rows of each finding a report names, unless it is asked for more."""


class Outcome(Enum):
    """What became of a row whose findings can be repaired."""

    FOUND = "not to be repaired"
    REPAIRED = "repaired"
    SKIPPED = "changed meanwhile, again and again"
    REJECTED = "the store rejected the repair"


class Example(msgspec.Struct, frozen=True):
    key: dict[str, Any]
    """The row's primary key, in boto3 shape."""
    detail: str


class FindingCount(msgspec.Struct):
    """The rows of one class with one finding."""

    entity: str | None = msgspec.field(name="class")
    kind: Kind
    subject: str
    """The index or the attribute."""
    rows: int = 0
    repairable: int = 0
    repaired: int = 0
    skipped: int = 0
    """Rows that other writers changed whenever they were to be repaired."""
    examples: list[Example] = msgspec.field(default_factory=list)

    @property
    def left(self) -> int:
        """The rows that still have it."""
        return self.rows - self.repaired


class AuditReport(msgspec.Struct):
    """What an audit of a table found. Each row is counted as it was when it was last seen."""

    table: str
    rows: int = 0
    fine: int = 0
    """Rows without any finding."""
    changed: int = 0
    """Rows that another writer changed between their audit and their repair; they were judged again."""
    deleted: int = 0
    """Rows that another writer deleted before their repair."""
    read_units: float = 0.0
    write_units: float = 0.0
    findings: list[FindingCount] = msgspec.field(default_factory=list)
    most_examples: int = EXAMPLES
    """How many rows of each finding it names at most."""

    @property
    def is_clean(self) -> bool:
        """Whether no flaw is left. A row of an older version is none."""
        return not any(each.left for each in self.findings if each.kind.is_flaw)

    def count(self, kind: Kind) -> int:
        """The number of findings of a kind, of all classes and indexes."""
        return sum(each.rows for each in self.findings if each.kind is kind)

    def add(self, key: Row, verdict: Verdict, outcome: Outcome = Outcome.FOUND, rejection: str = "") -> None:
        """Adds a row. `rejection` is the store's reason to reject the repair."""
        self.rows += 1
        self.fine += not verdict.findings
        for finding in verdict.findings:
            counted = self._counted(verdict.entity, finding)
            counted.rows += 1
            if finding.repairable:
                counted.repairable += 1
                counted.repaired += outcome is Outcome.REPAIRED
                counted.skipped += outcome is Outcome.SKIPPED
            if rejection and finding.repairable:
                # The reason is news, and the rows that were repaired are not.
                counted.examples.insert(0, Example(key, f"{finding.detail}; {rejection}"))
                del counted.examples[self.most_examples :]
            elif len(counted.examples) < self.most_examples:
                counted.examples.append(Example(key, finding.detail))

    def _counted(self, entity: str | None, finding: Finding) -> FindingCount:
        for each in self.findings:
            if each.kind is finding.kind and each.entity == entity and each.subject == finding.subject:
                return each
        made = FindingCount(entity, finding.kind, finding.subject)
        self.findings.append(made)
        return made

    def snapshot(self) -> AuditReport:
        """The report as it is now: rows that are added later are not in it."""
        counts = [msgspec.structs.replace(each, examples=each.examples.copy()) for each in self.findings]
        return msgspec.structs.replace(self, findings=counts)

    def joined(self, other: AuditReport) -> AuditReport:
        """One report of both; `other` is of other rows of the same table."""
        made = AuditReport(self.table, most_examples=max(self.most_examples, other.most_examples))
        for each in (self, other):
            made.rows += each.rows
            made.fine += each.fine
            made.changed += each.changed
            made.deleted += each.deleted
            made.read_units += each.read_units
            made.write_units += each.write_units
            for theirs in each.findings:
                ours = made._counted(theirs.entity, Finding(theirs.kind, theirs.subject))
                ours.rows += theirs.rows
                ours.repairable += theirs.repairable
                ours.repaired += theirs.repaired
                ours.skipped += theirs.skipped
                ours.examples = [*ours.examples, *theirs.examples][: made.most_examples]
        return made
