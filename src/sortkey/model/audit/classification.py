"""`Classifier`: compares rows with the declarations of their table, one by one. It reads and writes nothing.

It judges the TTL attribute, which DynamoDB reads as a number of seconds since 1970; the form of each value, because
reading another form raises, and no condition finds it; the primary key; computed fields; and the index keys
(`index_keys.py`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from sortkey.model.audit.finding import Finding, Kind, Repair, Verdict
from sortkey.model.audit.index_keys import audit_index_keys
from sortkey.model.changes.row_rewrite import rewrite_row
from sortkey.model.errors import DeclarationError, DecodeError, EncodeError, ModelError
from sortkey.model.fields.codec import Field, Row, stored_forms
from sortkey.model.fields.converter import NULL, Value, any_form
from sortkey.model.fields.numeric_times import to_epoch
from sortkey.model.fields.stored_forms import is_same
from sortkey.model.items.item import replace as replace_fields
from sortkey.model.items.revision import next_revision
from sortkey.model.items.schema import VERSION_ATTRIBUTE, IncompleteRow, IndexKeysDisagree, Schema
from sortkey.model.items.table import Table
from sortkey.model.keys.key_layout import KeyLayout

_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999; a greater number is not meant as seconds."""
_DIGITS: Final = 10
"""The seconds of the years 2001 to 2286 have so many digits. A text with fewer may be a day or a year."""


class TtlFinding(NamedTuple):
    finding: Finding
    value: Value | None
    """The number of seconds that was meant; None if that is not certain."""

    def without_repair(self, reason: str) -> TtlFinding:
        finding = self.finding._replace(detail=f"{self.finding.detail}; {reason}", repairable=False)
        return TtlFinding(finding, None)


def audit_ttl(attribute: str | None, row: Row) -> TtlFinding | None:
    """What is wrong with the TTL attribute of a row; None if nothing is."""
    if attribute is None or row.get(attribute, NULL) == NULL:
        return None
    ((tag, content),) = row[attribute].items()
    if tag == "N":
        if Decimal(content) <= _LAST_SECOND:
            return None
        # As seconds it would delete the item some day; a wrong guess would delete it now.
        return TtlFinding(Finding(Kind.TTL, attribute, f"{content} is after the year 9999; milliseconds?"), None)
    seconds = _seconds(content) if tag == "S" else None
    detail = f"it is {tag} {content!r}" + ("" if seconds is not None else ", which is not certain to be a time")
    value = None if seconds is None else {"N": str(seconds)}
    return TtlFinding(Finding(Kind.TTL, attribute, detail, repairable=value is not None), value)


def _seconds(text: str) -> int | None:
    """The seconds that a text stands for, if it can mean nothing else: ten digits, or a time with its zone."""
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) == _DIGITS and not text.startswith("0") else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.utcoffset() is None else to_epoch(moment)


class OtherForms(NamedTuple):
    findings: tuple[Finding, ...]
    repair: Repair
    """Rewrites the values in the form of their fields."""


def audit_forms(schema: Schema[Any], row: Row) -> OtherForms | None:
    """What a row of the current version has in other forms; None if there is nothing, or nothing that can be read."""
    keys = {part.name for part in schema.primary.attributes}
    findings: list[Finding] = []
    sets: Row = {}
    for field in schema.codec.fields:
        stored = row.get(field.attribute)
        if stored is None or field.name in schema.codec.in_key:
            continue
        reason = _other_form(field, stored)
        if reason is None:
            continue
        if field.attribute in keys:
            findings.append(Finding(Kind.OTHER_FORM, field.name, f"{reason}; it is a part of the primary key"))
            continue
        try:
            with any_form():
                sets[field.attribute] = in_form(stored, field.encode(field.decode(stored)))
        except (ModelError, ValueError, KeyError, TypeError, AttributeError):
            # It is of another type, or not readable at all.
            return None
        findings.append(Finding(Kind.OTHER_FORM, field.name, reason, repairable=True))
    if not findings:
        return None
    guards = {name: row[name] for name in sets}
    return OtherForms(tuple(findings), Repair(sets, (), {**guards, VERSION_ATTRIBUTE: row.get(VERSION_ATTRIBUTE)}))


