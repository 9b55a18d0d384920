"""The items that say which generation is served, and which exist: the table `sortkey-generations`.

    OF#persons.Person   POINTER                        current, earlier ones, version
    OF#persons.Person   GENERATION#20260516T000000Z-…  its as-of, how far it is loaded, its state

**The pointer is the truth.** One conditional put of it publishes a generation or rolls it back; a generation that it
names is never removed. The state of a generation only says what a load or a removal has to do:

    LOADING    a load writes it, until it was not touched for so long that it counts as abandoned
    PUBLISHED  the pointer has named it
    DISCARDED  it is removed once its grace is over

**A removed generation is never published**, also by a load that was frozen meanwhile. A load reads the pointer, then
the state of its generation, and puts the pointer on the condition that its version is unchanged. A removal marks the
generation as discarded, then increments the version. So a load that read the older version fails, and one that read the
newer version sees the mark.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from sortkey.model.errors import ModelError
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table

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
