"""What a server hands to its console: where the numbers are counted, and what it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sortkey.clock import Clock
from sortkey.engine.database import Database
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.follower import Follower
from sortkey.feeds.timers.timers import Timers
from sortkey.http.metrics import Samples
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession


@dataclass(frozen=True)
class RunningService:
    name: str
    summary: str
    tables: Sequence[Table]
    feeds: Sequence[ChangeFeed[Any] | Timers[Any]] = ()
    demo: bool = False
    """Whether it has demonstration data that visitors change."""


@dataclass(frozen=True)
class Sources:
    command: Literal["up", "serve", "db"]
    clock: Clock
    url: str
    """Of the store, as the command line has it."""
    database: Database | None
    """The engine, if the store is in this process."""
    session: AsyncSession | None = None
    """That of the services; None for an endpoint alone."""
    services: Sequence[RunningService] = ()
    follower: Follower | None = None
    http: Callable[[], Samples] | None = None
    """Requests to the services."""
    endpoint: Callable[[], Samples] | None = None
    """Requests to the DynamoDB endpoint, of all workers."""
    endpoint_url: str | None = None
    workers: int = 1
    service_of_route: Callable[[str], str | None] = field(default=lambda _: None)
    """The service that a route of the metrics belongs to, such as `GET /boosts/{tenant}`."""

    @property
    def folder(self) -> Path | None:
        return None if self.database is None else self.database.store.path