def _other_form(field: Field, stored: Value) -> str | None:
    try:
        field.decode(stored)
    except (ModelError, ValueError, KeyError, TypeError, AttributeError) as error:
        return str(error)
    return None


def in_form(stored: Value, own: Value) -> Value:
    """The value in its own form, with the attributes of maps that their class does not declare."""
    if "M" in stored and "M" in own:
        before, after = stored["M"], own["M"]
        return {"M": before | {name: in_form(before.get(name, value), value) for name, value in after.items()}}
    if "L" in stored and "L" in own:
        return {"L": [in_form(*each) for each in zip(stored["L"], own["L"], strict=True)]}
    return own


def audit_stored_forms(row: Row, item: Any, *, rewrite: bool) -> OtherForms:
    """What a row of the current version has in a form that its field reads and would not write. With `rewrite`, a
    repair writes it in that one."""
    findings: list[Finding] = []
    sets: Row = {}
    removes: list[str] = []
    for name, (shown, stored) in stored_forms(item).items():
        if shown is None:
            detail = "NULL would not be written"
            removes.append(name)
        elif (own := _rewritten(stored, shown)) != stored:
            detail = f"{stored!r} would be {own!r}; declare the stored form first, in sk.stored_as, to write it"
            sets[name] = own
        else:
            continue
        findings.append(Finding(Kind.PUT_REWRITES, name, detail, repairable=rewrite))
    guards = {name: row[name] for name in (*sets, *removes)}
    repair = Repair(sets, tuple(removes), {**guards, VERSION_ATTRIBUTE: row.get(VERSION_ATTRIBUTE)})
    return OtherForms(tuple(findings), repair)


def _rewritten(stored: Value, shown: Value) -> Value:
    """The value with the forms of what is shown; what a map has or lacks besides is no matter of form."""
    if "M" in stored and "M" in shown:
        own = shown["M"]
        return {"M": {name: _rewritten(each, own.get(name, each)) for name, each in stored["M"].items()}}
    if "L" in stored and "L" in shown:
        return {"L": [_rewritten(*each) for each in zip(stored["L"], shown["L"], strict=True)]}
    return stored if is_same(stored, shown) else shown


class CurrentItem(NamedTuple):
    """An item with current computed fields, and what was wrong with them."""

    item: Any
    findings: list[Finding]
    repair: Repair | None


def audit_computed(schema: Schema[Any], item: Any, row: Row) -> CurrentItem:
    """Compares an item's computed fields (`sk.computed`) with what follows from the others. `row` is what the item was
    read from. A value that cannot be computed is reported, and left as it is.

    A program that does not know the function, or an older function, leaves a value that is not current: reading shows
    it and conditions find it, so only an audit tells.
    """
    codec = schema.codec
    findings: list[Finding] = []
    values: dict[str, Any] = {}
    guards: dict[str, Value | None] = {}
    sets: Row = {}
    removes: list[str] = []
    for each in schema.computed:
        field = codec.by_name[each.name]
        shown = getattr(item, each.name)
        try:
            value = each.of(item)
            wanted = codec.encode_field(each.name, value, check=True)
        except EncodeError as error:
            findings.append(Finding(Kind.COMPUTED_STALE, each.name, str(error)))
            continue
        if _is_current(field, row.get(field.attribute), shown, wanted, value):
            continue
        findings.append(Finding(Kind.COMPUTED_STALE, each.name, f"it is {shown!r}, not {value!r}", repairable=True))
        values[each.name] = value
        inputs = [codec.by_name[name].attribute for name in each.inputs if name not in schema.primary.fields]
        guards |= {name: row.get(name) for name in (*inputs, field.attribute, VERSION_ATTRIBUTE)}
        if wanted is None:
            removes.append(field.attribute)
        else:
            sets[field.attribute] = wanted
    if not values:
        return CurrentItem(item, findings, None)
    return CurrentItem(replace_fields(item, **values), findings, Repair(sets, tuple(removes), guards))


