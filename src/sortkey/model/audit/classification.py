"""`Classifier`: compares rows with the declarations of their table, one by one. It reads and writes nothing."""

from __future__ import annotations

from typing import Any

from sortkey.model.audit.finding import Finding, Kind, Verdict
from sortkey.model.audit.index_keys import audit_index_keys
from sortkey.model.audit.repair import Repair
from sortkey.model.audit.ttl import TtlFinding, audit_ttl
from sortkey.model.changes.row_rewrite import rewrite_row
from sortkey.model.errors import DeclarationError, DecodeError, ModelError
from sortkey.model.fields.codec import Row
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema
from sortkey.model.items.table import Table
from sortkey.model.keys.key_layout import KeyLayout


class Classifier:
    def __init__(
        self, table: Table, *, native: bool = True, upgrade: bool = False, only_index: str | None = None
    ) -> None:
        """`native` if the store has multi-attribute index keys. With `upgrade`, the repair of a row of an older version
        makes it one of the current version. With `only_index`, only the keys of this index are judged."""
        self._table = table
        self._index = only_index
        self._ttl = table.ttl_attribute if only_index is None else None
        self._native = native
        self._upgrade = upgrade

    def classify(self, row: Row) -> Verdict:
        """The findings about a row, and its repair.

        The index keys of a row that cannot be decoded, or that disagrees with its primary key, are not judged: what
        they should be is not known."""
        declared = self._table.schema_of(row) or self._table.schema_of_misplaced(row)
        if declared is None:
            return Verdict(None, (Finding(Kind.UNRECOGNISED),))
        schema = declared if self._native else declared.joined or declared
        findings: list[Finding] = []
        repairs: list[Repair] = []
        ttl = self._judged_ttl(schema, row)
        readable = row
        if ttl is not None:
            findings.append(ttl.finding)
            if ttl.value is not None:
                name = ttl.finding.subject
                guards = {name: row[name], VERSION_ATTRIBUTE: row.get(VERSION_ATTRIBUTE)}
                repairs.append(Repair({name: ttl.value}, (), guards))
                readable = {**row, name: ttl.value}
        try:
            item = schema.decode(readable)
        except DeclarationError:
            raise
        except Exception as error:  # noqa: BLE001 - an upgrade, which is the program's own, may raise anything
            findings.append(Finding(Kind.UNDECODABLE, detail=_reason(error)))
            return _verdict(schema, findings, repairs)
        disagreeing = _disagreement(schema, readable)
        if disagreeing is not None:
            return _verdict(schema, [*findings, disagreeing], repairs)
        for finding, repair in audit_index_keys(schema, item, row, self._index):
            findings.append(finding)
            if repair is not None:
                repairs.append(repair)
        version = schema.row_version(row)
        if self._index is not None or version == schema.version:
            return _verdict(schema, findings, repairs)
        older = Finding(Kind.OLDER_VERSION, detail=f"version {version}; the class has {schema.version}")
        if self._upgrade:
            return self._upgraded(schema, item, row, readable, [*findings, older])
        return _verdict(schema, [*findings, older], repairs)

    def _judged_ttl(self, schema: Schema[Any], row: Row) -> TtlFinding | None:
        """The finding about the TTL. It has a repair only if the row's class says what the attribute is, knows the
        version, and can read the row afterwards: to repair a TTL lets the store delete the item."""
        found = audit_ttl(self._ttl, row)
        if found is None or found.value is None:
            return found
        if schema.codec.ttl_field is None:
            return found.without_repair(f"{schema.name} does not declare it")
        try:
            schema.row_version(row)
        except DecodeError as error:
            return found.without_repair(str(error))
        if _is_readable(schema, row) and not _is_readable(schema, {**row, found.finding.subject: found.value}):
            return found.without_repair(f"{schema.name} could not read the row with {found.value!r}")
        return found

    def _upgraded(self, schema: Schema[Any], item: Any, row: Row, read: Row, findings: list[Finding]) -> Verdict:
        """The verdict about a row of an older version that is to be upgraded, which repairs all findings but a TTL that
        the class does not declare. The item was read from `read`, and the last finding is the version."""
        try:
            # The upgrade may compute anything from any attribute, so all of them must be unchanged.
            sets, removes, guards = rewrite_row(schema, row, item, read=read)
        except ModelError as error:
            # Such as an index key that cannot hold the fields: the item cannot be written.
            *others, older = (each._replace(repairable=False) for each in findings)
            return Verdict(schema.name, (*others, older._replace(detail=f"{older.detail}; {error}")))
        current = {name: value for name, value in {**row, **sets}.items() if name not in removes}
        expires = audit_ttl(self._ttl, current) is None
        repaired = [each._replace(repairable=each.kind is not Kind.TTL or expires) for each in findings]
        return Verdict(schema.name, tuple(repaired), Repair(sets, removes, guards))


def _is_readable(schema: Schema[Any], row: Row) -> bool:
    try:
        schema.decode(row)
    except DeclarationError:
        raise
    except Exception:  # noqa: BLE001 - an upgrade, which is the program's own, may raise anything
        return False
    return True


def _verdict(schema: Schema[Any], findings: list[Finding], repairs: list[Repair]) -> Verdict:
    repair: Repair | None = None
    for each in repairs:
        repair = each if repair is None else repair.joined(each)
    return Verdict(schema.name, tuple(findings), repair)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, DecodeError) else f"{type(error).__name__}: {error}"


def _wrong_shard(primary: KeyLayout, held: dict[str, Any], row: Row) -> Finding | None:
    """A row in a shard in which its key is not looked for."""
    name = primary.partition.name
    wanted = primary.key_from_fields(held)[name]
    if row[name] == wanted:
        return None
    return Finding(Kind.KEY_DISAGREES, name, f"its shard is {wanted['S']!r}, but it is in {row[name]['S']!r}")


def _disagreement(schema: Schema[Any], row: Row) -> Finding | None:
    """An attribute with another value than the primary key. The item shows the key's, and a put would write it."""
    held, said = schema.parsed_key(row), schema.codec.decode(schema.without_unstored(schema.upgraded(row)))
    names = [name for name in held if said.get(name, held[name]) != held[name]]
    if not names:
        return _wrong_shard(schema.primary, held, row) if schema.primary.sharding is not None else None
    reason = ", ".join(f"{name} is {said[name]!r}, but {held[name]!r} in the key" for name in names)
    return Finding(Kind.KEY_DISAGREES, ", ".join(names), reason)
