"""Marks: what an aggregate's item has already counted.

An item has one mark for each shard that has changed it: an attribute with the sequence number of the last change
applied. Marks are part of every write and stay for a day, so both halves are kept short:

    shardId-00000001414576573621-f55eea83          m:1495b558cb5-f55eea83
    0000000000000000000000000000000000001000       C3e8

A mark is in hexadecimal digits, after a character for their number, so that marks compare as the numbers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sortkey.model.fields.codec import Row

_SHARD: Final = re.compile(r"shardId-(\d{20})-([0-9a-f]{8})")
_BEFORE_A: Final = ord("A") - 1


def mark_attribute(prefix: str, shard: str) -> str:
    """The attribute with the mark of a shard."""
    return f"{prefix}:{short_shard(shard)}"


def short_shard(shard: str) -> str:
    """The id of a shard, in fewer bytes; ids of another form than DynamoDB's stay as they are."""
    found = _SHARD.fullmatch(shard)
    return shard if found is None else f"{int(found[1]):x}-{found[2]}"


def mark_of(sequence: str) -> str:
    """The mark of a sequence number: of two marks, the greater text is that of the later change."""
    digits = f"{int(sequence):x}"
    return chr(_BEFORE_A + len(digits)) + digits


def marks_in(prefix: str, row: Row) -> Iterator[tuple[str, str]]:
    """The marks of a row, by their attributes."""
    beginning = f"{prefix}:"
    for name, value in row.items():
        if name.startswith(beginning) and "S" in value:
            yield name, value["S"]
