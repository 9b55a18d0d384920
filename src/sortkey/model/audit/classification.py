"""`classify`: compares one row with the declarations of its table. It reads and writes nothing."""

from __future__ import annotations

from typing import Any

from sortkey.model.audit.finding import Finding, Kind, Repair, Verdict
from sortkey.model.audit.index_keys import audit_index_keys, is_same
from sortkey.model.audit.ttl import audit_ttl
from sortkey.model.errors import DeclarationError, DecodeError, ModelError
from sortkey.model.items.codec import Row
from sortkey.model.items.schema import Schema
from sortkey.model.tables.table import Table


def classify(table: Table, row: Row, *, native: bool = True) -> Verdict:
    """The findings about a row, and its repair. `native` if the store has multi-attribute index keys.

    The index keys of a row that cannot be decoded, or that disagrees with its primary key, are not judged: what they
    should be is not known."""
    declared = table.schema_of(row)
    if declared is None:
        return Verdict(None, (Finding(Kind.UNRECOGNISED),))
    schema = declared if native else declared.joined or declared
    findings: list[Finding] = []
    repairs: list[Repair] = []
    ttl = audit_ttl(table.ttl_attribute, row)
    readable = row
    if ttl is not None:
        findings.append(ttl.finding)
        if ttl.value is not None:
            name = ttl.finding.subject
            repairs.append(Repair({name: ttl.value}, (), {name: row[name]}))
            readable = {**row, name: ttl.value}
    try:
        item = schema.decode(readable)
    except DeclarationError:
        raise
    except Exception as error:  # noqa: BLE001 - an upgrade, which is the program's own, may raise anything
        findings.append(Finding(Kind.UNDECODABLE, detail=_reason(error)))
        return _verdict(schema, findings, repairs)
    disagreeing = _disagreement(schema, item, row)
    if disagreeing is not None:
        return _verdict(schema, [*findings, disagreeing], repairs)
    if schema.is_outdated(row):
        version = schema.row_version(row)
        findings.append(Finding(Kind.OLDER_VERSION, detail=f"version {version}; the class has {schema.version}"))
    for finding, repair in audit_index_keys(schema, item, row):
        findings.append(finding)
        if repair is not None:
            repairs.append(repair)
    return _verdict(schema, findings, repairs)


def _verdict(schema: Schema[Any], findings: list[Finding], repairs: list[Repair]) -> Verdict:
    repair: Repair | None = None
    for each in repairs:
        repair = each if repair is None else repair.joined(each)
    return Verdict(schema.name, tuple(findings), repair)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, DecodeError) else f"{type(error).__name__}: {error}"


def _disagreement(schema: Schema[Any], item: Any, row: Row) -> Finding | None:
    """A row whose item has another primary key: writing the item back would make a second row."""
    try:
        if all(is_same(row[name], value) for name, value in schema.key_of(item).items()):
            return None
        reason = f"{schema.name}.{schema.primary.name} would write another key"
    except ModelError as error:
        reason = str(error)
    in_key = schema.primary.parse(row) or {}
    names = [name for name, value in in_key.items() if getattr(item, name) != value]
    if names:
        reason = ", ".join(f"{name} is {getattr(item, name)!r}, but {in_key[name]!r} in the key" for name in names)
    return Finding(Kind.KEY_DISAGREES, ", ".join(names), reason)
