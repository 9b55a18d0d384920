"""A process that applies campaign events until it is killed. Each batch that was applied becomes a line in a pipe."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import msgspec

import sortkey as sk
from sortkey_services.boosts.event import CampaignEvent
from sortkey_services.boosts.service import TABLES, BoostsService
from tests.sortkey_services.boosts.campaigns import SETTINGS, event

AREAS = tuple(f"BER-{number:02}" for number in range(1, 9))
PARTNERS = tuple(f"p{number}" for number in range(12))
BATCH = 8
DONE = "acknowledged"
"""In the folder's parent: the numbers of the events that need not come again."""


def events() -> list[CampaignEvent]:
    """Campaigns that grow, shrink, move, end and begin anew: most events leave areas behind."""
    draw = Random(7)
    made = []
    for number in range(480):
        areas = ("*",) if draw.random() < 0.1 else tuple(draw.sample(AREAS, draw.randint(1, 5)))
        made.append(
            event(
                number,
                campaign=f"c{draw.randrange(2)}",
                partner=draw.choice(PARTNERS),
                areas=areas,
                score=draw.randint(1, 9),
                status="ENDED" if draw.random() < 0.15 else "ACTIVE",
                updated_at=datetime(2026, 8, 1, tzinfo=UTC) + timedelta(minutes=draw.randrange(60)),
            )
        )
    return made


def main(path: str, seed: int, log: Connection) -> None:
    asyncio.run(_write(path, seed, log))


async def _write(path: str, seed: int, log: Connection) -> None:
    done = set(msgspec.json.decode(Path(f"{path}.{DONE}").read_bytes(), type=list[int]))
    order = [number for number, _ in enumerate(events()) if number not in done]
    Random(seed).shuffle(order)
    async with sk.async_connect(path, tables=TABLES["v2"]) as session:
        service = BoostsService(session, SETTINGS)
        await service.start()
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        # Several at once, as partitions of a feed are: they race for the same campaigns.
        await asyncio.gather(*(_apply(service, batches[lane::4], log) for lane in range(4)))
    os.write(log.fileno(), b"over\n")
    await asyncio.Event().wait()


async def _apply(service: BoostsService, batches: list[list[int]], log: Connection) -> None:
    known = events()
    for batch in batches:
        await service.apply("de", [known[number] for number in batch])
        # One system call: a line is in the pipe as a whole, and stays there when this process ends.
        os.write(log.fileno(), f"{' '.join(map(str, batch))}\n".encode())
