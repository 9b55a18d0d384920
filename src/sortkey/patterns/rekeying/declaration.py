"""`sk.patterns.rekey`: another key design for items that are in use.

A declaration sends nothing. All mistakes are rejected at import.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, overload
from uuid import uuid4

from sortkey.model.calls.change import Change
from sortkey.model.calls.create_tables import enable_stream
from sortkey.model.errors import DeclarationError
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of, run_steps
from sortkey.patterns.rekeying.flag import COPYING, FINISHED, REKEYS, FlagBook, RekeyFlag, RekeyRefused
from sortkey.patterns.rekeying.group_writer import GroupWriter
from sortkey.patterns.rekeying.handover import everybody_waits
from sortkey.patterns.rekeying.plan import Derive, Plan, key_of
from sortkey.patterns.rekeying.reader import RekeyReader, ShadowReads
from sortkey.patterns.rekeying.removal import OldRows, RekeyRemoval, ShowRows
from sortkey.patterns.rekeying.walk import (
    PARALLEL,
    PARALLEL_EMBEDDED,
    RekeyCheck,
    ShowWalk,
    Walker,
    each_at_once,
)

T = TypeVar("T", bound=Item)

CaughtUp = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class RekeyStatus:
    """Where a re-keying is."""

    name: str
    flag: RekeyFlag | None
    """None before the start."""
    shadow: ShadowReads

    def __str__(self) -> str:
        if self.flag is None:
            return f"{self.name}: not started"
        flag, shadow = self.flag, self.shadow
        since = "" if flag.switched is None else f", since {flag.switched:%Y-%m-%d %H:%M:%SZ}"
        writes = "waiting for the end of the handover" if flag.writes is None else f"{flag.writes} design"
        lines = [
            f"{self.name}: {_PHASES[flag.phase]}",
            f"  reads         {flag.reads} design{since}",
            f"  writes        {writes}",
            f"  backfill      {flag.copied:,} old items read" + (", not complete" if flag.phase == COPYING else ""),
            f"  shadow reads  {shadow.same:,} same, {shadow.late:,} late, {shadow.different:,} different, "
            f"{shadow.failed:,} failed",
        ]
        if shadow.example:
            lines.append(f"  not the same  {shadow.example}")
        return "\n".join(lines)


_PHASES: Final = {
    "COPYING": "the backfill is under way",
    "FOLLOWING": "the new rows follow the old ones",
    "HANDOVER": "handing over: programs wait to write",
    "FINISHED": "finished",
}


class RekeyWriter:
    """Writes the new rows in one store; `on_changes` is for change feeds. `Rekey.writer` makes it."""

    def __init__(self, session: AsyncSession, plan: Plan) -> None:
        self._plan = plan
        self._book = FlagBook(session, plan.name)
        self._groups = GroupWriter(session, plan)
        embedded = context_of(session).in_process
        self._parallel = PARALLEL_EMBEDDED if embedded else PARALLEL

    async def on_changes(self, changes: Sequence[Change[Any]]) -> None:
        """Write the groups of the changed items again. Does nothing before the start and after the end."""
        # After the changes were read: a change from before the start is in what the backfill reads.
        flag = await self._book.flag()
        if flag is None or flag.phase == FINISHED:
            return
        groups = {group: None for change in changes for group in self._groups_of(change)}
        await each_at_once(self._groups.write, groups, self._parallel)

    def _groups_of(self, change: Change[Any]) -> Iterable[str]:
        images = [image for image in (change.old, change.new) if image is not None]
        for cls in self._plan.read:
            if images and not any(isinstance(image, cls) for image in images):
                continue
            fields = key_of(cls).parse(change.key)
            if fields is not None:
                yield self._plan.groups.write(fields)


class Rekey:
    """A declared re-keying: see `sk.patterns.rekey`."""

    def __init__(self, plan: Plan, retired: Sequence[type[Item]]) -> None:
        self.name = plan.name
        self.sources: tuple[type[Item], ...] = plan.read
        """The classes whose changes have to be followed: those of the old items, and the inputs."""
        classes = (*plan.read, *retired, *plan.to)
        self.tables: tuple[Table, ...] = (*dict.fromkeys(cls.__table__ for cls in classes), REKEYS)
        """The tables that it uses: of both designs, and of the flag."""
        self._plan = plan
        self._retired = tuple(retired)

    def __repr__(self) -> str:
        return f"<re-keying {self.name}>"

    def writer(self, session: AsyncSession) -> RekeyWriter:
        """What a change feed of each of `sources` calls; `sk.feeds.rekey_feeds` makes the feeds."""
        return RekeyWriter(_open(session), self._plan)

    def reader(self, session: AsyncSession, *, shadow: float = 0.0) -> RekeyReader:
        """Says which design to read and to write. `shadow` is the share of reads that are compared with the other
        design, from 0 to 1."""
        if not 0 <= shadow <= 1:
            raise ValueError(f"shadow is a share of the reads, from 0 to 1, not {shadow!r}")
        return RekeyReader(_open(session), self.name, shadow)

    async def create_tables(self, session: AsyncSession) -> None:
        """Create the tables that do not exist, and enable streams."""
        await self.enable_streams(session)
        await session.create_tables(*self.tables)

    async def enable_streams(self, session: AsyncSession) -> None:
        """Give the tables of old items and inputs that exist without a stream the one that is declared."""
        context = context_of(_open(session))
        for cls in self.sources:
            await run_steps(session, enable_stream(context, cls.__table__))

    async def start(
        self, session: AsyncSession, *, rate: float | None = None, progress: ShowWalk | None = None
    ) -> RekeyFlag:
        """Write the new rows of all old items, and have the feeds write those of changed ones. If it was stopped, the
        next call goes on; once it is complete, it does nothing. `rate` is in read units a second. `progress` is called
        with the number of old items read, and about how many there are."""
        book = FlagBook(_open(session), self.name)
        flag = await book.begin(uuid4().hex)
        if flag.phase != COPYING:
            return flag
        return await self._walker(session).backfill(book, rate, progress)

    async def check(
        self, session: AsyncSession, *, rate: float | None = None, progress: ShowWalk | None = None
    ) -> RekeyCheck:
        """Compare the new rows of every group with its old items, and write those that were behind."""
        flag = await FlagBook(_open(session), self.name).required()
        if flag.phase == FINISHED:
            raise RekeyRefused(f"the re-keying {self.name} is finished: the new rows no longer follow the old ones")
        return await self._walker(session).check(rate, progress)

    async def switch(
        self, session: AsyncSession, *, rate: float | None = None, progress: ShowWalk | None = None
    ) -> RekeyCheck:
        """Check, and if nothing differs, have programs read the new design. They go on writing the old one, so `back`
        loses nothing."""
        book = FlagBook(_open(session), self.name)
        if (await book.required()).phase == COPYING:
            raise book.not_copied()
        found = await self.check(session, rate=rate, progress=progress)
        if not found.different:
            await book.switch("new")
        return found

    async def back(self, session: AsyncSession) -> RekeyFlag:
        """Have programs read the old design again, at once."""
        return await FlagBook(_open(session), self.name).switch("old")

    async def status(self, session: AsyncSession) -> RekeyStatus:
        flag = await FlagBook(_open(session), self.name).found()
        if flag is None:
            return RekeyStatus(self.name, None, ShadowReads(rekey=self.name))
        shadow = await session.get(ShadowReads.key(rekey=self.name), consistent=True)
        return RekeyStatus(self.name, flag, shadow or ShadowReads(rekey=self.name))

    async def finish(
        self,
        session: AsyncSession,
        *,
        caught_up: CaughtUp,
        rate: float | None = None,
        progress: ShowWalk | None = None,
    ) -> RekeyCheck:
        """Check, and if nothing differs, hand over: programs wait a few seconds before they write, `caught_up` waits
        for the feeds (`sk.feeds.Follower.caught_up`), and from then on programs write the new design. There is no way
        back from here."""
        book = FlagBook(_open(session), self.name)
        flag = await book.required()
        if flag.phase == FINISHED:
            return RekeyCheck(0, 0, 0, ())
        if flag.reads != "new":
            raise book.not_switched()
        # It writes every group, so that a backfill which was frozen on its way can no longer write one.
        found = await self.check(session, rate=rate, progress=progress)
        if found.different:
            return found
        flag = await book.hand_over()
        try:
            await everybody_waits(session, flag)
            await caught_up()
        except BaseException:
            await book.give_up_handover()
            raise
        await book.finish()
        return found

    async def remove_old(
        self, session: AsyncSession, *, dry_run: bool = True, progress: ShowRows | None = None
    ) -> RekeyRemoval:
        """The old rows that would be removed after `finish`. They are removed if `dry_run` is False, except those that
        were changed after the handover."""
        flag = await FlagBook(_open(session), self.name).required()
        old = OldRows(session, self._plan, GroupWriter(session, self._plan), self._retired)
        if dry_run:
            return await old.count()
        if flag.phase != FINISHED:
            raise RekeyRefused(f"programs still write the old design of {self.name}; finish the re-keying first")
        return await old.remove(progress)

    def _walker(self, session: AsyncSession) -> Walker:
        return Walker(session, self._plan, GroupWriter(session, self._plan))


@overload
def rekey(
    name: str,
    old: type[T],
    derive: Callable[[T], Iterable[Item]],
    *,
    to: type[Item] | Sequence[type[Item]],
    retired: Sequence[type[Item]] = ...,
) -> Rekey: ...


@overload
def rekey(
    name: str,
    old: type[Item] | Sequence[type[Item]],
    derive: Callable[[Sequence[Any]], Iterable[Item]],
    *,
    to: type[Item] | Sequence[type[Item]],
    by: Sequence[str],
    inputs: Sequence[type[Item]] = ...,
    retired: Sequence[type[Item]] = ...,
) -> Rekey: ...


def rekey(
    name: str,
    old: type[Any] | Sequence[type[Item]],
    derive: Callable[[Any], Iterable[Item]],
    *,
    to: type[Item] | Sequence[type[Item]],
    by: Sequence[str] = (),
    inputs: Sequence[type[Item]] = (),
    retired: Sequence[type[Item]] = (),
) -> Rekey:
    """Declares another key design for items that are in use: `derive` makes the new items of an old one.

        def by_city(user: User) -> Iterator[UserByCity]:
            if user.city is not None:
                yield UserByCity(city=user.city, user=user.user, name=user.name)

        BY_CITY = sk.patterns.rekey("users-by-city", User, by_city, to=UserByCity)

    With `by`, the old items that have these key fields in common are a group, and `derive` gets a list of them. The
    fields are the whole partition key, or that and the first fields of the sort key; several classes may have them.
    `inputs` are classes with the same fields whose items `derive` needs, too, and which stay. `retired` are further
    classes of the old design, whose rows go at the end. `derive` must make the same new items of the same old ones; two
    groups must not have a new item in common. See docs/guides/rekeying.md.
    """
    sources, targets = _classes(old), _classes(to)
    if not by and (len(sources) > 1 or inputs):
        raise DeclarationError(f"re-keying {name}: several classes need by=, the key fields that they have in common")
    fields = tuple(by) or schema_of(sources[0]).primary.fields
    for cls in (*sources, *inputs):
        _check_source(name, cls, fields)
    _check_targets(name, targets, (*sources, *inputs, *retired))
    group: Derive = derive if by else lambda items: derive(items[0])
    return Rekey(Plan(name, sources, tuple(inputs), targets, fields, group), retired)


def _classes(given: type[Any] | Sequence[type[Item]]) -> tuple[type[Item], ...]:
    classes = (given,) if isinstance(given, type) else tuple(given)
    if not classes:
        raise DeclarationError("a re-keying needs a class of old items, and one of new items")
    for cls in classes:
        schema_of(cls)
    return classes


def _check_source(name: str, cls: type[Item], fields: Sequence[str]) -> None:
    primary = schema_of(cls).primary
    partition = len(primary.partition_fields)
    if set(fields) != {*primary.fields[: len(fields)]} or len(fields) < partition:
        raise DeclarationError(
            f"re-keying {name}: by= has the first fields of the key of {cls.__name__}, at least those of its partition "
            f"key: {', '.join(primary.fields)}; not {', '.join(fields)}"
        )
    if cls.__table__.settings.stream is None:
        raise DeclarationError(
            f"re-keying {name}: table {cls.__table__.name} has no stream, which tells what has changed; declare it as "
            f'sk.Table("{cls.__table__.name}", stream="KEYS_ONLY")'
        )


def _check_targets(name: str, targets: Sequence[type[Item]], old: Sequence[type[Item]]) -> None:
    for cls in targets:
        schema = schema_of(cls)
        if cls in old:
            raise DeclarationError(f"re-keying {name}: {cls.__name__} is a class of the old design and of the new one")
        if schema.revision is not None:
            raise DeclarationError(
                f"re-keying {name}: {cls.__name__}.{schema.revision} counts the writes of an item (sk.version), and "
                f"the writes of a re-keying are not those of the program"
            )
    names = [cls.__name__ for cls in targets]
    if len({*names}) < len(names):
        raise DeclarationError(f"re-keying {name}: two classes of new items have the name {names[0]}")


def _open(session: AsyncSession) -> AsyncSession:
    if not isinstance(session, AsyncSession):
        raise TypeError(f"a re-keying needs an open session, of sk.async_connect, not {session!r}")
    return session
