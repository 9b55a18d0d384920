"""What an item counts for, and what its changes do to the aggregate. Pure, but for the time, which is an argument.

An item has a *share* for each item of the aggregate that it belongs to:

    Favourite(user="ada", restaurant="nopi", since=24 August 2026)
        ("nopi", "ALL_TIME"): (1,)      ("nopi", "2026-08"): (1,)      ("nopi", "2026-08-24"): (1,)

The tuple on the left is the *group*, the fields of the aggregate item's key; on the right are its values. Windows that
are no longer kept get no shares.

`fold` makes one list of steps for each group. A change takes the shares of the old item away and adds those of the new
one. If both are the same for a group, the change does not concern it. All others are *steps* of the group, also those
that cancel out: if a batch held +1 and −1 and left no checkpoint, an owner that was frozen with the +1 alone could
still apply it.

With `keep_expired`, the shares of an item that the table's TTL deleted stay. Its change is a step, too: the aggregate's
item remembers the sum of what has expired, which a recount cannot see in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from sortkey.model.calls.change import Change
from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.requirements import Requirement
from sortkey.model.errors import DeclarationError, DecodeError, suggestion
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.schema import Schema
from sortkey.patterns.aggregates.checkpoints import checkpoint_of
from sortkey.patterns.aggregates.values import Extreme, Group, Kept, Share, Step
from sortkey.patterns.aggregates.windows import AnyWindow, KeptGroups

Shares = Mapping[Group, Share]
By = Mapping[str, str | Callable[[Any], Any]]
"""The fields of an aggregate's items, and the field of the counted items that each is taken from, or a function."""
Steps = dict[Group, list[Step]]
"""The steps of each group, by sequence number upward."""

NOTHING: Final[Shares] = {}
_CACHED_WINDOWS: Final = 4096


class CountedSource:
    """The items that an aggregate counts."""

    def __init__(
        self,
        counted: type[Item],
        target: Schema[Any],
        by: By,
        window: AnyWindow | None,
        values: Mapping[str, Kept],
        keep: KeptGroups | None = None,
        keep_expired: bool = False,
    ) -> None:
        self.schema = schema_of(counted)
        self.counted = counted
        self.window = window
        self.keep_expired = keep_expired
        """Whether items that have expired stay counted."""
        self._keep = keep
        self._groups = [self._reader(read) for read in by.values()]
        fields = target.codec.by_name
        self._values = [
            value.reader() if isinstance(value, Extreme) else value.reader(fields[name].annotation)
            for name, value in values.items()
        ]
        self._accepts: Callable[[Any], bool] | None = None
        if window is not None:
            field = self.schema.codec.by_name[self._known(window.of)]
            window.check(f"{self.schema.name}.{window.of}", field.annotation.declared)
            self._divided = attrgetter(window.of)
            self._expiry = lru_cache(_CACHED_WINDOWS)(window.expiry)

    def only(self, where: Where | None) -> None:
        """Counts only the items that match."""
        if not requires_nothing(where):
            self._accepts = Requirement(self.schema, where, {}).accepts

    def shares(self, item: Any, now: datetime) -> Shares:
        """The shares of an item; none if it is not of the class, does not match, or lacks a field of the group. Raises
        ValueError for a time without a zone."""
        if not isinstance(item, self.counted) or (self._accepts is not None and not self._accepts(item)):
            return NOTHING
        group = tuple([read(item) for read in self._groups])
        if None in group:
            return NOTHING
        share = tuple([read(item) for read in self._values])
        if self.window is None:
            found = {group: share}
        elif self.window.keep:
            return {
                group + window: share
                for window in self.window.windows(self._divided(item))
                if self._is_kept(window[-1], now)
            }
        else:
            found = {group + window: share for window in self.window.windows(self._divided(item))}
        keep = self._keep
        return found if keep is None else {group: share for group in found if keep.has(group, now)}

    def keeps(self, group: Group, now: datetime) -> bool:
        """Whether the item of a group is still kept."""
        if self._keep is not None:
            return self._keep.has(group, now)
        return self.window is None or not self.window.keep or self._is_kept(group[-1], now)

    def _is_kept(self, window: Any, now: datetime) -> bool:
        expiry = self._expiry(window)
        return expiry is None or expiry > now

    def _reader(self, read: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
        return read if callable(read) else attrgetter(self._known(read))

    def _known(self, field: str) -> str:
        fields = self.schema.codec.by_name
        if field not in fields:
            raise DeclarationError(f"{self.schema.name} has no field {field!r}{suggestion(field, fields)}")
        return field


def fold(source: CountedSource, changes: Iterable[Change[Any]], now: datetime) -> Steps:
    """The steps of the changes, which are of one shard; a change that was delivered twice counts once. Raises
    DecodeError for records without images."""
    steps: Steps = {}
    add_steps(steps, source, in_order(changes), now)
    return steps


def in_order(changes: Iterable[Change[Any]]) -> list[Change[Any]]:
    """The changes of one shard by their sequence numbers, each once."""
    return [change for _, change in sorted({change.sequence: change for change in changes}.items())]


def add_steps(steps: Steps, source: CountedSource, changes: Iterable[Change[Any]], now: datetime) -> None:
    """Add the steps of changes that come after those that were added before."""
    for change in changes:
        _require_images(source, change)
        removed = NOTHING if change.old is None else source.shares(change.old, now)
        added = NOTHING if change.new is None else source.shares(change.new, now)
        if removed != added:
            expired = source.keep_expired and change.expired
            _add_steps(steps, checkpoint_of(change.sequence), removed, added, expired)


def after_checkpoint(steps: Sequence[Step], checkpoint: str | None) -> list[Step]:
    """The steps that are not counted yet."""
    return [step for step in steps if checkpoint is None or step.checkpoint > checkpoint]


def _add_steps(steps: Steps, checkpoint: str, removed: Shares, added: Shares, expired: bool) -> None:
    if removed and added:
        for group in {**removed, **added}:
            before, after = removed.get(group), added.get(group)
            if before != after:
                steps.setdefault(group, []).append(Step(checkpoint, before, after))
        return
    # Most changes insert or delete an item. It has one share in all its groups, so one step is enough for them.
    shares = removed or added
    share = next(iter(shares.values()))
    step = Step(checkpoint, share, None, expired) if removed else Step(checkpoint, None, share)
    for group in shares:
        found = steps.get(group)
        if found is None:
            steps[group] = [step]
        else:
            found.append(step)


def _require_images(source: CountedSource, change: Change[Any]) -> None:
    lacks_old = change.old is None and change.kind != "INSERT"
    lacks_new = change.new is None and change.kind != "REMOVE"
    # An item with a tag may become one of another class, which a feed of one class leaves out.
    may_lack_one = change.kind == "MODIFY" and source.schema.tag is not None
    if (lacks_old and lacks_new) or ((lacks_old or lacks_new) and not may_lack_one):
        raise DecodeError(
            f"the record of {change.key} lacks an image: an aggregate needs the table's stream with NEW_AND_OLD_IMAGES"
        )
