"""What passes between the parts of an aggregate: groups, shares and steps."""

from __future__ import annotations

from typing import Any, NamedTuple

Group = tuple[Any, ...]
"""The values of the fields in the key of an aggregate's item."""
Share = tuple[Any, ...]
"""What one counted item has for each of the aggregate's values."""


class Step(NamedTuple):
    """What one change does to one group."""

    mark: str
    """The mark of its sequence number."""
    removed: Share | None
    added: Share | None
