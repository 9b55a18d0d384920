"""Boosts: a page of 50 partners in a market of 11,000, in three designs.

The default design (V2) is Sortkey's number, the others stand beside it. What is counted (requests, partners, bytes,
units) is exact; of what is timed, a round's p50 and p99 are taken, and the median over rounds in which the designs take
turns.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks._boosts_market import (
    AT,
    DELIVERY,
    DISTRICT,
    FIRST_PARTNER,
    FOUR_SLOTS,
    PAGE,
    TENANT,
    event,
    load,
    pages,
    service,
)
from benchmarks._recorder import Recorder
from benchmarks._results import Result, Section
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect
from sortkey_services.boosts.service import TABLES, BoostsService
from sortkey_services.boosts.tenants import DesignName
from tests.wire.serving import ServerProcess

PARTNERS: Final = 11_000
MANY: Final = 100_000
NEW_PARTNER: Final = 90_000_000
ROUNDS: Final = 5
LOOKUPS: Final[dict[DesignName, int]] = {"v2": 400, "v1": 12, "manifest": 400}
"""Per round: enough for a p99, unless that takes minutes."""
REMOTE: Final = 4
"""Over HTTP, the number of lookups is divided by this."""


class Costs(msgspec.Struct, frozen=True):
    """The costs of one design; all but the writes are per request."""

    operations: int
    partners_fetched: int
    bytes: int
    rcu: float
    writes_per_event: int
    """A campaign that runs all week, all day."""
    writes_per_event_4_slots: int
    """The same campaign in four slots."""
    p50_ms: float
    p99_ms: float


class Timed(NamedTuple):
    p50: float
    p99: float


class Contender:
    """A design with a loaded market."""

    def __init__(self, session: AsyncSession, boosts: BoostsService, partners: int) -> None:
        self.boosts = boosts
        self._session = session
        self._pages = pages(partners, seed=7)
        self.rounds: list[Timed] = []

    async def time(self, lookups: int) -> None:
        """One round."""
        times = []
        for _ in range(lookups):
            page = next(self._pages)
            began = perf_counter()
            found = await self.boosts.lookup(TENANT, DISTRICT, page, AT)
            times.append((perf_counter() - began) * 1000)
            assert len(found) == PAGE
        times.sort()
        self.rounds.append(Timed(median(times), times[min(len(times) - 1, round(len(times) * 0.99))]))

    @property
    def timed(self) -> Timed:
        return Timed(median(each.p50 for each in self.rounds), median(each.p99 for each in self.rounds))

    async def costs(self, new: int) -> Costs:
        """`new` is the first of two new partners."""
        delivered = dict.fromkeys((str(new), str(new + 1)), DELIVERY)
        await self.boosts.design.set_delivery_areas(self.boosts.market(TENANT), delivered)
        read = await self._recorded(self.boosts.lookup(TENANT, DISTRICT, next(self._pages), AT))
        all_day = await self._recorded(self.boosts.apply(TENANT, [event(new)]))
        four_slots = await self._recorded(self.boosts.apply(TENANT, [event(new + 1, FOUR_SLOTS)]))
        return Costs(
            operations=read.reads,
            # Each partner is named once, in its own row or in a list.
            partners_fetched=sum(text.count(b'"partner":') for text in read.texts),
            bytes=sum(map(len, read.texts)),
            rcu=read.units,
            writes_per_event=all_day.writes,
            writes_per_event_4_slots=four_slots.writes,
            p50_ms=self.timed.p50,
            p99_ms=self.timed.p99,
        )

    async def _recorded(self, doing: Awaitable[object]) -> Recorder:
        """Counts its requests to the store; here the embedded store gets requests too, without the fast reads."""
        session = self._session
        client, fast = session.client, session._fast
        recorder = session.client = Recorder(client)
        session._fast = None
        await doing
        session.client, session._fast = client, fast
        return recorder


async def contenders(
    stack: AsyncExitStack, url: str | Path, designs: Sequence[DesignName], partners: int
) -> dict[DesignName, Contender]:
    """The designs, each in its own tables of one store; a loaded store is used again."""
    tables = [table for design in designs for table in TABLES[design]]
    session = await stack.enter_async_context(async_connect(url, tables=tables))
    made = {}
    for design in designs:
        boosts = service(session, design)
        await boosts.start()
        if not await boosts.campaigns_of(TENANT, str(FIRST_PARTNER)):
            await load(boosts, partners)
        made[design] = Contender(session, boosts, partners)
    return made


async def take_turns(rounds: Mapping[str, tuple[Contender, int]]) -> None:
    """Times all designs in turns, so that a noisy moment affects all of them."""
    for contender, _ in rounds.values():
        await contender.time(3)
        contender.rounds.clear()
    # As the server does after its start: the garbage collector skips what has been loaded.
    gc.collect()
    gc.freeze()
    for _ in range(ROUNDS):
        for contender, lookups in rounds.values():
            await contender.time(lookups)
    gc.unfreeze()


async def fast(folder: Path) -> tuple[dict[DesignName, Costs], Timed]:
    """The costs of each design, and the default design's times in a much larger market."""
    async with AsyncExitStack() as stack:
        few = await contenders(stack, folder / "few", list(LOOKUPS), PARTNERS)
        many = (await contenders(stack, folder / "many", ["v2"], MANY))["v2"]
        turns: dict[str, tuple[Contender, int]] = {name: (each, LOOKUPS[name]) for name, each in few.items()}
        await take_turns(turns | {"many": (many, LOOKUPS["v2"])})
        return {name: await each.costs(NEW_PARTNER) for name, each in few.items()}, many.timed


