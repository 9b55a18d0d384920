"""`Bounded`: what a bounded collection answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sortkey.model.errors import DeclarationError

Outcome = Literal["added", "present", "full", "removed", "absent"]


@dataclass(frozen=True, slots=True)
class Bounded:
    """The answer of a bounded collection: `sk.patterns.Bounded(outcome="added", size=3)`."""

    outcome: Outcome
    """Of `add`: `added`, `present` (it was a member before) or `full`. Of `remove`: `removed` or `absent`."""
    size: int
    """The number of members, after the change if there was one."""


def require_limit(what: str, limit: object) -> None:
    """Raises DeclarationError for a limit that is not a number of members."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise DeclarationError(f"{what}: limit= is the largest number of members, an int of at least 1, not {limit!r}")
