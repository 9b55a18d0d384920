"""The items: a favourite, and how many favourites a restaurant has in a window of time.

    favourites         key     {user}  {restaurant}             is it my favourite
                       mine    {user}  {since}#{restaurant}     what are my favourites, newest first
                       fans    {restaurant}  {since}#{user}     whose favourite is it, newest first
    favourite-counts   key     {restaurant}  {window}           how many
                       top     {window}  {count:desc}#{restaurant}   which have the most; sharded by restaurant

Users write favourites alone. The counts follow from the table's changes (`counts_of`). `mine` is a local index, so a
user's own list can be read consistently: it has a mark as soon as that is acknowledged, on AWS, too. All restaurants
of a window share one list, so its partition is sharded: a single one would take every write of every count. The list is
in the order in which it is shown, ties included, so a page reads no more than it has.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import sortkey as sk

TOP_SHARDS: Final = 8
FORMER_TOP: Final = "top"
"""The index that tables of earlier versions have for the top list: by count alone."""

FAVOURITES: Final = sk.Table("favourites", stream="NEW_AND_OLD_IMAGES")
COUNTS: Final = sk.Table("favourite-counts")


class Favourite(sk.Item, table=FAVOURITES):
    user: Annotated[str, sk.in_key]
    restaurant: Annotated[str, sk.in_key]
    since: datetime

    key = sk.Key("{user}", "{restaurant}")
    mine = sk.Index("mine", "{user}", "{since}#{restaurant}", local=True)
    fans = sk.Index("fans", "{restaurant}", "{since}#{user}")


class FavouriteCount(sk.Item, table=COUNTS):
    restaurant: Annotated[str, sk.in_key]
    window: Annotated[str, sk.in_key]
    count: int = 0
    updated: Annotated[datetime | None, sk.updated] = None

    key = sk.Key("{restaurant}", "{window}")
    top = sk.Index(
        "ranked",
        "{window}",
        "{count:desc}#{restaurant}",
        names=("toppk", "topsk"),
        shards=sk.Shards(TOP_SHARDS, by="restaurant"),
    )


def counts_of(timezone: str) -> sk.patterns.Aggregate:
    """Each change of a favourite counts exactly once, in the windows of its `since`. Days, months and years are those
    of the time zone. Raises DeclarationError for one that does not exist."""
    return sk.patterns.aggregate(
        Favourite,
        into=FavouriteCount,
        by=("restaurant",),
        window=sk.patterns.window("since", "ALL_TIME", "YEAR", "MONTH", "DAY", zone=timezone),
        values={"count": sk.patterns.count()},
    )
