"""Which generation is served, and which exist: the items of the table `sortkey-generations`, and `PointerBook`, which
changes them.

    OF#persons.Person   POINTER                        current, earlier ones, version
    OF#persons.Person   GENERATION#20260516T000000Z-…  its as-of, how far it is loaded, its state

**The pointer is the truth.** One conditional put of it publishes a generation or rolls it back; a generation that it
names is never removed. The state of a generation only says what a load or a removal has to do:

    LOADING    a load writes it, until it was not touched for so long that it counts as abandoned
    PUBLISHED  the pointer has named it
    DISCARDED  it is removed once its grace is over

**A removed generation is never published**, also by a load that was frozen meanwhile. A load reads the pointer, then
the state of its generation, and puts the pointer on the condition that its version is unchanged. A removal discards the
generation, then increments the version. So a load that read the older version fails, and one that read the newer
version sees that it is discarded.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal
from uuid import uuid4

import msgspec

from sortkey.model.errors import ConditionFailed, ModelError
from sortkey.model.items.item import Item, replace
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of

GENERATIONS: Final = Table("sortkey-generations")
LOADING: Final = "LOADING"
PUBLISHED: Final = "PUBLISHED"
DISCARDED: Final = "DISCARDED"
State = Literal["LOADING", "PUBLISHED", "DISCARDED"]


class Superseded(ModelError):
    """A load was not published: a generation with a later as-of is served, or the load was discarded."""


class NoEarlierGeneration(ModelError, LookupError):
    """There is no generation to roll back to."""


class Served(Item):
    """A generation that is served, or was and is kept for a rollback."""

    id: str
    as_of: datetime
    """The instant up to which its data is complete."""
    published: datetime
    rows: int


class Pointer(Item, table=GENERATIONS):
    of: str
    current: Served | None = None
    earlier: list[Served] = msgspec.field(default_factory=list)
    """Kept for rollbacks, the latest first."""
    version: int = 0

    key = Key("OF#{of}", "POINTER")

    @property
    def ids(self) -> set[str]:
        current = [] if self.current is None else [self.current]
        return {each.id for each in [*current, *self.earlier]}


class Generation(Item, table=GENERATIONS):
    of: str
    id: str
    as_of: datetime
    touched: datetime
    """When its load last said how far it is."""
    state: State = "LOADING"
    source: str | None = None
    """Where the items come from, in the caller's words; a load of the same source continues it."""
    rows: int = 0
    """So many items of the source, from its start, are written."""
    retired: datetime | None = None
    """When it was discarded."""

    key = Key("OF#{of}", "GENERATION#{id}")


class PointerBook:
    def __init__(self, session: AsyncSession, of: str, keep: int) -> None:
        self.session = session
        self.of = of
        self._keep = keep
        self._context = context_of(session)

    @property
    def now(self) -> datetime:
        return self._context.moment

    async def pointer(self) -> Pointer:
        """As it is now; an empty one if there is none."""
        return await self.session.get(Pointer.key(of=self.of), consistent=True) or Pointer(of=self.of)

    async def generations(self) -> list[Generation]:
        path = Generation.key(of=self.of)
        return [each async for each in self.session.iterate(path, consistent=True)]

    async def generation(self, wanted: str) -> Generation | None:
        return await self.session.get(Generation.key(of=self.of, id=wanted), consistent=True)

    async def begin(self, as_of: datetime, source: str | None, resume: bool) -> Generation:
        """A new generation, or the unfinished one of the same source and as-of."""
        await self.session.put(Pointer(of=self.of), if_absent=True)
        self._require_later(await self.pointer(), as_of)
        if source is not None and resume:
            for each in await self.generations():
                if (each.state, each.source, each.as_of) == (LOADING, source, as_of):
                    return await self.touch(each.id, each.rows)
        new = f"{as_of.astimezone(UTC):%Y%m%dT%H%M%SZ}-{uuid4().hex[:12]}"
        made = Generation(of=self.of, id=new, as_of=as_of, touched=self.now, source=source)
        await self.session.put(made)
        return made

    async def touch(self, loaded: str, rows: int | None = None) -> Generation:
        """Says how far a load is. Raises Superseded if the generation was discarded."""
        changes = {"touched": self.now} if rows is None else {"touched": self.now, "rows": rows}
        path = Generation.key(of=self.of, id=loaded)
        try:
            return await self.session.update(path, changes, where={"state": LOADING})
        except ConditionFailed as error:
            found: Generation | None = error.item
            if found is not None and found.state == PUBLISHED:
                return found
            raise Superseded(f"generation {loaded} of {self.of} was discarded, so its load cannot go on") from None

    async def discard(self, generation: Generation) -> None:
        """Has it removed, also if a removal has forgotten it: its load may have written more since."""
        await self.session.put(replace(generation, state=DISCARDED, retired=self.now))

    async def publish(self, loaded: str, rows: int) -> Served:
        while True:
            # In this order: see pointer.py.
            pointer = await self.pointer()
            generation = await self.generation(loaded)
            if pointer.current is not None and pointer.current.id == loaded:
                return pointer.current
            if generation is None or generation.state == DISCARDED:
                raise Superseded(f"generation {loaded} of {self.of} was discarded, so it cannot be published")
            if generation.state == PUBLISHED or loaded in pointer.ids:
                # Another process has loaded the same source; then came another generation, or a rollback.
                raise Superseded(f"generation {loaded} of {self.of} was published before and is no longer served")
            try:
                self._require_later(pointer, generation.as_of)
            except Superseded:
                await self.discard(generation)
                raise
            served = Served(id=loaded, as_of=generation.as_of, published=self.now, rows=rows)
            earlier = await self._earlier(pointer, generation)
            if await self._put(replace(pointer, current=served, earlier=earlier[: self._keep])):
                await self.session.put(replace(generation, state=PUBLISHED, rows=rows, touched=self.now))
                return served

    async def _earlier(self, pointer: Pointer, generation: Generation) -> list[Served]:
        """What a rollback may serve once this generation is served: not its twin, a load of the same items."""
        if pointer.current is None:
            return []
        if generation.source is not None and pointer.current.as_of == generation.as_of:
            before = await self.generation(pointer.current.id)
            if before is not None and before.source == generation.source:
                return pointer.earlier
        return [pointer.current, *pointer.earlier]

    async def roll_back(self) -> Served:
        while True:
            pointer = await self.pointer()
            if not pointer.earlier:
                raise NoEarlierGeneration(f"no generation of {self.of} is kept from before the one that is served")
            current, *earlier = pointer.earlier
            if await self._put(replace(pointer, current=current, earlier=earlier)):
                return current

    async def _put(self, pointer: Pointer) -> bool:
        """Whether nobody else has changed it since it was read."""
        try:
            return await self.session.put(pointer, if_version="version")
        except ConditionFailed:
            return False

    def _require_later(self, pointer: Pointer, as_of: datetime) -> None:
        current = pointer.current
        if current is not None and current.as_of > as_of:
            raise Superseded(
                f"{self.of} is served as of {current.as_of.isoformat()}, which is later than {as_of.isoformat()}; what "
                f"is served has not changed. To serve an older one, roll back first"
            )
