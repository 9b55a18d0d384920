"""Processes that load one generation after another, until they are killed.

Commits are small, so that a process is often killed in the middle of a load. One that starts goes on with the load that
another has left unfinished, if it is of the same day.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from unittest.mock import patch

import sortkey as sk
from sortkey.model.maintenance import load as store_load
from sortkey.patterns.generation import load as load_module
from tests.faults.crash.writer import Log

PERSONS = 200
PART = 20
START = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


class LoadedPerson(sk.Item, table=sk.Table("loaded-persons")):
    generation: str = ""
    person: int
    day: int
    key = sk.Key("GENERATION#{generation}#PERSON#{person}")


PEOPLE = sk.patterns.generations(LoadedPerson)


def load_days(path: str, seed: int, log: Connection) -> None:
    """Says how far it is, and which days it has published. Processes with an odd seed load every second day, so that
    those that run at the same time race for another as-of as well as for the same."""
    with patch.object(store_load, "COMMIT_ROWS", PART), patch.object(load_module, "NOTED", PART):
        asyncio.run(_load_days(path, 1 + seed % 2, Log(log)))


async def _load_days(path: str, step: int, say: Callable[[str], None]) -> None:
    async with sk.async_connect(path, tables=PEOPLE.tables) as db:
        reader = PEOPLE.reader(db, renew=0.001)
        while True:
            served = await reader.current()
            day = step if served is None else (served.as_of - START) // DAY + step
            try:
                await PEOPLE.load(
                    db,
                    persons(day),
                    as_of=START + day * DAY,
                    source=f"gold/{day}",
                    progress=lambda loaded: say(f"rows {loaded.position}"),
                )
            except sk.patterns.Superseded:
                say(f"superseded {day}")
            else:
                say(f"published {day}")


def persons(day: int) -> Iterator[LoadedPerson]:
    return (LoadedPerson(person=number, day=day) for number in range(PERSONS))
