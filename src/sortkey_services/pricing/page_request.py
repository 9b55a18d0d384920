"""Which part of a list is asked for, the same for REST and GraphQL: 64 items by default, 2,048 at most."""

from __future__ import annotations

from typing import Final

import sortkey as sk
from sortkey.services.pages import PageArguments

DEFAULT_ITEMS: Final = 64
MAX_ITEMS: Final = 2048


def page_request(
    first: int | None = None, after: str | None = None, last: int | None = None, before: str | None = None
) -> PageArguments:
    """Raises BadRequest for a size out of bounds, and for both directions at once."""
    backward = last is not None or before is not None
    if backward and (first is not None or after is not None):
        raise sk.services.BadRequest("use first and after, or last and before, not both")
    for name, size in (("first", first), ("last", last)):
        if size is not None and not 1 <= size <= MAX_ITEMS:
            raise sk.services.BadRequest(f"{name}: must be from 1 to {MAX_ITEMS:,}, not {size}")
    if backward:
        return PageArguments(first=None, after=None, last=last or DEFAULT_ITEMS, before=before)
    return PageArguments(first=first or DEFAULT_ITEMS, after=after, last=None, before=None)
