"""Counting as many aggregators do it: `ADD` what a batch says, in transactions of up to 100 updates.

Nothing in the items tells what they have counted. A batch that is delivered again is added again: when its checkpoint
was lost, when the answer of a write was lost, and when a later transaction of the same batch failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import sortkey as sk
from benchmarks._favourites import Favourite, FavouriteCount, windows

LARGEST_TRANSACTION: Final = 100


class AddInTransactions:
    """Takes changes as an aggregator does."""

    def __init__(self, db: sk.AsyncSession) -> None:
        self._db = db

    async def on_changes(self, changes: Sequence[sk.Change[Favourite]]) -> None:
        """Adds what a batch says."""
        deltas: Counter[tuple[str, str]] = Counter()
        for change in changes:
            # Only inserts and removals count.
            for item, sign in ((change.new, 1), (change.old, -1)) if change.kind != "MODIFY" else ():
                if item is not None:
                    deltas.update({(item.restaurant, window): sign for window in windows(item)})
        updates = [{"Update": add(*group, delta)} for group, delta in deltas.items() if delta]
        for start in range(0, len(updates), LARGEST_TRANSACTION):
            await self._db.client._call(
                "TransactWriteItems",
                {"TransactItems": updates[start : start + LARGEST_TRANSACTION], "ReturnConsumedCapacity": "TOTAL"},
            )


def add(restaurant: str, window: str, delta: int) -> dict[str, Any]:
    """Members of an UpdateItem that adds to a count, and makes it if there is none."""
    return {
        "TableName": FavouriteCount.__table__.name,
        "Key": FavouriteCount.key(restaurant=restaurant, window=window).key(),
        "UpdateExpression": "SET #r = :r, #w = :w, #t = :t ADD #c :d",
        "ExpressionAttributeNames": {"#r": "restaurant", "#w": "window", "#t": "toppk", "#c": "count"},
        "ExpressionAttributeValues": {
            ":r": {"S": restaurant},
            ":w": {"S": window},
            ":t": {"S": f"TOP#{window}"},
            ":d": {"N": str(delta)},
        },
    }
