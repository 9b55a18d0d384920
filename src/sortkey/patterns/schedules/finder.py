"""Finds the items of an occurrence, to see whether they still ask for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from sortkey.model.errors import DeclarationError, NoAccessPath
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.key import BoundKey
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.schedules.occurrence import Occurrence, Source


class Finder:
    def __init__(self, source: Source, path: BoundKey[Any] | None, check: bool) -> None:
        """`path` is a key whose fields the occurrence has, by default the primary key."""
        self.source = source
        self.check = check
        self._key: BoundKey[Any] = path or getattr(source.cls, source.schema.primary.name)
        self._given = self._fields() if check else ()

    async def is_asked_for(self, session: AsyncSession, occurrence: Occurrence) -> bool:
        """Whether an item asks for it now, by a consistent read. True if the schedule does not check."""
        if not self.check:
            return True
        async for _ in self.items(session, occurrence):
            return True
        return False

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
        fields = self.source.fields(occurrence.group)
        if self.source.at_field is not None:
            fields[self.source.at_field] = occurrence.at
        return self._key(**{name: fields[name] for name in self._given})

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
