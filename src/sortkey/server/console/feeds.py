"""Change feeds and timers: their shards, leases and lag; their dead letters; and what is due when.

Who has which shard, and how far it is, is in the store, so it is right whichever process follows. How far behind a
shard is, its follower knows; for a shard that no follower here has, the first record after its checkpoint tells. A
follower that was killed leaves its name in the lease, and renews it no more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import date, datetime, timedelta
from typing import Any, Final, Literal

import msgspec
from botocore.exceptions import ClientError

from sortkey.clock import monotonic
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.feed_runner import FeedRunner
from sortkey.feeds.follower import LEASE_SECONDS
from sortkey.feeds.resend.letters import Action, Stopped, UnknownLetters, Wanted
from sortkey.feeds.resend.store_letters import StoreLetters, key_of
from sortkey.feeds.shards.dead_letter import TIMER_SHARD, DeadLetter
from sortkey.feeds.shards.lease_runner import Sightings
from sortkey.feeds.shards.leases import NOBODY, ShardKey, ShardLease, list_shards
from sortkey.feeds.timers.timer_runner import TimerRunner
from sortkey.feeds.timers.timers import Timers
from sortkey.model.calls.steps import code_of
from sortkey.model.errors import ModelError
from sortkey.model.items.access_path import AccessPath
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of, unmetered
from sortkey.patterns.schedules import Occurrence
from sortkey.patterns.timer_book import OVERDUE, Timer, day_of, days
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.rows import shown as fields_shown
from sortkey.server.console.routes import (
    Body,
    Message,
    Nothing,
    Route,
    Routes,
    forbidden,
    instant,
    instant_text,
    invalid,
    missing,
)
from sortkey.server.console.sources import RunningService, Sources

AnyFeed = ChangeFeed[Any] | Timers[Any]

COUNTED: Final = 1000
"""Dead letters of a feed that are counted; the page says that there are more."""
COUNT_SECONDS: Final = 5.0
LETTERS: Final = 200
ACTED_ON: Final = 100
"""Dead letters that one request sends or drops."""
DAYS: Final = 31
DUE: Final = 500
"""Timers that are shown."""
DUE_ITEMS: Final = 50
"""Items of one timer that are shown."""
SILENT_SECONDS: Final = 2 * LEASE_SECONDS
"""After so long without a renewal, a follower has stopped, also one with longer leases: it renews each five times."""
LOOK_SECONDS: Final = 5.0
"""Between two looks for a record after a checkpoint, if there was none."""
BEHIND_SECONDS: Final = 2.0
"""From which on a feed is behind: the times of records are rounded to the second."""
_NO_TABLE: Final = "ResourceNotFoundException"
_GONE: Final = (_NO_TABLE, "TrimmedDataAccessException")
"""Errors of a shard whose records are no longer in the stream."""


class ShardShown(Message):
    stream: str
    shard: str
    owner: str | None
    here: bool
    silent: bool
    checkpoint: str | None
    state: str
    lag_seconds: float | None


class FeedShown(Message):
    name: str
    service: str
    kind: str
    table: str
    classes: list[str]
    following: bool
    lag_seconds: float | None
    lag_text: str
    blocked: str | None
    unfollowed: int
    handled: int
    dead: int
    skipped: int
    dead_letters: int
    dead_letters_more: bool
    shards: list[ShardShown]


class FeedsShown(Message):
    at: str
    feeds: list[FeedShown]


class LettersRequest(Body):
    service: str
    feed: str | None = None
    reason: str = ""
    first: int = 50
    after: Any = None


class LetterShown(Message):
    id: str
    feed: str
    at: str
    expires: str
    reason: str
    complete: bool
    kind: str
    record: msgspec.Raw


class LettersShown(Message):
    letters: list[LetterShown]
    next: Any


class ActRequest(Body):
    service: str
    ids: list[str]
    action: Literal["retry", "drop"]


class LetterResult(Message):
    id: str
    outcome: str
    reason: str


class LettersDone(Message):
    results: list[LetterResult]
    stopped: str | None


class TimersRequest(Body):
    service: str | None = None
    schedule: str | None = None
    days: int = 7


class TimerShown(Message):
    schedule: str
    service: str
    group: dict[str, Any]
    occurrence: str
    at: str
    overdue: bool


class TimersShown(Message):
    timers: list[TimerShown]
    more: bool


class TimerItemsRequest(Body):
    service: str
    schedule: str
    occurrence: str
    at: datetime


class TimerItem(Message):
    class_: str = msgspec.field(name="class")
    fields: dict[str, str]


class TimerItems(Message):
    items: list[TimerItem]
    more: bool


class FeedBook:
    def __init__(self, sources: Sources, session: AsyncSession) -> None:
        self._sources = sources
        self._session = unmetered(session)
        self._counts: dict[str, tuple[float, int, int]] = {}
        """When the dead letters of each feed were counted last, how many this process had given up, and how many there
        were."""
        self._sightings: dict[str, Sightings] = {}
        """Of each feed's leases."""
        self._looks: dict[tuple[str, ShardKey], tuple[str, float, datetime | None]] = {}
        """After which checkpoint the next record was looked for, when, and when it was made."""

    def routes(self) -> Routes:
        return {
            "feeds": Route(Nothing, self.feeds),
            "letters": Route(LettersRequest, self.letters),
            "letters/act": Route(ActRequest, self.act),
            "timers": Route(TimersRequest, self.timers),
            "timers/items": Route(TimerItemsRequest, self.timer_items),
        }

    @property
    def all(self) -> list[tuple[RunningService, AnyFeed]]:
        return [(service, feed) for service in self._sources.services for feed in service.feeds]

    async def feeds(self, viewer: Viewer, _: Nothing) -> FeedsShown:
        shown = [await self.shown(service, feed) for service, feed in self.all if viewer.sees_service(service.name)]
        return FeedsShown(instant(self._sources.clock.now()), shown)

    async def shown(self, service: RunningService, feed: AnyFeed) -> FeedShown:
        runner = self._runner(feed)
        number = await self.dead_letters(feed.name, 0 if runner is None else runner.metrics.dead)
        shards = await self._shards(feed, runner)
        lags = [each.lag_seconds for each in shards if each.lag_seconds is not None]
        if isinstance(feed, Timers):
            lags = [await self._late(feed)]
        lasting = [] if runner is None else runner.metrics.blockages.lasting()
        blocked = f"{lasting[0].what}: {lasting[0].reason}" if lasting else None
        lag = max(lags, default=None)
        table, classes = _read_by(feed)
        return FeedShown(
            feed.name,
            service.name,
            "timers" if isinstance(feed, Timers) else "changes",
            table,
            classes,
            runner is not None,
            lag,
            lag_text(lag, blocked, shards, None if runner is not None else service.name, _delivered(feed)),
            blocked,
            len(unfollowed(shards)),
            0 if runner is None else runner.metrics.handled,
            0 if runner is None else runner.metrics.dead,
            runner.metrics.skipped if isinstance(runner, FeedRunner) else 0,
            number,
            number >= COUNTED,
            shards,
        )

    async def _late(self, feed: Timers[Any]) -> float:
        """Since when the first timer that is due waits; 0 if none does."""
        first = next(iter(await self.due(feed, 1, 1)), None)
        return 0.0 if first is None else max(0.0, (self._now - first.at).total_seconds())

    def _runner(self, feed: AnyFeed) -> FeedRunner | TimerRunner | None:
        follower = self._sources.follower
        if follower is None:
            return None
        kind = TimerRunner if isinstance(feed, Timers) else FeedRunner
        return next((each for each in follower.runners if isinstance(each, kind) and each.name == feed.name), None)

    async def _shards(self, feed: AnyFeed, runner: FeedRunner | TimerRunner | None) -> list[ShardShown]:
        name = feed.leases if isinstance(feed, Timers) else feed.name
        leases = await self._leases(name)
        silent = self._sightings.setdefault(name, Sightings(SILENT_SECONDS)).expired(leases, monotonic())
        if isinstance(feed, Timers):
            return [self._shard(each, leases, "open", each in silent, None) for each in leases]
        streams = await list_shards(self._session.client, feed.table.name)
        states = {each.key: "closed" if each.is_closed else "open" for stream in streams for each in stream}
        shown = []
        for key, state in states.items():
            consumer = runner.consumers.get(key) if isinstance(runner, FeedRunner) else None
            lag = await self._waiting(name, key, leases.get(key)) if consumer is None else consumer.lag()
            shown.append(self._shard(key, leases, state, key in silent, lag))
        return shown

    async def _waiting(self, feed: str, key: ShardKey, lease: ShardLease | None) -> float | None:
        """For how long the first record after the checkpoint has waited; 0 without one, None if that is not known."""
        if lease is None or lease.has_ended or not lease.checkpoint:
            # Where it begins depends on the feed's start.
            return None
        checkpoint, looked, made = self._looks.get((feed, key), ("", -LOOK_SECONDS, None))
        if checkpoint != lease.checkpoint or (made is None and monotonic() - looked >= LOOK_SECONDS):
            try:
                made = await self._made_after(key, lease.checkpoint)
            except ClientError as error:
                if code_of(error) not in _GONE:
                    raise
                return None
            self._looks[feed, key] = lease.checkpoint, monotonic(), made
        return 0.0 if made is None else max(0.0, (self._now - made).total_seconds())

    async def _made_after(self, key: ShardKey, checkpoint: str) -> datetime | None:
        """When the record after a sequence number was made; None if there is none yet."""
        client = self._session.client
        position = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint}
        found = await client.get_shard_iterator(StreamArn=key.stream, ShardId=key.shard, **position)
        records = (await client.get_records(ShardIterator=found["ShardIterator"], Limit=1))["Records"]
        made: datetime | None = records[0]["dynamodb"]["ApproximateCreationDateTime"] if records else None
        return made

    async def _leases(self, feed: str) -> dict[ShardKey, ShardLease]:
        found: dict[ShardKey, ShardLease] = {}

        async def read() -> None:
            async for lease in self._session.iterate(ShardLease.key(feed=feed), consistent=True):
                found[ShardKey(lease.stream, lease.shard)] = lease

        await _unless_new(read)
        return found

    def _shard(
        self, key: ShardKey, leases: Mapping[ShardKey, ShardLease], state: str, silent: bool, lag: float | None
    ) -> ShardShown:
        lease = leases.get(key)
        follower = self._sources.follower
        here = lease is not None and follower is not None and lease.owner == follower.id
        if lease is None:
            state = "waiting"
        elif lease.has_ended:
            state = "ended"
        return ShardShown(
            key.stream,
            key.shard,
            None if lease is None or lease.owner == NOBODY else lease.owner,
            here,
            silent and lease is not None and lease.owner != NOBODY and not lease.has_ended and not here,
            None if lease is None or not lease.checkpoint else lease.checkpoint,
            state,
            lag,
        )

    async def dead_letters(self, feed: str, given_up: int) -> int:
        """How many, up to `COUNTED`, a few seconds ago at most, with all that this process has given up."""
        at, before, number = self._counts.get(feed, (-COUNT_SECONDS, 0, 0))
        if monotonic() - at < COUNT_SECONDS and before == given_up:
            return number
        number = 0

        async def count() -> None:
            nonlocal number
            path: AccessPath[DeadLetter] = DeadLetter.key(feed=feed)
            async for _ in self._session.iterate(path, limit=COUNTED):
                number += 1

        await _unless_new(count)
        self._counts[feed] = monotonic(), given_up, number
        return number

    async def letters(self, viewer: Viewer, wanted: LettersRequest) -> LettersShown:
        service = self._service(viewer, wanted.service)
        if not 1 <= wanted.first <= LETTERS:
            raise invalid(f"first is from 1 to {LETTERS}, not {wanted.first}.")
        names = [feed.name for feed in service.feeds]
        feeds = names if wanted.feed is None else [name for name in names if name == wanted.feed]
        skipping = _feed_of(wanted.after) if wanted.after is not None else None
        found: list[DeadLetter] = []
        cursor: dict[str, str] | None = None
        for name in feeds:
            if skipping is not None and name != skipping:
                continue
            after = wanted.after["after"] if skipping is not None else None
            skipping = None
            cursor = await self._page(name, after, wanted, found)
            if cursor is not None:
                break
        return LettersShown([_letter(each) for each in found], cursor)

    async def _page(
        self, feed: str, after: str | None, wanted: LettersRequest, found: list[DeadLetter]
    ) -> dict[str, str] | None:
        """Adds a feed's letters; returns where to go on if the page is full."""
        while True:
            try:
                page = await self._session.page(DeadLetter.key(feed=feed), first=wanted.first, after=after)
            except ClientError as error:
                if code_of(error) != _NO_TABLE:
                    raise
                return None
            found += [each for each in page.items if wanted.reason.casefold() in each.reason.casefold()]
            after = page.end_cursor
            if not page.has_next or after is None:
                return None
            if len(found) >= wanted.first:
                return {"feed": feed, "after": after}

    def _service(self, viewer: Viewer, name: str) -> RunningService:
        found = next((each for each in self._sources.services if each.name == name), None)
        if found is None or not viewer.sees_service(name):
            raise missing(f"There is no service {name!r}.")
        return found

    async def act(self, viewer: Viewer, wanted: ActRequest) -> LettersDone:
        service = self._service(viewer, wanted.service)
        if not viewer.edits_service(service.name):
            raise forbidden(f"You may not send or drop dead letters of {service.name}.")
        if not 1 <= len(wanted.ids) <= ACTED_ON:
            raise invalid(f"ids has from 1 to {ACTED_ON} ids, not {len(wanted.ids)}.")
        names = [feed.name for feed in service.feeds]
        done = LettersDone([], None)
        letters = StoreLetters(self._session, service.feeds)
        try:
            async with aclosing(letters.walk(Wanted(names, wanted.ids), Action(wanted.action))) as walked:
                async for dealt in walked:
                    done.results.append(LetterResult(dealt.letter.id, dealt.outcome.value, dealt.reason))
        except UnknownLetters as error:
            raise invalid(str(error)) from None
        except Stopped as error:
            done.stopped = str(error)
        self._counts.clear()
        return done

    async def timers(self, viewer: Viewer, wanted: TimersRequest) -> TimersShown:
        if not 1 <= wanted.days <= DAYS:
            raise invalid(f"days is from 1 to {DAYS}, not {wanted.days}.")
        found: list[TimerShown] = []
        more = False
        for service, feed in self.all:
            if not isinstance(feed, Timers) or not viewer.sees_service(service.name):
                continue
            if wanted.service in (None, service.name) and wanted.schedule in (None, feed.name):
                due = await self.due(feed, wanted.days, DUE)
                more = more or len(due) >= DUE
                found += [self._timer(service, feed, each) for each in due]
        found.sort(key=lambda each: each.at)
        return TimersShown(found[:DUE], more or len(found) > DUE)

    async def timer_items(self, viewer: Viewer, wanted: TimerItemsRequest) -> TimerItems:
        """What a timer's handler would be given now."""
        service = self._service(viewer, wanted.service)
        feed = next((each for each in service.feeds if isinstance(each, Timers) and each.name == wanted.schedule), None)
        if feed is None:
            raise missing(f"There is no schedule {wanted.schedule!r}.")
        if wanted.at.utcoffset() is None:
            raise invalid("at has a time zone.")
        due = feed.schedule.due(self._session, Occurrence(wanted.occurrence, wanted.at))
        found: list[TimerItem] = []
        async for item in due.items():
            if len(found) == DUE_ITEMS:
                return TimerItems(found, True)
            found.append(TimerItem(type(item).__name__, fields_shown(item)))
        return TimerItems(found, False)

    async def due(self, feed: Timers[Any], number: int, limit: int) -> list[Timer]:
        """The timers of the next days, with those that are overdue, of all shards."""
        today = day_of(self._now)
        wanted: list[date] = [OVERDUE, *days(today - timedelta(days=1), today + timedelta(days=number - 1))]
        found: list[Timer] = []

        async def read() -> None:
            for day in wanted:
                for shard in range(feed.schedule.shards):
                    path: AccessPath[Timer] = Timer.key(schedule=feed.name, shard=shard, day=day)
                    found.extend([timer async for timer in self._session.iterate(path, limit=limit)])
                if len(found) >= limit:
                    return

        await _unless_new(read)
        return sorted(found, key=lambda each: each.at)[:limit]

    @property
    def _now(self) -> datetime:
        return context_of(self._session).moment

    def _timer(self, service: RunningService, feed: Timers[Any], timer: Timer) -> TimerShown:
        try:
            group = feed.schedule.source.fields(timer.group)
        except ModelError:
            # Of a schedule that was declared by other fields.
            group = {"group": timer.group}
        return TimerShown(
            feed.name,
            service.name,
            msgspec.to_builtins(group, enc_hook=str),
            timer.group,
            instant_text(timer.at),
            timer.at < self._now,
        )


