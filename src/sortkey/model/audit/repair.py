"""The update that repairs one row, conditional on what it follows from being as it was read.

It names the attributes that it writes, so it leaves all others to their writers, also those that a row gets meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value


@dataclass(frozen=True, slots=True)
class Repair:
    sets: Row
    removes: tuple[str, ...]
    guards: dict[str, Value | None]
    """The attributes that the update depends on and those that it writes, as they were read; None for an absent one."""

    def joined(self, other: Repair) -> Repair:
        """Both updates in one."""
        return Repair(
            {**self.sets, **other.sets},
            tuple(dict.fromkeys((*self.removes, *other.removes))),
            {**self.guards, **other.guards},
        )

    def request(self, table: str, key: Row) -> dict[str, Any]:
        """The members of the UpdateItem."""
        placeholders = Placeholders()
        sets = [f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in self.sets.items()]
        removes = [placeholders.name(name) for name in self.removes]
        sections = [f"{section} {', '.join(texts)}" for section, texts in (("SET", sets), ("REMOVE", removes)) if texts]
        tests = [
            # Otherwise the update would bring back a row that has been deleted.
            f"attribute_exists({placeholders.name(next(iter(key)))})",
            *(placeholders.equal(name, value) for name, value in self.guards.items()),
        ]
        return placeholders.added_to(
            {
                "TableName": table,
                "Key": key,
                "UpdateExpression": " ".join(sections),
                "ConditionExpression": all_of(tests),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        )
