"""A process of the test: `lookups`, which compares every answer with the model, or `writes`, which changes campaigns.

It runs until its standard input ends, and prints how far it is, as lines of JSON.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import Random
from threading import Thread
from time import monotonic
from typing import Final

import msgspec

import sortkey as sk
from sortkey_services.boosts.service import BoostsService
from sortkey_services.boosts.service_definition import BOOSTS
from tests.faults.rekeying.model import (
    CAMPAIGNS,
    DISTRICTS,
    MONDAY,
    PARTNERS,
    TENANT,
    VERSIONS,
    Board,
    Seen,
    event_of,
    partner_id,
    seen_in,
    settings,
    why_wrong,
)

PAGE: Final = 10
"""Partners of a lookup."""
TOLD: Final = 200
"""Lookups or writes between two lines."""
EXAMPLES: Final = 5


class Tally(msgspec.Struct):
    done: int = 0
    wrong: int = 0
    of_new: int = 0
    """Lookups that the new design has answered."""
    stalest: float = 0.0
    """How long ago a version was replaced that the new design has shown, in seconds."""
    examples: list[str] = msgspec.field(default_factory=list)


class Worker:
    def __init__(self, service: BoostsService, board: Board, seed: int, stale: float) -> None:
        self.service = service
        self.tally = Tally()
        self._board = board
        self._draw = Random(seed)
        self._stale = stale
        self._newest: dict[tuple[int, int], int] = {}
        """The newest version that the new design has shown here."""

    async def look_up(self) -> None:
        partners = self._draw.sample(range(PARTNERS), PAGE)
        district = self._draw.choice(DISTRICTS)
        began, handing_over = monotonic(), self._board.handing_over
        least = {each: self._least(each, began) for each in partners}
        exact = {each: self._least(each, began + self._stale) for each in partners}
        reads = self.service.design.reader.reads  # type: ignore[attr-defined]
        before = reads["new"]
        found = await self.service.lookup(TENANT, district, [partner_id(each) for each in partners], MONDAY)
        of_new = reads["new"] > before
        torn = not of_new or handing_over or self._board.handing_over
        answers = {each.partner_id: each for each in found}
        is_wrong = False
        for partner in partners:
            low = least[partner] if of_new else exact[partner]
            high = [self._board.begun(partner, campaign) for campaign in range(CAMPAIGNS)]
            seen = Seen(partner, tuple(zip(low, high, strict=True)))
            answer = answers.get(partner_id(partner))
            why = why_wrong(seen, district, answer, torn=torn)
            shown = seen_in(answer)
            if shown is not None and of_new and not torn:
                why = why or self._order(partner, shown, began)
            if why:
                is_wrong = True
                self.tally.examples.append(f"{'new' if of_new else 'old'}, {partner_id(partner)} in {district}: {why}")
        del self.tally.examples[EXAMPLES:]
        self.tally.done += 1
        self.tally.of_new += of_new
        self.tally.wrong += is_wrong

    def _least(self, partner: int, began: float) -> list[int]:
        moment = began - self._stale
        return [self._board.acknowledged_before(partner, campaign, moment) for campaign in range(CAMPAIGNS)]

    def _order(self, partner: int, shown: tuple[int, int], began: float) -> str:
        """The new design never goes back to an older version."""
        campaign, version = shown
        newest = self._newest.get((partner, campaign), 0)
        self._newest[partner, campaign] = max(newest, version)
        replaced = self._board.at(partner, campaign, version + 1) if version + 1 < VERSIONS else 0.0
        if 0 < replaced < began:
            self.tally.stalest = max(self.tally.stalest, began - replaced)
        return f"version {version} of c{campaign} after version {newest}" if version < newest else ""

    async def write(self, own: list[int], pause: float) -> None:
        partner, campaign = self._draw.choice(own), self._draw.randrange(CAMPAIGNS)
        if self._board.begun(partner, campaign) < VERSIONS - 2:
            version = self._board.begin(partner, campaign)
            (result,) = await self.service.apply(TENANT, [event_of(partner, campaign, version)])
            assert not result.stale, (partner, campaign, version)
            assert result.error is None, result.error
            self._board.acknowledged(partner, campaign, version)
            self.tally.done += 1
        await asyncio.sleep(pause)


async def work(kind: str, store: str, board: str, to: str, seed: int, of: int, stale: float, pause: float) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    Thread(target=wait_for_end, daemon=True).start()
    tables = BOOSTS.tables({"design": "v1", "moving_to": to})
    async with sk.async_connect(store, tables=tables) as session:
        service = BoostsService(session, settings(to))
        worker = Worker(service, Board(Path(board)), seed, stale)
        own = [partner for partner in range(PARTNERS) if partner % of == seed % of]
        async with service.maintenance():
            while not over.is_set():
                await (worker.look_up() if kind == "lookups" else worker.write(own, pause))
                if worker.tally.done % TOLD == 0:
                    tell(worker.tally)
                    await asyncio.sleep(0)
        tell(worker.tally)


def tell(tally: Tally) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(tally) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    kind, store, board, to, seed, of, stale, pause = sys.argv[1:]
    asyncio.run(work(kind, store, board, to, int(seed), int(of), float(stale), float(pause)))
