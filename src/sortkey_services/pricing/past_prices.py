"""What was in force before the oldest entry that a price's row still has: the changes of the price tell."""

from __future__ import annotations

from typing import Final

import sortkey as sk
from sortkey_services.pricing.batches import SeenBatches
from sortkey_services.pricing.instants import instant_of, micros_of
from sortkey_services.pricing.model import ChangeRow, history_path
from sortkey_services.pricing.timeline import NEVER, Commits, Moment
from sortkey_services.pricing.types import PriceKey

ROWS: Final = 16
"""Of one request; the first is nearly always the one."""


def change_moment(row: ChangeRow, commits: Commits, began: int) -> Moment | None:
    """When a change takes effect; None if it does not count: cancelled, or of a batch that is not committed."""
    if row.status == "CANCELLED":
        return None
    if row.batch is not None and row.status == "SCHEDULED" and commits.get(row.batch, NEVER) > began:
        return None
    return Moment(micros_of(row.effective_at), row.number, row.cents)


class PastPrices:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def in_force(
        self, key: PriceKey, at: int, seen: SeenBatches, *, earlier: Moment | None = None
    ) -> Moment | None:
        """The newest listed change not after the instant; None if there is none. With `earlier`, only those before
        that one."""
        path = history_path(key).before(instant_of(at + 1))
        cursor: str | None = None
        while True:
            page = await self._session.page(path, first=ROWS, after=cursor, descending=True, undecodable="skip")
            commits = await seen.commits({row.batch for row in page if row.batch is not None})
            for row in page:
                moment = change_moment(row, commits, seen.began)
                if moment is not None and (earlier is None or moment[:2] < earlier[:2]):
                    return moment
            cursor = page.end_cursor
            if not page.has_next:
                return None
