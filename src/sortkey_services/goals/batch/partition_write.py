"""Writes from Spark: each partition opens the store by itself, and writes its share of the load.

A share that fails is written again as a whole, by Spark's own retries: puts of the same persons change nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchRun
from sortkey_services.goals.batch.engine import Row
from sortkey_services.goals.batch.person_views import person_views
from sortkey_services.goals.model import views


@dataclass(frozen=True, slots=True)
class PartitionWrite:
    """Goes to Spark's processes, so it holds only plain values."""

    store: str
    generation: str
    run: BatchRun
    updated: datetime

    def __call__(self, rows: Iterator[Row]) -> int:
        return asyncio.run(self._write(rows))

    async def _write(self, rows: Iterator[Row]) -> int:
        async with sk.async_connect(self.store, tables=views.tables) as session:
            load = await views.join(session, self.generation)
            return await load.write_share(person_views(rows, self.run, self.updated))
