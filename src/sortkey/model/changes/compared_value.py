"""The value that a condition compares: of a field, as its own form, and without what a nested item keeps unseen.

A nested item keeps the attributes that its class does not declare, so that they are written back with it. It does not
show them, and two items that differ only in them are equal.
"""

from __future__ import annotations

from typing import Any

from sortkey.model.changes.own_form import UNKNOWN_FORM, own_form
from sortkey.model.fields.converter import Value
from sortkey.model.fields.records import field_names, is_record


def compared_value(codec: Any, field: str, value: Any) -> Value | None:
    """The attribute value of a field, for comparisons; None if it is not stored."""
    if own_form(codec.by_name[field]) is UNKNOWN_FORM:
        value = _without_extra(value)
    made: Value | None = codec.encode_field(field, value)
    return made


def _without_extra(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_extra(each) for each in value]
    if isinstance(value, tuple):
        return tuple(_without_extra(each) for each in value)
    if isinstance(value, dict):
        return {name: _without_extra(each) for name, each in value.items()}
    if is_record(type(value)):
        return type(value)(**{name: _without_extra(getattr(value, name)) for name in field_names(type(value))})
    return value