async def over_http(url: str) -> dict[DesignName, Costs]:
    async with AsyncExitStack() as stack:
        few = await contenders(stack, url, list(LOOKUPS), PARTNERS)
        await take_turns({name: (each, max(3, LOOKUPS[name] // REMOTE)) for name, each in few.items()})
        return {name: await each.costs(NEW_PARTNER + 2) for name, each in few.items()}


def rows(costs: Mapping[DesignName, Costs], where: str) -> Iterator[Result]:
    for title, field, unit in (
        ("p50", "p50_ms", "ms"),
        ("p99", "p99_ms", "ms"),
        ("requests", "operations", ""),
        ("partners fetched", "partners_fetched", ""),
        ("kilobytes", "bytes", "kB"),
        ("read units", "rcu", ""),
        ("writes an event, all day", "writes_per_event", ""),
        ("writes an event, four slots", "writes_per_event_4_slots", ""),
    ):
        found = {name: getattr(each, field) / (1000 if unit == "kB" else 1) for name, each in costs.items()}
        peers = {"V1": found["v1"], "manifest": found["manifest"]}
        yield Result(f"{title}, {where}", found["v2"], unit, peers=peers)


def run() -> Iterator[Result | Section]:
    with tempfile.TemporaryDirectory() as folder:
        embedded, many = asyncio.run(fast(Path(folder)))
        yield from rows(embedded, "in the process")
        few = embedded["v2"]
        yield Result(f"p50 at {MANY:,} partners", many.p50, "ms", peers={f"at {PARTNERS:,}": few.p50_ms})
        yield Result(f"p99 at {MANY:,} partners", many.p99, "ms", peers={f"at {PARTNERS:,}": few.p99_ms})
        server = ServerProcess("--data", Path(folder) / "few")
        try:
            remote = asyncio.run(over_http(server.url))
        finally:
            server.stop()
        yield from rows(remote, "over the endpoint")
    yield Section(section(embedded, remote, many))


def section(embedded: Mapping[DesignName, Costs], remote: Mapping[DesignName, Costs], many: Timed) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(embedded),
        "endpoint": msgspec.to_builtins(remote),
        "market": {"partners": PARTNERS, "page": PAGE},
        "growth": {"partners": MANY, "p50_ms": many.p50, "p99_ms": many.p99},
    }
