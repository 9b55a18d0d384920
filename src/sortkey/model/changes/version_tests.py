"""Tests of the version that a row has, for the conditions and filters of the store.

A row says its version in `_v`; without it, the row has version 1. The attributes of another version may mean something
else, and only the program can say what: it upgrades an older row, and cannot read a newer one. So what depends on the
content of a row tests the version, also for a class of version 1: a newer program may have written the row. Such a
write has a condition in any case, so the test takes no units and no request. A put or a delete without a condition
depends on the key alone, and does not test it.
"""

from __future__ import annotations

from typing import Any

from sortkey.model.changes.placeholders import Placeholders, any_of
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema


def is_current(schema: Schema[Any], placeholders: Placeholders) -> str:
    """The test that a row has the version of the class. It also holds for a missing item if that is version 1."""
    return placeholders.equal(*schema.version_mark)


def is_current_or_missing(schema: Schema[Any], placeholders: Placeholders) -> str:
    current = is_current(schema, placeholders)
    if schema.version == 1:
        return current
    return any_of(placeholders.equal(schema.primary.partition.name, None), current)


def is_not_newer(schema: Schema[Any], placeholders: Placeholders) -> str:
    """The test that a row has a version that the class knows."""
    known = f"{placeholders.name(VERSION_ATTRIBUTE)} <= {placeholders.value(_number(schema))}"
    return any_of(placeholders.equal(VERSION_ATTRIBUTE, None), known)


def needs_program(schema: Schema[Any], placeholders: Placeholders) -> str:
    """The test of a filter that a row has another version, so that the program must look at it. With version 1, all
    others are newer: the program raises for them."""
    operator = ">" if schema.version == 1 else "<>"
    return f"{placeholders.name(VERSION_ATTRIBUTE)} {operator} {placeholders.value(_number(schema))}"


def _number(schema: Schema[Any]) -> dict[str, str]:
    return {"N": str(schema.version)}
