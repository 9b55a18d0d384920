"""Values that are stored in another form than their field has: reading them raises, and no condition finds them.

So is a required field that the row has in an index key only: it is shown, but conditions compare its attribute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sortkey.model.audit.finding import Finding, Kind
from sortkey.model.audit.repair import Repair
from sortkey.model.errors import ModelError
from sortkey.model.fields.codec import Field, Row
from sortkey.model.fields.converter import Value, any_form
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema


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
