"""`sk.patterns.generations`: a class whose items are loaded in bulk and replaced all at once.

A declaration sends nothing. All mistakes are rejected at import.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.clock import SystemClock
from sortkey.model.errors import DeclarationError, ModelError, suggestion
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.key import BoundKey
from sortkey.model.items.schema import Schema
from sortkey.model.items.table import Table
from sortkey.model.maintenance.load import ShowLoad
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.generation.load import GenerationLoad
from sortkey.patterns.generation.pointer import GENERATIONS, PointerBook, Served, Superseded
from sortkey.patterns.generation.reader import GenerationReader
from sortkey.patterns.generation.removal import Removal, Removed, Remover

T = TypeVar("T", bound=Item)

_RENEW: Final = 0.5
_GRACE: Final = timedelta(minutes=1)
_ABANDONED: Final = timedelta(hours=6)


class Generations(Generic[T]):
    """Declared generations: see `sk.patterns.generations`."""

    def __init__(
        self,
        cls: type[T],
        field: str,
        name: str,
        keep: int,
        grace: timedelta,
        abandoned: timedelta,
    ) -> None:
        self.cls = cls
        self.field = field
        self.name = name
        self.tables: tuple[Table, ...] = (cls.__table__, GENERATIONS)
        """The tables that loads and readers use: of the items, and of the pointers."""
        self._keep = keep
        self._grace = grace
        self._abandoned = abandoned

    def __repr__(self) -> str:
        return f"<generations of {self.name}>"

    async def load(
        self,
        session: AsyncSession,
        items: Iterable[T] | AsyncIterable[T],
        *,
        as_of: datetime,
        source: str | None = None,
        rate: float | None = None,
        progress: ShowLoad | None = None,
    ) -> Served:
        """Write the items beside what is served, then serve them instead, all at once. The items' own generation is
        replaced by the new one. `as_of` and `source` are those of `begin`; a load that fails is discarded, or, with
        `source`, left for a load of the same source to go on. `rate` and `progress` are those of `db.load`; raises
        LoadError as it does."""
        load = await self.begin(session, as_of=as_of, source=source)
        try:
            await load.write(items, rate=rate, progress=progress)
        except Exception as error:
            error.add_note(f"{load.rows} items of generation {load.id} were written; what is served has not changed")
            if source is None:
                # If the store cannot be reached, the load counts as abandoned later.
                with suppress(ClientError, BotoCoreError, ModelError):
                    await load.discard()
            raise
        return await load.publish()

    async def begin(
        self, session: AsyncSession, *, as_of: datetime, source: str | None = None, resume: bool = True
    ) -> GenerationLoad[T]:
        """A load in steps: `write`, then `publish` or `discard`. `as_of` is the instant up to which the items are
        complete; raises Superseded if what is served is later. `source` is a text that names the items, such as
        the version of a file: an unfinished load of the same source and as-of is resumed, unless `resume` is False;
        and a load of what is served already does not become what a rollback serves."""
        given: Any = as_of
        if not isinstance(given, datetime) or given.utcoffset() is None:
            raise ValueError(f"as_of is a datetime with a time zone, not {as_of!r}")
        book = self._book(session)
        return GenerationLoad(book, self.field, self.cls, await book.begin(as_of, source, resume))

    async def join(self, session: AsyncSession, generation: str) -> GenerationLoad[T]:
        """The load of a generation, by its id, that another process has begun: to write a share of its items."""
        book = self._book(session)
        found = await book.generation(generation)
        if found is None:
            raise Superseded(f"there is no generation {generation!r} of {self.name}; was it discarded?")
        return GenerationLoad(book, self.field, self.cls, found)

    def reader(self, session: AsyncSession, *, renew: float = _RENEW) -> GenerationReader[T]:
        """Reads what is served. What it reads was served at most twice `renew` seconds before."""
        if not renew > 0:
            raise ValueError(f"renew is a number of seconds above 0, not {renew!r}")
        return GenerationReader(session, self._book(session), _primary_key(self.cls), self.field, renew)

    async def roll_back(self, session: AsyncSession) -> Served:
        """Serve the generation before, at once, and return it. The one that was served is removed in the background.
        Raises NoEarlierGeneration if none is kept."""
        return await self._book(session).roll_back()

    async def remove_old(self, session: AsyncSession, *, rate: float | None = None) -> Removed:
        """Remove the items of generations that are no longer needed, if there are any: reads the whole table, at most
        at `rate` read units per second."""
        return await self._removal(session, rate).run()

    def remover(self, session: AsyncSession, *, every: float = 60.0, rate: float | None = None) -> Remover:
        """Does `remove_old` in the background, again and again: `async with people.remover(db)`."""
        return Remover(self._removal(session, rate), self.name, every, SystemClock())

    def _removal(self, session: AsyncSession, rate: float | None) -> Removal:
        key = _primary_key(self.cls)
        return Removal(self._book(session), self.cls, key, self.field, self._grace, self._abandoned, rate)

    def _book(self, session: AsyncSession) -> PointerBook:
        if not isinstance(session, AsyncSession):
            raise TypeError(f"generations need an open session, of sk.async_connect, not {session!r}")
        return PointerBook(session, self.name, self._keep)


def generations(
    cls: type[T],
    *,
    field: str = "generation",
    name: str | None = None,
    keep: int = 1,
    grace: timedelta = _GRACE,
    abandoned: timedelta = _ABANDONED,
) -> Generations[T]:
    """Declares that the items of a class are loaded in bulk and replaced all at once: a load writes a new generation
    beside the one that is served, and one write of a pointer serves it.

        class Person(sk.Item, table="persons"):
            generation: str = ""
            person: str
            name: str
            key = sk.Key("GENERATION#{generation}#PERSON#{person}")

        people = sk.patterns.generations(Person)
        served = await people.load(db, persons, as_of=midnight)
        ana = await people.reader(db).get(person="ana")

    `field` is the field with the generation, a text in the partition key. Loads set it, and readers know it. `name` is
    what the pointer is stored under, by default the table and the class. `keep` generations are kept for rollbacks. One
    that is no longer needed is removed after `grace`, an unfinished load once nothing was heard of it for `abandoned`.
    See docs/guides/generations.md.
    """
    schema = schema_of(cls)
    _check_field(schema, field)
    if keep < 0:
        raise DeclarationError(f"keep is the number of generations that are kept for rollbacks, not {keep}")
    return Generations(cls, field, name or f"{schema.table}.{schema.name}", keep, grace, abandoned)


def _primary_key(cls: type[Any]) -> BoundKey[Any]:
    key: BoundKey[Any] = getattr(cls, schema_of(cls).primary.name)
    return key


def _check_field(schema: Schema[Any], field: str) -> None:
    fields = schema.codec.by_name
    if field not in fields:
        raise DeclarationError(f"{schema.name} has no field {field!r}{suggestion(field, fields)}")
    if fields[field].annotation.declared is not str or fields[field].annotation.optional:
        raise DeclarationError(f"{schema.name}.{field} must be a text, since loads set it")
    if schema.tag is not None:
        raise DeclarationError(f"{schema.name} has a tag; old generations are deleted by their keys alone")
    if schema.revision is not None:
        raise DeclarationError(f"{schema.name}.{schema.revision}: loads do not count the writes of items (sk.version)")
    for layout in schema.layouts.values():
        if field not in layout.partition_fields:
            raise DeclarationError(
                f"the partition key of {schema.name}.{layout.name} lacks {{{field}}}, so it would mix generations"
            )
