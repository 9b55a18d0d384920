"""Folds the changes of a shard into one list of steps for each item of the aggregate. Pure.

A change takes the shares of the old item away and adds those of the new one. If both are the same for a group, the
change does not concern it. All others are *steps* of the group, also those that cancel out: if a batch held +1 and −1
and left no mark, an owner that was frozen with the +1 alone could still apply it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sortkey.model.calls.change import Change
from sortkey.model.errors import DecodeError
from sortkey.patterns.aggregates.marks import mark_of
from sortkey.patterns.aggregates.shares import NOTHING, Shares, Source
from sortkey.patterns.aggregates.step import Group, Step

Steps = dict[Group, list[Step]]
"""The steps of each group, by sequence number upward."""


def fold(source: Source, changes: Iterable[Change[Any]], now: datetime) -> Steps:
    """The steps of the changes, which are of one shard; a change that was delivered twice counts once. Raises
    DecodeError for records without images."""
    steps: Steps = {}
    for sequence, change in sorted({change.sequence: change for change in changes}.items()):
        _require_images(source, change)
        removed = NOTHING if change.old is None else source.shares(change.old, now)
        added = NOTHING if change.new is None else source.shares(change.new, now)
        if removed != added:
            _add_steps(steps, mark_of(sequence), removed, added)
    return steps


def _add_steps(steps: Steps, mark: str, removed: Shares, added: Shares) -> None:
    if removed and added:
        for group in {**removed, **added}:
            before, after = removed.get(group), added.get(group)
            if before != after:
                steps.setdefault(group, []).append(Step(mark, before, after))
        return
    # Most changes insert or delete an item. It has one share in all its groups, so one step is enough for them.
    shares = removed or added
    share = next(iter(shares.values()))
    step = Step(mark, share, None) if removed else Step(mark, None, share)
    for group in shares:
        found = steps.get(group)
        if found is None:
            steps[group] = [step]
        else:
            found.append(step)


def after_mark(steps: Sequence[Step], mark: str | None) -> list[Step]:
    """The steps that are not counted yet."""
    return [step for step in steps if mark is None or step.mark > mark]


def _require_images(source: Source, change: Change[Any]) -> None:
    lacks_old = change.old is None and change.kind != "INSERT"
    lacks_new = change.new is None and change.kind != "REMOVE"
    # An item with a tag may become one of another class, which a feed of one class leaves out.
    may_lack_one = change.kind == "MODIFY" and source.schema.tag is not None
    if (lacks_old and lacks_new) or ((lacks_old or lacks_new) and not may_lack_one):
        raise DecodeError(
            f"the record of {change.key} lacks an image: an aggregate needs the table's stream with NEW_AND_OLD_IMAGES"
        )
