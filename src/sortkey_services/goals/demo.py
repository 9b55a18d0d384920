"""The demonstration: 500 persons, visitors who make deposits, and a batch that confirms them once a minute.

The visitors leave Ana alone: she is the example of docs/services/goals.md. A real batch replaces the demonstration's
persons; then the visitors stay away, and the demonstration's batch, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import DEMO_COMPETES_AS, PENDING, REJECTED, PersonView, views

VISIT_SECONDS: Final = 2.0
"""Between two deposits."""
VISITS_BETWEEN_BATCHES: Final = 30
REJECTED_SHARE: Final = 0.1
_PACKAGES: Final = ("duckdb", "sqlalchemy")

Apply = Callable[[Sequence[DepositEvent]], Awaitable[object]]

_logger = logging.getLogger(__name__)


class NotInstalled(Exception):
    """The demonstration needs the extra `batch`."""


class Demo:
    """The demonstration in one store. Without the extra `batch`, nothing is loaded, and the log says how to get it."""

    def __init__(self, session: sk.AsyncSession, clock: Clock, timezone: str = "UTC") -> None:
        self._session = session
        self._clock = clock
        self._timezone = timezone
        self._reader = views.reader(session)

    async def load(self, progress: sk.services.Progress) -> None:
        """Loads the persons, as of the last midnight, unless something is served already."""
        if await self._reader.current() is not None:
            return
        midnight = self._instant.replace(hour=0, minute=0, second=0, microsecond=0)
        try:
            await self.run_batch(progress, midnight)
        except NotInstalled as error:
            _logger.warning("goals has no demonstration data: %s", error)

    async def run(self, apply: Apply, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Visits and batches, until a real batch replaces the persons."""
        try:
            inputs = _inputs_module()
        except NotInstalled:
            return
        visits = Visits(Random(self._clock.now()), inputs.PERSONS)
        while True:
            for _ in range(VISITS_BETWEEN_BATCHES):
                await pause(VISIT_SECONDS)
                visited = await self._visited(visits.person())
                if visited is None:
                    return
                await apply(visits.events(visited, self._instant))
            try:
                await self.run_batch()
            except sk.patterns.Superseded:
                return

    async def _visited(self, person: str) -> PersonView | None:
        """The person, if the persons are the demonstration's."""
        served = await self._reader.current()
        if served is None or served.as_of != DEMO_COMPETES_AS:
            return None
        return await self._reader.get(person=person)

    async def run_batch(self, progress: sk.services.Progress | None = None, as_of: datetime | None = None) -> None:
        """The ordinary job, over generated gold, as of now by default. Raises NotInstalled, and Superseded if a real
        batch has replaced the persons."""
        inputs = _inputs_module()
        job = import_module("sortkey_services.goals.batch.job")
        with TemporaryDirectory(prefix="sortkey-goals-") as folder:
            generated = await inputs.demo_inputs(self._session, Path(folder), self._instant, as_of, self._timezone)
            await job.run_batch(self._session, generated, now=self._instant, progress=progress)

    @property
    def _instant(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


class Visits:
    """Whose deposit comes next, and what becomes of it."""

    def __init__(self, random: Random, persons: int) -> None:
        self._random = random
        self._persons = persons

    def person(self) -> str:
        return f"p{self._random.randrange(self._persons):07}"

    def events(self, view: PersonView, now: datetime) -> list[DepositEvent]:
        """A deposit to one of the person's goals, sometimes with its rejection."""
        goal = self._random.choice(view.goals)
        visit = f"visit-{self._random.getrandbits(64):016x}"
        deposit = DepositEvent(
            event_id=visit,
            person_id=view.person,
            goal_id=goal.goal,
            current_balance=(goal.saved_cents + self._random.randrange(500, 20_000, 500)) / 100,
            status=PENDING,
            updated_at=now,
            contribution_id=visit,
        )
        if self._random.random() >= REJECTED_SHARE:
            return [deposit]
        return [
            deposit,
            msgspec.structs.replace(
                deposit,
                event_id=f"{visit}-rejected",
                current_balance=None,
                status=REJECTED,
                updated_at=now + timedelta(milliseconds=1),
            ),
        ]


def _inputs_module() -> Any:
    """Raises NotInstalled."""
    try:
        return import_module("sortkey_services.goals.batch.demo_gold")
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        raise NotInstalled(f"{error.name} is not installed; run: pip install 'sortkey[batch]'") from None
