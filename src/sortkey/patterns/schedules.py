"""`sk.patterns.schedule`: durable timers, declared on the time of an item.

An *occurrence* is what a timer stands for: a group of items, and the instant at which something is due for it. `Finder`
reads the items of an occurrence, to see whether they still ask for it, and `Due` is what a handler gets.

A declaration sends nothing; `sk.feeds.Timers` runs it on any store, `sk.feeds.EventBridge` on AWS. All mistakes are
rejected at import.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.requirements import Requirement
from sortkey.model.errors import DeclarationError, DecodeError, NoAccessPath, suggestion
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.key import BoundKey
from sortkey.model.sessions.async_session import AsyncSession

At = str | Callable[[Any], datetime | Iterable[datetime] | None]
"""The field with the time, or a function from an item to its time or times."""
ItemT = TypeVar("ItemT", bound=Item)

SHARDS: Final = 4
MAX_SHARDS: Final = 256
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,80}")
_STREAM: Final = "NEW_AND_OLD_IMAGES"


class Occurrence(NamedTuple):
    group: str
    """The values of the group's fields, as a JSON list."""
    at: datetime
    """In UTC."""

    @property
    def group_id(self) -> str:
        """A hash of the group, for keys."""
        return blake2b(self.group.encode(), digest_size=16).hexdigest()

    def key(self, schedule: str) -> str:
        """What identifies it among all occurrences of all schedules: 32 letters and digits."""
        text = msgspec.json.encode((schedule, self.group, self.at))
        return blake2b(text, digest_size=16).hexdigest()


NONE: Final[frozenset[Occurrence]] = frozenset()


class ScheduleSource:
    """The items of a schedule, and the occurrences that they ask for."""

    def __init__(self, cls: type[Item], at: At, by: Sequence[str] | None, where: Where | None) -> None:
        self.cls = cls
        self.schema = schema_of(cls)
        self.at_field = at if isinstance(at, str) else None
        self._read_at = self._reader(at)
        self.by = tuple(self._default_by() if by is None else by)
        self._read_by = [attrgetter(self._known(name)) for name in self.by]
        self._groups = self._group_decoder()
        self._accepts: Callable[[Any], bool] | None = None
        if not requires_nothing(where):
            self._accepts = Requirement(self.schema, where, {}).accepts

    def occurrences(self, item: Any) -> frozenset[Occurrence]:
        """None if it does not match, has no time, or lacks a field of the group. Raises ValueError for a time without
        a zone."""
        if not isinstance(item, self.cls) or (self._accepts is not None and not self._accepts(item)):
            return NONE
        values = [read(item) for read in self._read_by]
        if None in values:
            return NONE
        found = self._read_at(item)
        if found is None:
            return NONE
        group = msgspec.json.encode(values).decode()
        times = [found] if isinstance(found, datetime) else found
        return frozenset(Occurrence(group, self._instant(each)) for each in times)

    def fields(self, group: str) -> dict[str, Any]:
        """The fields of a group. Raises DecodeError for a text that is none."""
        try:
            return dict(zip(self.by, self._groups.decode(group), strict=True))
        except msgspec.DecodeError as error:
            raise DecodeError(
                f"the group {group} is not one of {', '.join(self.by)}: {error}. A schedule that is declared by other "
                "fields needs another name"
            ) from None

    def group(self, fields: Mapping[str, Any]) -> str:
        """The text of a group."""
        return msgspec.json.encode([fields[name] for name in self.by]).decode()

    def _instant(self, moment: Any) -> datetime:
        if not isinstance(moment, datetime) or moment.utcoffset() is None:
            raise ValueError(
                f"{self.schema.name}: the time of a schedule is a datetime with a time zone, not {moment!r}"
            )
        return moment.astimezone(UTC)

    def _reader(self, at: At) -> Callable[[Any], Any]:
        if not isinstance(at, str):
            if not callable(at):
                raise DeclarationError(
                    f"at= is a field of {self.schema.name}, or a function from an item to its time, not {at!r}"
                )
            return at
        declared = self.schema.codec.by_name[self._known(at)].annotation.declared
        if declared is not RealTypes.datetime:
            raise DeclarationError(f"{self.schema.name}.{at} must be a datetime to be the time of a schedule")
        return attrgetter(at)

    def _known(self, name: str) -> str:
        fields = self.schema.codec.by_name
        if name not in fields:
            raise DeclarationError(f"{self.schema.name} has no field {name!r}{suggestion(name, fields)}")
        return name

    def _default_by(self) -> Sequence[str]:
        """The primary key: a timer for each item."""
        return [name for name in self.schema.primary.fields if name != self.at_field]

    def _group_decoder(self) -> msgspec.json.Decoder[tuple[Any, ...]]:
        if not self.by:
            raise DeclarationError(f"by= names the fields of {self.schema.name} that a timer is for, and has none")
        types = tuple(self.schema.codec.by_name[name].annotation.declared for name in self.by)
        try:
            return msgspec.json.Decoder(tuple.__class_getitem__(types))
        except TypeError as error:
            raise DeclarationError(f"by={self.by!r}: {error}") from None


FIRST_ROWS: Final = 8
MORE_ROWS: Final = 128
"""Of one read that looks for an item that asks."""


