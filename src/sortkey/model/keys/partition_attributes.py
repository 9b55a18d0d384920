"""The partition attributes of every declared table and index, by name: a request alone does not tell them.

All classes of a table have the same key attributes, so the name of the table and the index is enough.
"""

from __future__ import annotations

from typing import Final

from sortkey.model.keys.key_layout import KeyLayout

_DECLARED: Final[dict[tuple[str, str | None], tuple[str, ...]]] = {}


def declare_partition(table: str, layout: KeyLayout) -> None:
    _DECLARED[table, layout.index] = tuple(part.name for part in layout.partitions)


def partition_attributes(table: str, index: str | None) -> tuple[str, ...]:
    """Empty if no class declares the table or the index."""
    return _DECLARED.get((table, index), ())
