"""Makes another row of a stored one, by an update instead of a put: a put would lose what the row got meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value


class RowRewrite(NamedTuple):
    sets: Row
    removes: tuple[str, ...]
    guards: dict[str, Value | None]
    """All attributes of the old row, which must be unchanged, and those that are new, which must be absent: None."""


def rewrite_row(old: Row, new: Row, key: Collection[str]) -> RowRewrite:
    """The update from one row to the other; `key` has the names of the primary key."""
    stored = {name: value for name, value in old.items() if name not in key}
    sets = {name: value for name, value in new.items() if name not in key and stored.get(name) != value}
    removes = tuple(name for name in stored if name not in new)
    return RowRewrite(sets, removes, {**dict.fromkeys(sets), **stored})
