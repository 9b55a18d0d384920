"""What rows show: prices at an instant, the changes of a store by time, and the history of a price by time.

A read of prices asks further only if rows need it: whether a batch is committed, and what was in force before the
oldest entry that a row still has, which the changes of the price tell. Lists of changes are right without the
transition: a change whose instant has come is applied. The list from now on has another beginning on every page, so its
cursors carry theirs: `BEGINNING.CURSOR`.

Pages are the same for REST and GraphQL: 64 items by default, 2,048 at most.

The number of a change orders it among those that were asked for: microseconds since 1970, each higher than all before
it in this process, then random digits of the process. The id by which callers name a change has the whole key of its
row, so that one GetItem finds it.
"""

from __future__ import annotations

import logging
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Final, NamedTuple, TypeVar

import msgspec

import sortkey as sk
from sortkey.services.pages import PageArguments, sized_page
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.filled_page import FilledPage, Show, filled_page, without_prefix
from sortkey_services.pricing.batches import Batches, SeenBatches
from sortkey_services.pricing.checks import check_id
from sortkey_services.pricing.model import LOADED, ChangeRow, PriceRow, history_path, key_of
from sortkey_services.pricing.prices import (
    ChangeStatus,
    Price,
    PriceAction,
    PriceChange,
    PriceKey,
    PriceRecord,
    amount_of,
    instant_of,
    micros_of,
)
from sortkey_services.pricing.timeline import NEVER, Commits, Moment, batches_of, in_force, moments, needs_history

DEFAULT_ITEMS: Final = 64
MAX_ITEMS: Final = 2048
MAX_ROWS: Final = 20_000
LEAST_ROWS: Final = 64
PARALLEL: Final = 32
LISTED_ROWS: Final = 16
"""Of one request; the first is nearly always the one."""
END: Final = micros_of(datetime(9999, 1, 1, tzinfo=UTC))
_NUMBER: Final = re.compile("[0-9a-f]{22}")

T = TypeVar("T")
R = TypeVar("R", bound=sk.Item)

_logger = logging.getLogger(__name__)


def page_request(
    first: int | None = None, after: str | None = None, last: int | None = None, before: str | None = None
) -> PageArguments:
    """Raises BadRequest."""
    return sized_page(first, after, last, before, default=DEFAULT_ITEMS, most=MAX_ITEMS)


async def shown_page(
    session: sk.AsyncSession, path: sk.AccessPath[R], page: PageArguments, show: Show[R, T], *, consistent: bool
) -> FilledPage[T]:
    """Raises CursorError, in words for clients."""
    try:
        return await filled_page(session, path, page, show, consistent=consistent, most=MAX_ROWS, least=LEAST_ROWS)
    except sk.CursorError:
        raise sk.CursorError(
            "the cursor is not one of this list: after and before take a cursor that the same question gave, from a "
            "server with the same secret for cursors"
        ) from None


class PriceRead:
    """What rows show at an instant, for a read that began at another."""

    def __init__(self, session: sk.AsyncSession, seen: SeenBatches, currency: str, at: int) -> None:
        self._session = session
        self._seen = seen
        self._currency = currency
        self._at = at

    async def __call__(self, rows: Sequence[PriceRow]) -> Sequence[Price[Decimal] | None]:
        batches = {batch for row in rows if row.entries is not None for batch in batches_of(row)}
        commits = await self._seen.commits(batches) if batches else {}
        shown: list[Price[Decimal] | None] = []
        past: list[int] = []
        at, currency = self._at, self._currency
        for index, row in enumerate(rows):
            since, cents = row.since, row.cents
            if row.entries is None and since is not None and since <= at:
                price = None if cents is None else _price(row, since, cents, currency)
            else:
                price = self._resolved(row, commits)
                if needs_history(row, at, commits, self._seen.began):
                    past.append(index)
            shown.append(price)
        if past:
            await self._look_back(rows, shown, past, commits)
        return shown

    def _resolved(self, row: PriceRow, commits: Commits) -> Price[Decimal] | None:
        return self._shown(row, in_force(moments(row, commits, self._seen.began), self._at))

    def _shown(self, row: PriceRow, moment: Moment | None) -> Price[Decimal] | None:
        if moment is None or moment.cents is None:
            return None
        return _price(row, moment.at, moment.cents, self._currency)

    async def _look_back(
        self, rows: Sequence[PriceRow], shown: list[Price[Decimal] | None], past: Sequence[int], commits: Commits
    ) -> None:
        """Of the rows that may have left out what was in force at the instant."""

        async def one(index: int) -> Price[Decimal] | None:
            row = rows[index]
            listed = await listed_in_force(self._session, key_of(row), self._at, self._seen)
            own = in_force(moments(row, commits, self._seen.began), self._at)
            newest = max((each for each in (listed, own) if each is not None), key=lambda each: each[:2], default=None)
            return self._shown(row, newest)

        for index, price in zip(past, await concurrent_map(one, past, PARALLEL), strict=True):
            shown[index] = price


def _price(row: PriceRow, since: int, cents: int, currency: str) -> Price[Decimal] | None:
    try:
        effective = instant_of(since)
    except OverflowError:
        _logger.warning("a price is left out, because its instant is beyond all time: %s", row.key)
        return None
    return Price(row.store, row.product, row.channel, row.kind, amount_of(cents), currency, effective)


async def listed_in_force(
    session: sk.AsyncSession, key: PriceKey, at: int, seen: SeenBatches, *, earlier: Moment | None = None
) -> Moment | None:
    """The newest listed change not after the instant; None if there is none. With `earlier`, only those before that
    one."""
    path = history_path(key).before(instant_of(at + 1))
    cursor: str | None = None
    while True:
        page = await session.page(path, first=LISTED_ROWS, after=cursor, descending=True, undecodable="skip")
        commits = await seen.commits({row.batch for row in page if row.batch is not None})
        for row in page:
            moment = change_moment(row, commits, seen.began)
            if moment is not None and (earlier is None or moment[:2] < earlier[:2]):
                return moment
        cursor = page.end_cursor
        if not page.has_next:
            return None


def change_moment(row: ChangeRow, commits: Commits, began: int) -> Moment | None:
    """When a change takes effect; None if it does not count: cancelled, or of a batch that is not committed."""
    if row.status == "CANCELLED":
        return None
    if row.batch is not None and row.status == "SCHEDULED" and commits.get(row.batch, NEVER) > began:
        return None
    return Moment(micros_of(row.effective_at), row.number, row.cents)


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
