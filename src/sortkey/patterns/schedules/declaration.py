"""`sk.patterns.schedule`: durable timers, declared on the time of an item.

A declaration sends nothing; `sk.feeds.Timers` runs it on any store, `sk.feeds.EventBridge` on AWS. All mistakes are rejected at
import.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

from sortkey.model.changes.combination import Where
from sortkey.model.errors import DeclarationError
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.schedules.due import Due
from sortkey.patterns.schedules.finder import Finder
from sortkey.patterns.schedules.occurrence import At, Occurrence, Source

ItemT = TypeVar("ItemT", bound=Item)

SHARDS: Final = 4
MAX_SHARDS: Final = 256

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,80}")
_STREAM: Final = "NEW_AND_OLD_IMAGES"


class Schedule(Generic[ItemT]):
    """A declared schedule: see `sk.patterns.schedule`."""

    def __init__(self, name: str, source: Source, finder: Finder, shards: int) -> None:
        self.name = name
        self.source = source
        self.finder = finder
        self.shards = shards

    def __repr__(self) -> str:
        return f"<schedule {self.name} of {self.source.schema.name} by {', '.join(self.source.by)}>"

    def due(self, session: AsyncSession, occurrence: Occurrence) -> Due[ItemT]:
        """What a handler gets. Raises DecodeError if the schedule has other fields than the occurrence."""
        return Due(session, self.finder, self.name, occurrence)


def schedule(
    name: str,
    cls: type[ItemT],
    *,
    at: At,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    path: BoundKey[ItemT] | None = None,
    check: bool = True,
    shards: int = SHARDS,
) -> Schedule[ItemT]:
    """Declares durable timers: a handler is called when the time of an item has come.

        class Reminder(sk.Item, table=sk.Table("reminders", stream="NEW_AND_OLD_IMAGES")):
            user: str
            number: int
            remind_at: datetime
            text: str
            key = sk.Key("USER#{user}", "REMINDER#{number:06}")

        reminders = sk.patterns.schedule("reminders", Reminder, at="remind_at")

        async with sk.async_connect(url) as db, sk.feeds.Follower(db, [sk.feeds.Timers(reminders, on_due)]):
            await db.put(Reminder(user="ana", number=1, remind_at=noon, text="lunch"))

    `name` identifies the timers in the store. `at` is the field with the time, or a function from an item to its time,
    its times or None. `by` are the fields that a timer is for, by default the primary key: all items with the same
    values and time share one timer. Items that do not match `where` have none.
    Before a handler is called, the items are read again: if none of them asks for that instant any more, it is not
    called. They are found by the primary key, or by `path`, another key, whose partition key has fields of `by` only;
    with `check=False` they are not read, and the handler looks itself. `shards` is how many workers can share
    the timers. See docs/guides/patterns.md.
    """
    given: Any = name
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise DeclarationError(
            f"the name of a schedule has 1 to 80 letters, digits, dots, dashes and underscores, not {name!r}"
        )
    if isinstance(by, str):
        raise DeclarationError(f"by= takes several fields, such as ({by!r},), not a text")
    if type(shards) is not int or not 1 <= shards <= MAX_SHARDS:
        raise DeclarationError(f"schedule {name}: shards is a number from 1 to {MAX_SHARDS}, not {shards!r}")
    source = Source(cls, at, by, where)
    stream: Any = cls.__table__.settings.stream
    if stream != _STREAM:
        raise DeclarationError(
            f"schedule {name} needs a stream of its table with the items before and after each change: "
            f'sk.Table("{cls.__table__.name}", stream="{_STREAM}")'
        )
    return Schedule(name, source, Finder(source, path, check), shards)
