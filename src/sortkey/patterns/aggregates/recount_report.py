"""What a recount has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

EXAMPLES: Final = 20


class Difference(NamedTuple):
    """A value of the aggregate that is not what the counted items say."""

    group: dict[str, Any]
    """The fields in the key of its item."""
    field: str
    """The field, or the attribute of an index key that should have its value."""
    found: Any
    expected: Any


@dataclass(slots=True)
class RecountReport:
    """What a recount has found, and repaired."""

    items: int = 0
    """The counted items."""
    groups: int = 0
    """The items of the aggregate that were compared."""
    wrong: int = 0
    """Those with a wrong value."""
    inexact: int = 0
    """Those with a minimum or maximum that was only a bound."""
    repaired: int = 0
    """Those of both that are right now."""
    unsettled: int = 0
    """Those with an extreme that could not be repaired, because the feed has not applied all changes."""
    examples: list[Difference] = field(default_factory=list)
    """The first differences."""

    @property
    def is_clean(self) -> bool:
        """Whether all values are right, now that it has ended."""
        return self.wrong + self.inexact == self.repaired and not self.unsettled

    def __str__(self) -> str:
        return (
            f"{self.items} items counted, {self.groups} groups compared: {self.wrong} wrong, {self.inexact} inexact, "
            f"{self.repaired} repaired, {self.unsettled} unsettled"
        )
