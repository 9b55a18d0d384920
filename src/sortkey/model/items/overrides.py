"""Whether a subclass reads the fields of its base as the base does, so that one test of the store is right for both."""

from __future__ import annotations

from typing import Any

from sortkey.model.fields.codec import Codec
from sortkey.model.fields.records import declared_default


def reads_alike(base: Codec, derived: Codec) -> bool:
    """Whether each field of the base has the same attribute, type and default in a class that derives from it."""
    return all(
        (field.attribute, field.annotation) == (derived.by_name[name].attribute, derived.by_name[name].annotation)
        and _is_same(declared_default(base.struct, name), declared_default(derived.struct, name))
        for name, field in base.by_name.items()
    )


def _is_same(one: Any, other: Any) -> bool:
    """Whether two defaults are the same. Types are compared, because 1 == True, and factories, not what they make."""
    if one is other:
        return True
    one, other = getattr(one, "factory", one), getattr(other, "factory", other)
    return type(one) is type(other) and bool(one == other)