def unfollowed(shards: Sequence[ShardShown]) -> list[ShardShown]:
    """The shards that nobody follows: free ones, and those of a follower that has stopped."""
    return [
        each for each in shards if each.silent or (each.owner is None and each.state in ("open", "closed", "waiting"))
    ]


def lag_text(
    lag: float | None,
    blocked: str | None,
    shards: Sequence[ShardShown],
    elsewhere: str | None,
    what: Literal["change", "timer"] = "change",
) -> str:
    """Why a feed is behind, or that it is not. `elsewhere` is its service, if this process does not follow it."""
    if blocked is not None:
        return f"It waits, and tries again: {blocked}"
    left = unfollowed(shards)
    if left:
        stopped = sum(each.silent for each in left)
        which = "its shard" if len(shards) == 1 else f"{len(left)} of its {len(shards)} shards"
        whose = "their follower" if stopped == len(left) else f"the follower of {stopped} of them"
        why = f": {'its follower' if len(shards) == 1 else whose} has stopped" if stopped else ""
        begin = f"Run 'sortkey follow {elsewhere}', or this server without --no-follow."
        return f"Nobody follows {which}{why}. {'This process will, within seconds.' if elsewhere is None else begin}"
    if lag is None:
        return "Another process follows it."
    if lag < BEHIND_SECONDS:
        return "It has handled everything."
    return f"The oldest {what} that waits is {lag:,.0f} s old: {what}s come faster than they are handled."


def _delivered(feed: AnyFeed) -> Literal["change", "timer"]:
    return "timer" if isinstance(feed, Timers) else "change"


def _read_by(feed: AnyFeed) -> tuple[str, list[str]]:
    """The table that a feed reads, and its classes."""
    if isinstance(feed, Timers):
        cls = feed.schedule.source.cls
        return cls.__table__.name, [cls.__name__]
    return feed.table.name, [schema.name for schema in feed.table.schemas]


def _letter(letter: DeadLetter) -> LetterShown:
    return LetterShown(
        key_of(letter).id,
        letter.feed,
        instant_text(letter.at),
        instant_text(letter.expires),
        letter.reason,
        letter.complete,
        "timer" if letter.shard == TIMER_SHARD else "change",
        msgspec.Raw(letter.record.encode()),
    )


def _feed_of(cursor: Any) -> str:
    match cursor:
        case {"feed": str(feed), "after": str()}:
            return feed
    raise invalid("after is not a cursor of dead letters.")


async def _unless_new(read: Callable[[], Awaitable[None]]) -> None:
    """Read a table of the framework, which a new store does not have yet."""
    try:
        await read()
    except ClientError as error:
        if code_of(error) != _NO_TABLE:
            raise
