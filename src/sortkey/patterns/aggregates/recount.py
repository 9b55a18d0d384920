"""A recount: everything counted anew from the table of truth, compared with the aggregate while changes go on.

Both tables are scanned, one after the other, and then the stream is read from its horizon to its tip. The truth is that
of the tip: an item that has changed since the scan began is as its last change left it, all others as they were
scanned. An item of the aggregate is behind the tip by the steps after its marks. So what it should show is the truth
less those steps, however far behind the feed is, as long as the stream still has what the feed has not applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from sortkey.model.changes.comparable import comparable
from sortkey.model.items.codec import Row
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.aggregates.extremes import Bound
from sortkey.patterns.aggregates.fold import after_mark, fold
from sortkey.patterns.aggregates.marks import mark_attribute, mark_of, marks_in
from sortkey.patterns.aggregates.shares import Shares, Source
from sortkey.patterns.aggregates.step import Group, Share, Step
from sortkey.patterns.aggregates.stream_reading import ShardChanges, StreamReading
from sortkey.patterns.aggregates.target import Target
from sortkey.patterns.aggregates.values import sum_exactly

_SLACK: Final = timedelta(minutes=15)
"""By how much the clocks of the store and of the program may differ."""
_PROGRESS: Final = 500

ShowRows = Callable[[int], None]


class Expected(NamedTuple):
    """What an item of the aggregate should show, at its marks."""

    sums: dict[str, Any]
    bounds: dict[str, Bound] | None
    """None if the item is behind the tip, where extremes cannot be computed."""


class Truth:
    """The counted items and the steps that the stream still has."""

    def __init__(self, source: Source, target: Target, now: datetime, handled: Mapping[str, str]) -> None:
        self._source = source
        self._target = target
        self.now = now
        self._handled = {mark_attribute(target.prefix, shard): mark_of(last) for shard, last in handled.items()}
        self._shares: dict[bytes, tuple[Share, tuple[Group, ...]]] = {}
        """What each item has, and the groups that it belongs to, by a hash of its key: there may be millions."""
        self._known: dict[Any, Any] = {}
        """Groups and shares, each once."""
        self._steps: dict[Group, dict[str, list[Step]]] = {}
        self._totals: dict[Group, list[Share]] | None = None

    def add_item(self, item: Any) -> None:
        """An item as it was scanned."""
        self._place(self._source.schema.key_of(item), self._source.shares(item, self.now))

    def add_changes(self, read: Iterable[ShardChanges]) -> None:
        """Changes of the stream, each shard after its parent."""
        self._totals = None
        for shard, changes in read:
            mark = mark_attribute(self._target.prefix, shard)
            for group, steps in fold(self._source, changes, self.now).items():
                self._steps.setdefault(group, {}).setdefault(mark, []).extend(steps)
            for change in changes:
                # Older ones were there when the item was scanned.
                if change.at >= self.now - _SLACK:
                    new = {} if change.new is None else self._source.shares(change.new, self.now)
                    self._place(change.key, new)

    def _place(self, key: Row, shares: Shares) -> None:
        text = repr([(name, comparable(value)) for name, value in sorted(key.items())])
        place = blake2b(text.encode(), digest_size=16).digest()
        if not shares:
            self._shares.pop(place, None)
            return
        once = self._known.setdefault
        # An item has one share in all its groups.
        share = next(iter(shares.values()))
        self._shares[place] = once(share, share), tuple([once(group, group) for group in shares])

    @property
    def items(self) -> int:
        return len(self._shares)

    @property
    def groups(self) -> Iterator[Group]:
        """The groups that have items."""
        return iter(self._by_group)

    @property
    def _by_group(self) -> dict[Group, list[Share]]:
        if self._totals is None:
            self._totals = {}
            for share, groups in self._shares.values():
                for group in groups:
                    self._totals.setdefault(group, []).append(share)
        return self._totals

    def expected(self, group: Group, row: Row) -> Expected:
        """What the item of a group should show, if this is its row; {} if it has none."""
        pending = self._pending(group, dict(marks_in(self._target.prefix, row)))
        shares = self._by_group.get(group, [])
        sums = {}
        for name, zero in self._target.zeros.items():
            position = self._target.positions[name]
            ahead = [-step.added[position] for step in pending if step.added is not None]
            ahead += [step.removed[position] for step in pending if step.removed is not None]
            sums[name] = sum_exactly(zero, [*(share[position] for share in shares), *ahead])
        if pending:
            return Expected(sums, None)
        positions = self._target.positions
        return Expected(
            sums,
            {
                name: extreme.of_all([share[positions[name]] for share in shares])
                for name, extreme in self._target.extremes.items()
            },
        )

    def _pending(self, group: Group, marks: Mapping[str, str]) -> list[Step]:
        """The steps that the item does not have yet."""
        pending = []
        for attribute, steps in self._steps.get(group, {}).items():
            known = [mark for mark in (marks.get(attribute), self._handled.get(attribute)) if mark is not None]
            pending += after_mark(steps, max(known, default=None))
        return pending

    def marks_of(self, group: Group) -> set[str]:
        """The marks of the shards that have steps of the group."""
        return {*self._steps.get(group, {})}


class Count(NamedTuple):
    """Everything that a comparison needs."""

    truth: Truth
    reading: StreamReading
    rows: dict[Group, Row]
    """The items of the aggregate."""


async def count_anew(
    session: AsyncSession, source: Source, target: Target, handled: Mapping[str, str], progress: ShowRows | None
) -> Count:
    """Reads both tables and the stream."""
    truth = Truth(source, target, context_of(session).moment, handled)
    done = 0
    async for item in session.scan(source.counted, consistent=True):
        truth.add_item(item)
        done = _shown(done + 1, progress)
    rows: dict[Group, Row] = {}
    async for row in session.scan_rows(target.schema.owner, consistent=True):
        group = group_of(source, target, row, truth.now)
        if group is not None:
            target.require_known(row)
            rows[group] = row
        done = _shown(done + 1, progress)
    reading = StreamReading(session, source)
    truth.add_changes(await reading.read_to_tip())
    if progress is not None:
        progress(done)
    return Count(truth, reading, rows)


def group_of(source: Source, target: Target, row: Row, now: datetime) -> Group | None:
    """The group of a row; None if it is of another class, or of a window that is no longer kept."""
    fields = target.schema.primary.parse(row) if target.schema.recognises(row) else None
    if fields is None:
        return None
    group = tuple(fields[name] for name in target.group)
    expiry = None if source.window is None else source.window.expiry(group[-1])
    return None if expiry is not None and expiry <= now else group


def _shown(done: int, progress: ShowRows | None) -> int:
    if progress is not None and done % _PROGRESS == 0:
        progress(done)
    return done