class Finder:
    def __init__(self, source: ScheduleSource, path: BoundKey[Any] | None, check: bool) -> None:
        """`path` is a key whose fields the occurrence has, by default the primary key."""
        self.source = source
        self.check = check
        self._key: BoundKey[Any] = path or getattr(source.cls, source.schema.primary.name)
        self._given = self._fields() if check else ()
        layout = self._key.layout
        self.is_exact = check and layout.index is None and set(self._given) == set(layout.fields)
        """Whether an occurrence has the whole key of an item."""

    async def is_asked_for(self, session: AsyncSession, occurrence: Occurrence) -> bool:
        """Whether an item asks for it now, by a consistent read. True if the schedule does not check."""
        if not self.check:
            return True
        path = self._path(occurrence)
        if self.is_exact:
            try:
                item = await session.get(path, consistent=True)
            except DecodeError:
                # A row that nobody can read asks for nothing.
                return False
            return occurrence in self.source.occurrences(item)
        cursor: str | None = None
        # Nearly always the first item does, of many.
        size = FIRST_ROWS
        while True:
            page = await session.page(path, first=size, after=cursor, consistent=True, undecodable="skip", whole=True)
            if any(occurrence in self.source.occurrences(item) for item in page.items):
                return True
            if not page.has_next:
                return False
            cursor, size = page.end_cursor, MORE_ROWS
            # A read of a store in the process waits for nothing: other tasks have their turn.
            await asyncio.sleep(0)

    async def are_asked_for(
        self, session: AsyncSession, occurrences: Sequence[Occurrence]
    ) -> Sequence[bool | BaseException]:
        """The same of several that have the whole keys of their items, which are read by one request; or what
        `is_asked_for` raises."""
        if len(occurrences) > 1:
            try:
                items = await session.lookup(self._key, map(self._key_fields, occurrences), consistent=True)
            except DecodeError:
                pass  # one of the rows cannot be read, or one of the groups is none
            else:
                return [each in self.source.occurrences(item) for each, item in zip(occurrences, items, strict=True)]
        asked = (self.is_asked_for(session, each) for each in occurrences)
        return await asyncio.gather(*asked, return_exceptions=True)

    async def items(self, session: AsyncSession, occurrence: Occurrence) -> AsyncIterator[Any]:
        """The items that ask for it, by a consistent read."""
        if not self.check:
            raise NoAccessPath("the schedule is declared with check=False, so it does not know where its items are")
        path = self._path(occurrence)
        # A row that nobody can read asks for nothing.
        async for item in session.iterate(path, consistent=True, undecodable="skip", whole=True):
            if occurrence in self.source.occurrences(item):
                yield item

    def _path(self, occurrence: Occurrence) -> AccessPath[Any]:
        return self._key(**self._key_fields(occurrence))

    def _key_fields(self, occurrence: Occurrence) -> dict[str, Any]:
        fields = self.source.fields(occurrence.group)
        if self.source.at_field is not None:
            fields[self.source.at_field] = occurrence.at
        return {name: fields[name] for name in self._given}

    def _fields(self) -> tuple[str, ...]:
        """The fields of the key that an occurrence has: all of the partition, and the first ones of the sort key."""
        layout, source = self._key.layout, self.source
        if self._key.schema is not source.schema:
            raise DeclarationError(f"path={self._key.name} is not a key of {source.schema.name}")
        if layout.index is not None and not layout.local:
            raise DeclarationError(
                f"path={self._key.name} is a global index, which cannot be read consistently: a timer whose item is "
                "not in it yet would be lost. Use the primary key or a local index, or check=False"
            )
        known = {*source.by, *(() if source.at_field is None else (source.at_field,))}
        lacking = [name for name in layout.partition_fields if name not in known]
        if lacking:
            raise DeclarationError(
                f"the items of a timer cannot be found by {self._key.name}: its partition key has "
                f"{', '.join(lacking)}, and by= only {', '.join(source.by)}. Add it to by=, give path= with another "
                "key or local index, or check=False if the handler looks itself"
            )
        given = list(layout.partition_fields)
        for name in layout.sort_fields:
            if name not in known:
                break
            given.append(name)
        return tuple(dict.fromkeys(given))


class Due(Generic[ItemT]):
    """What is due: a group of items, and the instant that they ask for.

    async def on_due(due: sk.patterns.Due[Reminder]) -> None:
        async for reminder in due.items():
            await send(reminder, token=due.key)
    """

    def __init__(self, session: AsyncSession, finder: Finder, schedule: str, occurrence: Occurrence) -> None:
        self.group: Mapping[str, Any] = finder.source.fields(occurrence.group)
        """The fields that the schedule is declared by."""
        self.at: datetime = occurrence.at
        """The instant, in UTC."""
        self.key: str = occurrence.key(schedule)
        """The same for every call with this group and instant, so that the handler can tell what it has done. It has 32
        letters and digits."""
        self.schedule = schedule
        self._session = session
        self._finder = finder
        self._occurrence = occurrence

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.group.items())
        return f"<due of {self.schedule}: {fields} at {self.at.isoformat()}>"

    def items(self) -> AsyncIterator[ItemT]:
        """The items of the group that ask for this instant, as they are now. Needs a schedule with `check`."""
        return self._finder.items(self._session, self._occurrence)


class Schedule(Generic[ItemT]):
    """A declared schedule: see `sk.patterns.schedule`."""

    def __init__(self, name: str, source: ScheduleSource, finder: Finder, shards: int) -> None:
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
    the timers. See docs/guides/schedules.md.
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
    source = ScheduleSource(cls, at, by, where)
    stream: Any = cls.__table__.settings.stream
    if stream != _STREAM:
        raise DeclarationError(
            f"schedule {name} needs a stream of its table with the items before and after each change: "
            f'sk.Table("{cls.__table__.name}", stream="{_STREAM}")'
        )
    return Schedule(name, source, Finder(source, path, check), shards)
