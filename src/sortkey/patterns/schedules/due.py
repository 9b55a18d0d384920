"""`sk.patterns.Due`: an occurrence whose time has come, as handlers get it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from sortkey.model.items.item import Item
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.schedules.finder import Finder
from sortkey.patterns.schedules.occurrence import Occurrence

ItemT = TypeVar("ItemT", bound=Item)


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
