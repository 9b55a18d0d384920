"""Lists of changes: a store's, by time, from now on unless asked otherwise; and the history of a price, by time.

Both are right without the transition: a change whose instant has come is applied. The list from now on has another
beginning on every page, so its cursors carry theirs: `BEGINNING.CURSOR`.

The number of a change orders it among those that were asked for: microseconds since 1970, each higher than all before
it in this process, then random digits of the process. The id by which callers name a change has the whole key of its
row, so that one GetItem finds it.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Final, NamedTuple

import msgspec

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.filled_page import FilledPage, without_prefix
from sortkey_services.pricing.batches import Batches
from sortkey_services.pricing.checks import check_id
from sortkey_services.pricing.model import LOADED, ChangeRow, history_path, key_of
from sortkey_services.pricing.pages import shown_page
from sortkey_services.pricing.price_reads import change_moment, listed_in_force
from sortkey_services.pricing.prices import (
    ChangeStatus,
    PriceAction,
    PriceChange,
    PriceKey,
    PriceRecord,
    amount_of,
    instant_of,
    micros_of,
)
from sortkey_services.pricing.timeline import Moment

END: Final = micros_of(datetime(9999, 1, 1, tzinfo=UTC))
_NUMBER: Final = re.compile("[0-9a-f]{22}")


class ChangeReads:
    def __init__(self, session: sk.AsyncSession, batches: Batches) -> None:
        self._session = session
        self._batches = batches

    async def changes(
        self, store: str, channel: str, page: PageArguments, begin: datetime | None, end: datetime | None
    ) -> FilledPage[PriceChange[Decimal]]:
        """Those that were not cancelled, from `begin` on, or after now, before `end`."""
        seen = self._batches.begin_read()
        since = seen.began + 1 if begin is None else micros_of(begin)
        beginning, page = without_prefix(page)
        if beginning is not None:
            since = _beginning(beginning, None if begin is None else since)
        until = END if end is None else micros_of(end)
        if until <= since:
            # The end of what is asked for may just have passed.
            return FilledPage([], [], has_next=False, has_previous=beginning is not None)
        path = ChangeRow.key(store=store).between(instant_of(since), instant_of(until - 1))

        async def show(rows: Sequence[ChangeRow]) -> list[PriceChange[Decimal] | None]:
            commits = await seen.commits({row.batch for row in rows if row.batch is not None})
            return [
                shown_change(row, seen.began)
                if _is_change(row, channel) and change_moment(row, commits, seen.began) is not None
                else None
                for row in rows
            ]

        found = await shown_page(self._session, path, page, show, consistent=True)
        return found.with_prefix(f"{since:x}")

    async def history(self, key: PriceKey, page: PageArguments) -> FilledPage[PriceRecord[Decimal]]:
        """What has taken effect. A loaded price is listed with its first change."""
        seen = self._batches.begin_read()

        async def show(rows: Sequence[ChangeRow]) -> list[PriceRecord[Decimal] | None]:
            commits = await seen.commits({row.batch for row in rows if row.batch is not None})
            previous: Moment | None = None
            shown: list[PriceRecord[Decimal] | None] = []
            for row in rows:
                moment = change_moment(row, commits, seen.began)
                if moment is None or moment.at > seen.began:
                    shown.append(None)
                    continue
                if previous is None:
                    previous = await listed_in_force(self._session, key, moment.at, seen, earlier=moment)
                shown.append(_record(row, moment, previous))
                previous = moment
            return shown

        return await shown_page(self._session, history_path(key), page, show, consistent=False)


def _is_change(row: ChangeRow, channel: str) -> bool:
    return row.channel == channel and not row.number.startswith(f"{LOADED}.")


def shown_change(row: ChangeRow, now: int) -> PriceChange[Decimal]:
    at = micros_of(row.effective_at)
    if row.status == "CANCELLED":
        status = ChangeStatus.CANCELLED
    else:
        status = ChangeStatus.APPLIED if at <= now else ChangeStatus.SCHEDULED
    return PriceChange(
        ChangeId(row.store, at, row.number).text,
        row.store,
        row.product,
        row.channel,
        row.kind,
        PriceAction.DELETE if row.cents is None else PriceAction.SET,
        None if row.cents is None else amount_of(row.cents),
        row.effective_at,
        status,
    )


def _record(row: ChangeRow, moment: Moment, previous: Moment | None) -> PriceRecord[Decimal]:
    before = None if previous is None else previous.cents
    store, channel, kind, product = key_of(row)
    return PriceRecord(
        store,
        product,
        channel,
        kind,
        PriceAction.DELETE if row.cents is None else PriceAction.SET,
        None if row.cents is None else amount_of(row.cents),
        None if before is None else amount_of(before),
        instant_of(moment.at),
        row.by,
        instant_of(row.recorded),
    )


def _beginning(text: str, asked: int | None) -> int:
    """The beginning that a cursor carries. Raises CursorError if it is none, or not the one that is asked for."""
    try:
        beginning = int(text, 16)
        instant_of(beginning)
    except (ValueError, OverflowError):
        beginning = -1
    if f"{beginning:x}" != text or (asked is not None and asked != beginning):
        raise sk.CursorError("the cursor is not one of this list: it was changed, or `from` is another one")
    return beginning


class ChangeId(NamedTuple):
    """The key of a change's row."""

    store: str
    at: int
    number: str

    @property
    def text(self) -> str:
        return urlsafe_b64encode(msgspec.json.encode(self)).rstrip(b"=").decode()

    @property
    def path(self) -> sk.AccessPath[ChangeRow]:
        return ChangeRow.key(store=self.store, effective_at=instant_of(self.at), number=self.number)


def change_id(text: str) -> ChangeId:
    """Raises NotFound for a text that no change has as its id."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        made = msgspec.json.decode(raw, type=ChangeId)
        check_id("store", made.store)
        instant_of(made.at)
    except (ValueError, OverflowError):
        made = None
    if made is None or not _NUMBER.fullmatch(made.number) or made.text != text:
        raise sk.services.NotFound(f"there is no price change {text[:80]!r}")
    return made


class ChangeNumbers:
    def __init__(self, draw: Random) -> None:
        self._last = 0
        self._process = f"{draw.getrandbits(32):08x}"

    def take(self, now: int, count: int) -> Callable[[int], str]:
        """So many numbers, each by its index."""
        first = max(now, self._last + 1)
        self._last = first + count - 1
        return lambda index: f"{first + index:014x}{self._process}"
