"""The page that `sortkey audit` prints: for each table the counts, with examples, and what it cost.

table shop: 4,000 rows, 3,921 fine
     rows  repairable  class  finding
       79          79  Order  index-key-stale of gsi1: the index key is stale
                              pk='CUSTOMER#ada', sk='ORDER#3': gsi1sk='OPEN' should be gsi1sk='DONE'
cost: 61 read units ($0.000008)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from sortkey.model.audit.report import AuditReport, FindingCount
from sortkey.model.costs import explain

_NO_CLASS = "(none)"


def json_page(reports: Sequence[AuditReport], differences: Sequence[str], *, repair: bool) -> str:
    clean = all(report.is_clean for report in reports)
    made = {"clean": clean, "repair": repair, "differences": list(differences), "tables": list(reports)}
    return msgspec.json.format(msgspec.json.encode(made)).decode() + "\n"


def page(reports: Sequence[AuditReport], differences: Sequence[str], *, repair: bool) -> str:
    lines = [line for report in reports for line in (*_lines(report, repair=repair), "")]
    lines += [f"differs from its declaration: {difference}" for difference in differences]
    lines.append(_summary(reports, repair=repair))
    return "\n".join(lines) + "\n"


def _lines(report: AuditReport, *, repair: bool) -> Iterator[str]:
    yield f"table {report.table}: {report.rows:,} rows, {report.fine:,} fine"
    titles = ("rows", "repaired", "skipped", "left") if repair else ("rows", "repairable")
    findings = sorted(report.findings, key=lambda each: (not each.kind.is_flaw, each.entity or "", each.kind.value))
    if findings:
        width = max(len(each.entity or _NO_CLASS) for each in findings)
        yield _columns(titles) + f"  {'class':{width}}  finding"
        for each in findings:
            counts = (each.rows, each.repaired, each.skipped, each.left) if repair else (each.rows, each.repairable)
            numbers = [f"{count:,}" for count in counts]
            yield f"{_columns(numbers, titles)}  {each.entity or _NO_CLASS:{width}}  {_described(each)}"
            indent = " " * (len(_columns(titles)) + width + 4)
            yield from (f"{indent}{_shown(example.key)}{_after_colon(example.detail)}" for example in each.examples)
    if report.changed or report.deleted:
        yield f"meanwhile, others changed {report.changed:,} of these rows and deleted {report.deleted:,}"
    yield f"cost: {_cost(report)}"


def _columns(texts: Sequence[str], titles: Sequence[str] | None = None) -> str:
    return "".join(f"{text:>{max(9, len(title)) + 2}}" for text, title in zip(texts, titles or texts, strict=True))


def _described(finding: FindingCount) -> str:
    subject = f" of {finding.subject}" if finding.subject else ""
    return f"{finding.kind}{subject}: {finding.kind.meaning}"


def _shown(key: dict[str, Any]) -> str:
    return ", ".join(f"{name}={content!r}" for name, value in key.items() for content in value.values())


def _after_colon(detail: str) -> str:
    return f": {detail}" if detail else ""


def _cost(report: AuditReport) -> str:
    dollars = explain.read_dollars_per_million(report.read_units) + explain.write_dollars_per_million(
        report.write_units
    )
    written = f" and {report.write_units:,g} write units" if report.write_units else ""
    return f"{report.read_units:,g} read units{written} (${dollars / 1_000_000:,.6f}, list price of {explain.REGION})"


def _summary(reports: Sequence[AuditReport], *, repair: bool) -> str:
    flaws = [each for report in reports for each in report.findings if each.kind.is_flaw]
    left, repairable = sum(each.left for each in flaws), sum(each.repairable - each.repaired for each in flaws)
    if not left:
        return "clean"
    advice = "" if repair or not repairable else f"; --repair can repair {repairable:,} of them"
    if repair and any(each.skipped for each in flaws):
        advice = "; other writers kept changing some of the rows: repair again"
    return f"{left:,} findings are left{advice}" if repair else f"{left:,} findings{advice}"