def _is_current(field: Field, stored: Value | None, shown: Any, wanted: Value | None, value: Any) -> bool:
    """Whether a row shows the value; one that lacks the attribute shows the default."""
    if stored == wanted or shown == value:
        return True
    return stored is not None and wanted is not None and bool(field.decode(wanted) == shown)


class Classifier:
    def __init__(
        self,
        table: Table,
        *,
        native: bool = True,
        upgrade: bool = False,
        rewrite: bool = False,
        only_index: str | None = None,
    ) -> None:
        """`native` if the store has multi-attribute index keys. With `upgrade`, the repair of a row of an older version
        makes it one of the current version; with `rewrite`, that of a value in another form of its field writes the
        form that a put would write. With `only_index`, only the keys of this index are judged."""
        self._rewrite = rewrite
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
        forms = audit_forms(schema, readable) if self._index is None and not schema.is_outdated(row) else None
        if forms is not None:
            findings += forms.findings
            repairs.append(forms.repair)
            readable = {**readable, **forms.repair.sets}
        try:
            item = schema.decode(readable)
        except DeclarationError:
            raise
        except Exception as error:  # noqa: BLE001 - an upgrade, which is the program's own, may raise anything
            findings.append(Finding(_kind_of(schema, readable, error), detail=_reason(error)))
            return _verdict(schema, row, findings, repairs)
        disagreeing = _disagreement(schema, readable)
        if disagreeing is not None:
            return _verdict(schema, row, [*findings, disagreeing], repairs)
        if schema.computed and self._judges_computed(schema):
            item, found, repair = audit_computed(schema, item, readable)
            findings += found
            if repair is not None:
                repairs.append(repair)
                readable = repair.applied(readable)
        for finding, repair in audit_index_keys(schema, item, readable, self._index):
            findings.append(finding)
            if repair is not None:
                repairs.append(repair)
        version = schema.row_version(row)
        if self._index is not None:
            return _verdict(schema, row, findings, repairs)
        if version == schema.version:
            kept = audit_stored_forms(readable, item, rewrite=self._rewrite)
            findings += kept.findings
            if kept.findings and self._rewrite:
                repairs.append(kept.repair)
            return _verdict(schema, row, findings, repairs)
        older = Finding(Kind.OLDER_VERSION, detail=f"version {version}; the class has {schema.version}")
        if self._upgrade:
            return self._upgraded(schema, item, row, readable, [*findings, older])
        return _verdict(schema, row, [*findings, older], repairs)

    def _judges_computed(self, schema: Schema[Any]) -> bool:
        """With one index only, computed fields count if its key has one."""
        if self._index is None:
            return True
        own = (layout for layout in schema.indexes.values() if layout.index == self._index)
        return any(not schema.set_by_sessions.isdisjoint(layout.fields) for layout in own)

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
        sets |= next_revision_of(schema, row)
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


def _verdict(schema: Schema[Any], row: Row, findings: list[Finding], repairs: list[Repair]) -> Verdict:
    repair: Repair | None = None
    for each in repairs:
        repair = each if repair is None else repair.joined(each)
    if repair is not None:
        # Some follow from the row as others repair it; all depend on the row as it is.
        revised = next_revision_of(schema, row)
        guards = {name: row.get(name) for name in (*repair.guards, *revised)}
        repair = replace(repair, sets={**repair.sets, **revised}, guards=guards)
    return Verdict(schema.name, tuple(findings), repair)


def _kind_of(schema: Schema[Any], row: Row, error: Exception) -> Kind:
    if isinstance(error, IndexKeysDisagree):
        return Kind.INDEX_KEYS_DISAGREE
    if isinstance(error, IncompleteRow) and not schema.codec.required.isdisjoint(schema.only_in_index_keys(row)):
        return Kind.ONLY_IN_INDEX_KEY
    return Kind.UNDECODABLE


def next_revision_of(schema: Schema[Any], row: Row) -> Row:
    """The attribute with the next revision: a repair is a write as any other. Nothing if the class has none, or the row
    something else there."""
    if schema.revision is None:
        return {}
    attribute = schema.codec.by_name[schema.revision].attribute
    revision = next_revision(row.get(attribute))
    return {} if revision is None else {attribute: revision}


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
