"""Boosts go from v1 to another design while lookups and writes go on: filled, read, back, read again, and finished.

The backfill is killed and started again, the followers are killed, frozen and replaced. Every answer is compared with
the model. An answer of the old design shows what was acknowledged before; one of the new design may be as old as a
follower's death takes to be noticed, but never older than one before it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from threading import Thread
from time import monotonic
from typing import Final, NamedTuple

import msgspec

import sortkey as sk
from sortkey.cli.main import main
from sortkey_services.boosts.design import LookupQuery
from sortkey_services.boosts.service import DESIGNS, BoostsService
from sortkey_services.boosts.service_definition import BOOSTS
from sortkey_services.boosts.tenants import DesignName
from tests.faults.rekeying.model import (
    CAMPAIGNS,
    DISTRICTS,
    MONDAY,
    PARTNERS,
    TENANT,
    Board,
    Seen,
    all_campaigns,
    config,
    event_of,
    partner_id,
    settings,
    why_wrong,
)
from tests.faults.rekeying.worker import Tally
from tests.feeds.changes.follow_process import ROOT, FollowProcess

LOOK_SECONDS: Final = 0.05
LEASE_SECONDS: Final = 2.0
LATEST_KILL_SECONDS: Final = 0.4
"""After a backfill has begun."""


class Plan(NamedTuple):
    lookups: int
    to: DesignName = "v2"
    seed: int = 7
    readers: int = 2
    writers: int = 2
    followers: int = 2
    kills: int = 6
    """Of followers."""
    freezes: int = 1
    backfill_kills: int = 3
    stale: float = 20.0
    """How old an answer of the new design may be, in seconds: a follower's death and the load of the machine."""
    pause: float = 0.05
    """Between two writes of a writer."""


class Result(msgspec.Struct):
    lookups: int = 0
    wrong: int = 0
    of_new: int = 0
    writes: int = 0
    stalest: float = 0.0
    kills: int = 0
    freezes: int = 0
    backfill_kills: int = 0
    switches: int = 0
    examples: list[str] = msgspec.field(default_factory=list)
    wrong_at_the_end: int = 0
    """Partners whose rows of the new design differ from the model when all is over."""
    old_rows_left: int = 0


