"""What rows show: prices at an instant, the changes of a store by time, and the history of a price by time.

A read of prices asks further only if rows need it: whether a batch is committed, and what was in force before the
oldest entry that a row still has, which the changes of the price tell. Lists of changes are right without the
transition: a change whose instant has come is applied. The list from now on has another beginning on every page, so its
cursors carry theirs, and the channel that was asked for: `BEGINNING-CHANNEL.CURSOR`.

Pages are the same for REST and GraphQL: 64 items by default, 2,048 at most.

The number of a change orders it among those that were asked for: microseconds since 1970, each higher than all before
it in this process, then random digits of the process. The id by which callers name a change has the whole key of its
row, so that one GetItem finds it, and two if it was moved.
"""

from __future__ import annotations

import logging
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
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
    ChangeStep,
    Price,
    PriceAction,
    PriceChange,
    PriceKey,
    PriceRecord,
    StepKind,
    amount_of,
    instant_of,
    micros_of,
)
from sortkey_services.pricing.timeline import (
    DECIDED,
    NEVER,
    Commits,
    Moment,
    after_departure,
    batches_of,
    batches_of_changes,
    in_force,
    moments,
    needs_history,
)

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
            return self._shown(row, await moment_in_force(self._session, row, self._at, self._seen, commits))

        for index, price in zip(past, await concurrent_map(one, past, PARALLEL), strict=True):
            shown[index] = price


def _price(row: PriceRow, since: int, cents: int, currency: str) -> Price[Decimal] | None:
    try:
        effective = instant_of(since)
    except OverflowError:
        _logger.warning("a price is left out, because its instant is beyond all time: %s", row.key)
        return None
    return Price(row.store, row.product, row.channel, row.kind, amount_of(cents), currency, effective)


async def moment_in_force(
    session: sk.AsyncSession, row: PriceRow, at: int, seen: SeenBatches, commits: Commits
) -> Moment | None:
    """What is in force at an instant, by the row, or by the history if the row may have left it out."""
    own = in_force(moments(row, commits, seen.began), at)
    if not needs_history(row, at, commits, seen.began):
        return own
    listed = await listed_in_force(session, key_of(row), at, seen)
    return max((each for each in (listed, own) if each is not None), key=lambda each: each[:2], default=None)


async def listed_in_force(
    session: sk.AsyncSession, key: PriceKey, at: int, seen: SeenBatches, *, earlier: Moment | None = None
) -> Moment | None:
    """The newest listed change not after the instant; None if there is none. With `earlier`, only those before that
    one."""
    path = history_path(key).before(instant_of(at + 1))
    cursor: str | None = None
    while True:
        page = await session.page(path, first=LISTED_ROWS, after=cursor, descending=True, undecodable="skip")
        commits = await seen.commits(batches_of_changes(page))
        for row in page:
            moment = change_moment(row, commits, seen.began)
            if moment is not None and (earlier is None or moment[:2] < earlier[:2]):
                return moment
        cursor = page.end_cursor
        if not page.has_next:
            return None


def change_moment(row: ChangeRow, commits: Commits, began: int) -> Moment | None:
    """When a change takes effect; None if it does not count: cancelled, or of a batch that is not committed."""
    row = after_departure(row, commits, began)
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
        self, store: str, channel: str | None, page: PageArguments, begin: datetime | None, end: datetime | None
    ) -> FilledPage[PriceChange[Decimal]]:
        """Those that were not cancelled, from `begin` on, or after now, before `end`; without a channel, of all."""
        seen = self._batches.begin_read()
        since = seen.began + 1 if begin is None else micros_of(begin)
        beginning, page = without_prefix(page)
        if beginning is not None:
            since = _beginning(beginning, channel, None if begin is None else since)
        until = END if end is None else micros_of(end)
        if until <= since:
            # The end of what is asked for may just have passed.
            return FilledPage([], [], has_next=False, has_previous=beginning is not None)
        path = ChangeRow.key(store=store).between(instant_of(since), instant_of(until - 1))

        async def show(rows: Sequence[ChangeRow]) -> list[PriceChange[Decimal] | None]:
            commits = await seen.commits(batches_of_changes(rows))
            rows = [after_departure(row, commits, seen.began) for row in rows]
            return [
                shown_change(row, seen.began)
                if _is_change(row, channel) and change_moment(row, commits, seen.began) is not None
                else None
                for row in rows
            ]

        found = await shown_page(self._session, path, page, show, consistent=True)
        return found.with_prefix(_prefix(since, channel))

    async def history(self, key: PriceKey, page: PageArguments) -> FilledPage[PriceRecord[Decimal]]:
        """What has taken effect. A loaded price is listed with its first change."""
        seen = self._batches.begin_read()

        async def show(rows: Sequence[ChangeRow]) -> list[PriceRecord[Decimal] | None]:
            commits = await seen.commits(batches_of_changes(rows))
            rows = [after_departure(row, commits, seen.began) for row in rows]
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


