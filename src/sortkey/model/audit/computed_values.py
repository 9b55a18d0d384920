"""Compares the computed fields of a row (`sk.computed`) with what follows from the others, and repairs them.

A program that does not know the function, or an older function, leaves a value that is not current: reading shows it
and conditions find it, so only an audit tells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sortkey.model.audit.finding import Finding, Kind, Repair
from sortkey.model.errors import EncodeError
from sortkey.model.fields.codec import Field, Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.item import replace
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema


class CurrentItem(NamedTuple):
    """An item with current computed fields, and what was wrong with them."""

    item: Any
    findings: list[Finding]
    repair: Repair | None


def audit_computed(schema: Schema[Any], item: Any, row: Row) -> CurrentItem:
    """`row` is what the item was read from. A value that cannot be computed is reported, and left as it is."""
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
    return CurrentItem(replace(item, **values), findings, Repair(sets, tuple(removes), guards))


def _is_current(field: Field, stored: Value | None, shown: Any, wanted: Value | None, value: Any) -> bool:
    """Whether a row shows the value; one that lacks the attribute shows the default."""
    if stored == wanted or shown == value:
        return True
    return stored is not None and wanted is not None and bool(field.decode(wanted) == shown)
