"""What was in force before the oldest entry that a price's row still has: the changes of the price tell.

A change that took effect when its batch was committed is listed under the instant of its request, at most five minutes
earlier. So the search goes on through five minutes of rows after it has found one.
"""

from __future__ import annotations

from typing import Final

import sortkey as sk
from sortkey.services.pricing.batches import ABANDONED, Batches
from sortkey.services.pricing.instants import instant_of, micros_of
from sortkey.services.pricing.model import ChangeRow, history_path
from sortkey.services.pricing.timeline import NEVER, Commits, Moment
from sortkey.services.pricing.types import PriceKey

ROWS: Final = 16
"""Of one request; the first is nearly always the one."""


def change_moment(row: ChangeRow, commits: Commits, began: int) -> Moment | None:
    """When a change takes effect; None if it does not count: cancelled, or of a batch that is not committed."""
    if row.status == "CANCELLED":
        return None
    at = row.took_effect if row.took_effect is not None else micros_of(row.effective_at)
    if row.batch is not None and row.status == "SCHEDULED":
        committed = commits.get(row.batch, NEVER)
        if committed > began:
            return None
        at = max(at, committed) if row.on_commit else at
    return Moment(at, row.number, row.cents)


class PastPrices:
    def __init__(self, session: sk.AsyncSession, batches: Batches) -> None:
        self._session = session
        self._batches = batches

    async def in_force(self, key: PriceKey, at: int, began: int, *, earlier: Moment | None = None) -> Moment | None:
        """The newest listed change not after the instant; None if there is none. With `earlier`, only those before
        that one."""
        path = history_path(key).before(instant_of(at + 1))
        newest: Moment | None = None
        cursor: str | None = None
        while True:
            page = await self._session.page(path, first=ROWS, after=cursor, descending=True, undecodable="skip")
            commits = await self._batches.commits({row.batch for row in page if row.batch is not None})
            for row in page:
                if newest is not None and micros_of(row.effective_at) + ABANDONED < newest.at:
                    return newest
                moment = change_moment(row, commits, began)
                if moment is None or moment.at > at or (earlier is not None and moment[:2] >= earlier[:2]):
                    continue
                newest = moment if newest is None or moment[:2] > newest[:2] else newest
            cursor = page.end_cursor
            if not page.has_next:
                return newest