def _is_loaded(row: ChangeRow) -> bool:
    return row.number.startswith(f"{LOADED}.")


def _is_change(row: ChangeRow, channel: str | None) -> bool:
    return (channel is None or row.channel == channel) and not _is_loaded(row)


def shown_change(row: ChangeRow, now: int) -> PriceChange[Decimal]:
    at = micros_of(row.effective_at)
    if row.status == "CANCELLED":
        status = ChangeStatus.CANCELLED
    else:
        status = ChangeStatus.APPLIED if at <= now else ChangeStatus.SCHEDULED
    return PriceChange(
        public_id(row),
        row.store,
        row.product,
        row.channel,
        row.kind,
        PriceAction.DELETE if row.cents is None else PriceAction.SET,
        None if row.cents is None else amount_of(row.cents),
        row.effective_at,
        status,
        row.by,
        row.caller,
        instant_of(row.recorded),
        _history(row),
    )


def _history(row: ChangeRow) -> list[ChangeStep]:
    if row.steps is None:
        if row.status != "CANCELLED":
            return []
        # Cancelled by an earlier version.
        return [ChangeStep(StepKind.CANCELLED, None, row.effective_at, row.cancelled_by, None, None)]
    return [
        ChangeStep(
            step.kind,
            None if step.after is None else instant_of(step.after),
            instant_of(step.before),
            step.by,
            step.caller,
            instant_of(step.recorded),
        )
        for step in row.steps
    ]


def _record(row: ChangeRow, moment: Moment, previous: Moment | None) -> PriceRecord[Decimal]:
    before = None if previous is None else previous.cents
    store, channel, kind, product = key_of(row)
    return PriceRecord(
        None if _is_loaded(row) else public_id(row),
        store,
        product,
        channel,
        kind,
        PriceAction.DELETE if row.cents is None else PriceAction.SET,
        None if row.cents is None else amount_of(row.cents),
        None if before is None else amount_of(before),
        instant_of(moment.at),
        row.by,
        row.caller,
        instant_of(row.recorded),
    )


def _prefix(since: int, channel: str | None) -> str:
    """What the cursors of a list of changes begin with."""
    return f"{since:x}" if channel is None else f"{since:x}-{blake2b(channel.encode(), digest_size=4).hexdigest()}"


def _beginning(prefix: str, channel: str | None, asked: int | None) -> int:
    """The beginning that a cursor carries. Raises CursorError if it is none, or not the one that is asked for."""
    try:
        beginning = int(prefix.partition("-")[0], 16)
        instant_of(beginning)
    except (ValueError, OverflowError):
        beginning = -1
    if _prefix(beginning, channel) != prefix or (asked is not None and asked != beginning):
        raise sk.CursorError(
            "the cursor is not one of this list: it was changed, or `from` or the channel is another one"
        )
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


def public_id(row: ChangeRow) -> str:
    """The id by which callers name a change, also when it was moved."""
    return row.first or ChangeId(row.store, micros_of(row.effective_at), row.number).text


async def found_change(session: sk.AsyncSession, batches: Batches, change: ChangeId) -> ChangeRow:
    """The row of a change, where it is now. Raises NotFound if there is none that was accepted."""
    row = await session.get(change.path, consistent=True)
    # More than once if it is being moved.
    while row is not None:
        commits = await batches.commits(batches_of_changes([row]))
        departed = after_departure(row, commits, DECIDED)
        if departed.moved_to is not None:
            row = await session.get(change_id(departed.moved_to).path, consistent=True)
        elif row.batch is None or row.status != "SCHEDULED" or commits.get(row.batch, NEVER) != NEVER:
            # A departure that is not decided stays: who wants another one decides it.
            return row if departed.status == row.status else departed
        else:
            break
    raise sk.services.NotFound(f"there is no price change {change.text!r}")


class ChangeNumbers:
    def __init__(self, draw: Random) -> None:
        self._last = 0
        self._process = f"{draw.getrandbits(32):08x}"

    def take(self, now: int, count: int) -> Callable[[int], str]:
        """So many numbers, each by its index."""
        first = max(now, self._last + 1)
        self._last = first + count - 1
        return lambda index: f"{first + index:014x}{self._process}"