class WorkerProcess:
    def __init__(self, kind: str, store: str, board: Path, plan: Plan, seed: int, of: int) -> None:
        self.tally = Tally()
        arguments = [kind, store, str(board), plan.to, str(seed), str(of), str(plan.stale), str(plan.pause)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.rekeying.worker", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.tally = msgspec.json.decode(line, type=Tally)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def stop(self) -> Tally:
        assert self._process.stdin is not None
        self._process.stdin.close()
        status = self._process.wait()
        self._thread.join()
        assert status == 0, f"a worker ended with status {status}"
        return self.tally

    def kill(self) -> None:
        """Unless it has ended."""
        self._process.kill()
        self._process.wait()
        self._thread.join()


def run(plan: Plan, folder: Path, show: Callable[[str], None] = lambda _: None) -> Result:
    return asyncio.run(Campaign(plan, folder, show).run())


class Campaign:
    def __init__(self, plan: Plan, folder: Path, show: Callable[[str], None]) -> None:
        self._plan = plan
        self._show = show
        self._draw = Random(f"rekeying {plan.seed}")
        self._store = str(folder / "data")
        self._board_path = folder / "board"
        self._board = Board(self._board_path)
        self._config = folder / "boosts.toml"
        self._config.write_text(config(plan.to))
        self._readers: list[WorkerProcess] = []
        self._writers: list[WorkerProcess] = []
        self._followers: list[FollowProcess] = []
        self._result = Result()

    async def run(self) -> Result:
        plan = self._plan
        try:
            await self._load()
            self._workers("lookups", plan.readers, self._readers)
            self._workers("writes", plan.writers, self._writers)
            for _ in range(plan.followers):
                await self._follow()
            await self._reach(0.05)
            await self._backfill()
            await self._reach(0.2, kills=plan.kills // 3)
            await self._command("switch")
            await self._reach(0.4, kills=plan.kills // 3, freezes=plan.freezes)
            await self._command("back")
            await self._reach(0.55)
            await self._command("switch")
            await self._reach(0.8, kills=plan.kills - 2 * (plan.kills // 3))
            self._board.hand_over()
            await self._command("finish", "--yes")
            await self._reach(1.0)
            for writer in self._writers:
                self._result.writes += (await asyncio.to_thread(writer.stop)).done
            for reader in self._readers:
                self._count(await asyncio.to_thread(reader.stop))
            for follower in self._followers:
                await asyncio.to_thread(follower.stop)
            await self._compare()
        finally:
            for worker in (*self._readers, *self._writers):
                worker.kill()
            for follower in self._followers:
                follower.kill()
        return self._result

    def _workers(self, kind: str, number: int, started: list[WorkerProcess]) -> None:
        started += [
            WorkerProcess(kind, self._store, self._board_path, self._plan, each, number) for each in range(number)
        ]

    def _count(self, tally: Tally) -> None:
        result = self._result
        result.lookups += tally.done
        result.wrong += tally.wrong
        result.of_new += tally.of_new
        result.stalest = max(result.stalest, tally.stalest)
        result.examples += tally.examples

    async def _load(self) -> None:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(sk.async_connect(self._store, tables=self._tables))
            service = BoostsService(session, settings(self._plan.to))
            await service.start()
            await stack.enter_async_context(service.maintenance())
            everywhere = {partner_id(partner): DISTRICTS for partner in range(PARTNERS)}
            market = service.market(TENANT)
            await service.design.set_delivery_areas(market, everywhere)
            events = []
            for partner, campaign in all_campaigns():
                if (partner + campaign) % 3:
                    events.append(event_of(partner, campaign, self._board.begin(partner, campaign)))
            for event in events:
                await service.apply(TENANT, [event])
            for partner, campaign in all_campaigns():
                if self._board.begun(partner, campaign):
                    self._board.acknowledged(partner, campaign, 1)

    @property
    def _tables(self) -> list[type[sk.Item] | sk.Table]:
        return [*BOOSTS.tables({"design": "v1", "moving_to": self._plan.to})]

    async def _follow(self) -> None:
        arguments = ("--config", str(self._config), "--lease", str(LEASE_SECONDS))
        started = await asyncio.to_thread(FollowProcess, "sortkey", "boosts", self._store, *arguments)
        self._followers.append(started)

    @property
    def _done(self) -> int:
        return sum(each.tally.done for each in self._readers)

    async def _reach(self, share: float, kills: int = 0, freezes: int = 0) -> None:
        """Wait until this share of the lookups is done, with faults in between."""
        start, end = self._done, int(share * self._plan.lookups)
        faults = [self._kill_one] * kills + [self._freeze_one] * freezes
        self._draw.shuffle(faults)
        for number, fault in enumerate(faults):
            await self._wait_for(start + (end - start) * (number + 1) // (len(faults) + 1))
            await fault()
        await self._wait_for(end)
        self._show(f"{self._done:,} lookups")

    async def _wait_for(self, lookups: int) -> None:
        while self._done < lookups:
            ended = [each for each in (*self._readers, *self._writers) if each.has_ended]
            assert not ended, "a worker has ended"
            await asyncio.sleep(LOOK_SECONDS)  # another process tells by lines only

    async def _kill_one(self) -> None:
        victim = self._followers.pop(self._draw.randrange(len(self._followers)))
        await asyncio.to_thread(victim.kill)
        self._result.kills += 1
        await self._follow()

    async def _freeze_one(self) -> None:
        victim = self._draw.choice(self._followers)
        victim.freeze()
        await asyncio.sleep(2.5 * LEASE_SECONDS)
        victim.thaw()
        self._result.freezes += 1

    async def _backfill(self) -> None:
        """Kills the command when it has begun, some times, and lets it end then."""
        (rekey,) = BOOSTS.rekeys({"design": "v1", "moving_to": self._plan.to}) if BOOSTS.rekeys else ()
        async with sk.async_connect(self._store, tables=self._tables) as session:
            began, until_begun = monotonic(), 0.0
            for _ in range(self._plan.backfill_kills):
                process = self._started("start")
                if until_begun == 0.0:
                    while (await rekey.status(session)).flag is None:
                        await asyncio.sleep(LOOK_SECONDS)  # another process tells only when asked
                    until_begun = monotonic() - began
                else:
                    await asyncio.sleep(until_begun)
                await asyncio.sleep(LATEST_KILL_SECONDS * self._draw.random())
                process.kill()
                process.wait()
                self._result.backfill_kills += 1
        await self._command("start")

    async def _command(self, action: str, *arguments: str) -> None:
        process = self._started(action, *arguments)
        status = await asyncio.to_thread(process.wait)
        assert status == 0, f"sortkey rekey {action} ended with status {status}"
        self._result.switches += action in ("switch", "back")
        self._show(f"sortkey rekey {action}")

    def _started(self, action: str, *arguments: str) -> subprocess.Popen[bytes]:
        options = ["--store", self._store, "--config", str(self._config), *arguments]
        command = [sys.executable, "-m", "sortkey", "rekey", action, "boosts", *options]
        return subprocess.Popen(command, cwd=ROOT, stdout=sys.stderr.fileno())

    async def _compare(self) -> None:
        """The new design alone, and the old tables, when all has ended."""
        async with sk.async_connect(self._store, tables=self._tables) as session:
            service = BoostsService(session, settings(self._plan.to))
            market = service.market(TENANT)
            design = DESIGNS[self._plan.to](session, service._clock)
            partners = {partner_id(partner): partner for partner in range(PARTNERS)}
            for district in DISTRICTS:
                query = LookupQuery(district, list(partners), market.timetable.day_slots(MONDAY))
                found = {each.partner_id: each for each in await design.lookup(market, query)}
                for name, partner in partners.items():
                    versions = [self._board.begun(partner, campaign) for campaign in range(CAMPAIGNS)]
                    seen = Seen(partner, tuple((version, version) for version in versions))
                    self._result.wrong_at_the_end += bool(why_wrong(seen, district, found.get(name), torn=False))
            for cls in DESIGNS["v1"](session, service._clock).tables:
                self._result.old_rows_left += len([each async for each in session.scan(cls, consistent=True)])
        assert main(["check", self._store]) == 0
