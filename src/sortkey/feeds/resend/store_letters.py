"""`StoreLetters`: the dead letters of a service's change feeds and timers, in the table `sortkey-dead-letters`.

What sending again means depends on who gave the letter up:

* A change goes to its feed's `on_changes`, in this process, alone. Letters of a shard go in their order. If one fails
  again, it stays, with the new reason, and later letters of the same item are not tried: they would overtake it.
* A timer is set again, and a follower calls it: only followers call a group one at a time.
* An aggregate is counted anew (`recount`). Its items have passed the change, so they would leave it out; and without
  their checkpoints nobody knows which of its groups have it. A recount is right in both cases, and also if somebody has
  made one before. It waits until the feed has saved that it has passed the change: before, the change may come again.

A letter is deleted after that, if it still has its token: one that was given up again meanwhile stays. So a kill in
between sends a letter twice, and loses none.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec
import orjson
from botocore.exceptions import ClientError

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.delivery import entry_of
from sortkey.feeds.resend.letters import Action, Dealt, Letter, Outcome, Stopped, UnknownLetters, Wanted
from sortkey.feeds.shards.dead_letter import KEPT, REASON_CHARACTERS, TIMER_SHARD, DeadLetter
from sortkey.feeds.shards.leases import handled_by
from sortkey.feeds.shards.outages import Verdict, describe
from sortkey.feeds.timers.timers import Timers, book_of
from sortkey.model.calls.change import Change, padded
from sortkey.model.calls.steps import code_of
from sortkey.model.errors import ConditionFailed, ItemMissing
from sortkey.model.items.access_path import AccessPath
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.aggregates.aggregator import SENT_AGAIN, Aggregator
from sortkey.patterns.schedules import Occurrence
from sortkey.patterns.timer_book import NO_ORIGIN, TimerBook

AnyFeed = ChangeFeed[Any] | Timers[Any]

_ID_PARTS: Final = 3
_TRIMMED: Final = timedelta(hours=25)
"""After which a stream no longer has a change."""
_INCOMPLETE: Final = "the record was too large to keep its images, so the change cannot be sent again"
_OTHER_CLASS: Final = "the record is not of a class of the feed any more"
_OVERTAKES: Final = "an earlier change of the same item has failed again"
_NOT_PASSED: Final = (
    "the feed has not saved yet that it has passed this change; let it run (sortkey follow), and try again in a few "
    "seconds"
)


class TimerRecord(msgspec.Struct):
    group: msgspec.Raw
    at: datetime


class StoreLetters:
    def __init__(self, session: AsyncSession, feeds: Sequence[AnyFeed]) -> None:
        self._session = session
        self._feeds = {feed.name: feed for feed in feeds}

    async def walk(self, wanted: Wanted, action: Action | None) -> AsyncGenerator[Dealt, None]:
        """The letters, by feed, shard and sequence number, each with what became of it. Raises UnknownLetters, and
        Stopped in an outage."""
        left = wanted.limit
        for name in self._names(wanted):
            found = self._found(name, wanted, left)
            async for dealt in self._dealt(name, found, action):
                left = None if left is None else left - 1
                yield dealt
            if left == 0:
                return

    def _names(self, wanted: Wanted) -> list[str]:
        # A feed that was renamed is named by hand.
        if wanted.ids:
            return list(dict.fromkeys(letter_key(each).feed for each in wanted.ids))
        return list(wanted.feeds or self._feeds)

    async def _found(self, name: str, wanted: Wanted, limit: int | None) -> AsyncIterator[DeadLetter]:
        number = 0
        async for letter in self._read(name, wanted):
            if number == limit:
                return
            if wanted.matches(letter.at, letter.reason) and (not wanted.feeds or letter.feed in wanted.feeds):
                number += 1
                yield letter

    async def _read(self, name: str, wanted: Wanted) -> AsyncIterator[DeadLetter]:
        try:
            if wanted.ids:
                for key in sorted({letter_key(each) for each in wanted.ids}):
                    if key.feed == name and (letter := await self._session.get(key.path, consistent=True)) is not None:
                        yield letter
            else:
                async for letter in self._session.iterate(DeadLetter.key(feed=name), consistent=True):
                    yield letter
        except ClientError as error:
            # No feed has run in this store yet.
            if code_of(error) != "ResourceNotFoundException":
                raise

    def _dealt(self, name: str, found: AsyncIterator[DeadLetter], action: Action | None) -> AsyncIterator[Dealt]:
        if action is None:
            return _listed(found)
        if action is Action.DROP:
            return self._dropped(found)
        feed = self._feeds.get(name)
        if feed is None:
            there = ", ".join(self._feeds) or "none"
            raise UnknownLetters(f"the service has no feed {name!r} to send letters to; there are: {there}")
        aggregator = aggregator_of(feed)
        return self._sent(feed, found) if aggregator is None else self._counted(feed, aggregator, found)

    async def _dropped(self, found: AsyncIterator[DeadLetter]) -> AsyncIterator[Dealt]:
        async for letter in found:
            gone = await self._delete(key_of(letter), letter.token) is None
            yield Dealt(shown(letter), Outcome.GONE if gone else Outcome.DROPPED)

    async def _sent(self, feed: AnyFeed, found: AsyncIterator[DeadLetter]) -> AsyncIterator[Dealt]:
        sender = await self._sender(feed)
        failed: set[bytes] = set()
        async for letter in found:
            item = item_of(letter)
            # Another command may have sent it since its page was read.
            current = await self._session.get(letter.key, consistent=True)
            if current is None or current.token != letter.token:
                yield Dealt(shown(letter), Outcome.GONE)
                continue
            if item in failed:
                yield Dealt(shown(letter), Outcome.FAILED, _OVERTAKES)
                continue
            reason = await sender.send(letter)
            if reason is None:
                await self._delete(key_of(letter), letter.token)
                yield Dealt(shown(letter), Outcome.SENT)
            else:
                failed.add(item)
                await self._keep(key_of(letter), letter.token, reason)
                yield Dealt(shown(letter), Outcome.FAILED, reason)

    async def _counted(
        self, feed: AnyFeed, aggregator: Aggregator, found: AsyncIterator[DeadLetter]
    ) -> AsyncIterator[Dealt]:
        # In this order: what is not handled yet may still be counted by the feed, and a recount would add it, too.
        handled = await handled_by(self._session, feed.name)
        trimmed = context_of(self._session).moment - _TRIMMED
        passed: list[tuple[LetterKey, str]] = []
        """Without the records: there may be many."""
        async for letter in found:
            if letter.at < trimmed or letter.sequence <= handled.get(letter.shard, ""):
                passed.append((key_of(letter), letter.token))
            else:
                yield Dealt(shown(letter), Outcome.FAILED, _NOT_PASSED)
        if not passed:
            return
        reason = await self._recount(feed, aggregator, handled)
        for key, token in passed:
            if reason is None:
                was, outcome = await self._delete(key, token), Outcome.SENT
            else:
                was, outcome = await self._keep(key, token, reason), Outcome.FAILED
            if was is None:
                now = context_of(self._session).moment
                yield Dealt(Letter(key.id, key.feed, now, "", {}), Outcome.GONE)
            else:
                yield Dealt(shown(was), outcome, reason or "")

    async def _recount(self, feed: AnyFeed, aggregator: Aggregator, handled: dict[str, str]) -> str | None:
        """Why it does not count all; None if it does."""
        try:
            report = await aggregator.recount(repair=True, handled=handled)
        except Exception as error:  # noqa: BLE001 - the program's own code may raise anything
            return reason_of(feed, error)
        return None if report.is_clean else f"the aggregate was counted anew, and is not right: {report}"

    async def _sender(self, feed: AnyFeed) -> Sender:
        if isinstance(feed, Timers):
            book = await book_of(feed, self._session)

            async def set_timers(changes: Sequence[Change[Any]]) -> None:
                await book.on_changes(changes)

            return Sender(ChangeFeed(feed.name, feed.schedule.source.cls, set_timers), book)
        return Sender(feed, None)

    async def _delete(self, key: LetterKey, token: str) -> DeadLetter | None:
        """The letter as it was; None if it was gone, or was given up again."""
        try:
            return await self._session.delete(key.path, where={"token": token})
        except (ItemMissing, ConditionFailed):
            return None

    async def _keep(self, key: LetterKey, token: str, reason: str) -> DeadLetter | None:
        """The letter with the new reason; None as above."""
        now = context_of(self._session).moment.replace(microsecond=0)
        changes = {"reason": reason[:REASON_CHARACTERS], "at": now, "expires": now + KEPT}
        try:
            return await self._session.update(key.path, changes, where={"token": token})
        except (ItemMissing, ConditionFailed):
            return None


class Sender(NamedTuple):
    feed: ChangeFeed[Any]
    timers: TimerBook | None
    """Of a schedule, whose letters are timers, and changes that set timers."""

    async def send(self, letter: DeadLetter) -> str | None:
        """Why it failed; None if it has not. Raises Stopped."""
        if self.timers is not None and letter.shard == TIMER_SHARD:
            occurrence = occurrence_of(letter)
            if occurrence.key(letter.feed) != letter.sequence:
                return "the letter's record is not that of its key"
            await self.timers.set({occurrence: NO_ORIGIN})
            return None
        if not letter.complete:
            return _INCOMPLETE
        entry = entry_of(self.feed, orjson.loads(letter.record), letter.shard, low_level=False)
        if entry is None:
            return _OTHER_CLASS
        if entry.change is None:
            return entry.reason
        token = SENT_AGAIN.set(True)
        try:
            await self.feed.on_changes([entry.change])
        except Exception as error:  # noqa: BLE001 - the program's own code may raise anything
            return reason_of(self.feed, error)
        finally:
            SENT_AGAIN.reset(token)
        return None


def reason_of(feed: AnyFeed, error: Exception) -> str:
    """Raises Stopped for an outage: the next letters would meet it, too."""
    if feed.rule.verdict(error) is Verdict.OUTAGE:
        raise Stopped(f"{feed.name} meets an outage: {describe(error)}") from error
    return f"{type(error).__name__}: {error}"


def occurrence_of(letter: DeadLetter) -> Occurrence:
    record = msgspec.json.decode(letter.record, type=TimerRecord)
    return Occurrence(bytes(record.group).decode(), record.at)


def aggregator_of(feed: AnyFeed) -> Aggregator | None:
    """The aggregator whose `on_changes` the feed calls."""
    owner = getattr(feed.on_changes, "__self__", None) if isinstance(feed, ChangeFeed) else None
    return owner if isinstance(owner, Aggregator) else None


async def _listed(found: AsyncIterator[DeadLetter]) -> AsyncIterator[Dealt]:
    async for letter in found:
        yield Dealt(shown(letter), Outcome.LISTED)


class LetterKey(NamedTuple):
    feed: str
    shard: str
    sequence: str

    @property
    def id(self) -> str:
        """FEED/SHARD/SEQUENCE, without the zeros before a sequence number."""
        return f"{self.feed}/{self.shard}/{self.sequence.lstrip('0') if self.shard != TIMER_SHARD else self.sequence}"

    @property
    def path(self) -> AccessPath[DeadLetter]:
        return DeadLetter.key(feed=self.feed, shard=self.shard, sequence=self.sequence)


def letter_key(text: str) -> LetterKey:
    """Raises UnknownLetters."""
    parts = text.split("/")
    if len(parts) != _ID_PARTS or not all(parts):
        raise UnknownLetters(f"{text!r} is not the id of a dead letter: FEED/SHARD/SEQUENCE, as the list shows it")
    feed, shard, sequence = parts
    return LetterKey(feed, shard, sequence if shard == TIMER_SHARD else padded(sequence))


def key_of(letter: DeadLetter) -> LetterKey:
    return LetterKey(letter.feed, letter.shard, letter.sequence)


def shown(letter: DeadLetter) -> Letter:
    content = {
        "feed": letter.feed,
        "shard": letter.shard,
        "sequence": letter.sequence,
        "complete": letter.complete,
        "expires": letter.expires,
        "record": msgspec.Raw(letter.record.encode()),
    }
    return Letter(key_of(letter).id, letter.feed, letter.at, letter.reason, content)


def item_of(letter: DeadLetter) -> bytes:
    """What letters of one item, or of one group of timers, have in common."""
    record = orjson.loads(letter.record)
    return orjson.dumps(record.get("group") or record.get("dynamodb", {}).get("Keys"), option=orjson.OPT_SORT_KEYS)
