"""The counts: each change of a favourite, counted exactly once, in the windows of its `since`."""

from __future__ import annotations

import sortkey as sk
from sortkey_services.favourites.model import Favourite, FavouriteCount


def counts_of(timezone: str) -> sk.patterns.Aggregate:
    """Days, months and years are those of the time zone. Raises DeclarationError for one that does not exist."""
    return sk.patterns.aggregate(
        Favourite,
        into=FavouriteCount,
        by=("restaurant",),
        window=sk.patterns.window("since", "ALL_TIME", "YEAR", "MONTH", "DAY", zone=timezone),
        values={"count": sk.patterns.count()},
    )
