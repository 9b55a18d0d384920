"""Pricing: 4,000,000 prices on a synced folder, loaded by the command; reads, changes and a midnight, beside PostgreSQL

PostgreSQL has the relational design with its indexes and its cron job, the same prices, and syncs, too. In the process,
a call of ours is beside a statement over a connection; over HTTP, wrk is beside pgbench, on 8 connections each.

`SORTKEY_PRICING_STORES=800` and the like make it smaller (`benchmarks/_pricing_market.py` has the names).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

import sortkey as sk
from benchmarks import _wrk
from benchmarks._folder_check import wait_until_checked, wait_until_idle
from benchmarks._peers import working_folder
from benchmarks._prices_postgres import PostgresPrices, running
from benchmarks._pricing_calls import (
    BY_PRODUCT,
    DEEP,
    DEEP_OFFSET,
    CallCosts,
    Timed,
    call_costs,
    calls_of,
)
from benchmarks._pricing_changes import (
    CronMidnight,
    DuringChange,
    ListOverHttp,
    cron_midnight,
    during_ours,
    during_theirs,
    list_over_http,
)
from benchmarks._pricing_http import GRAPHQL, Rate, over_http, over_pgbench, served
from benchmarks._pricing_market import LONG_AGO, Loaded, Sizes, load_by_command, schedule, upcoming, write_file
from benchmarks._results import Result, Section
from sortkey_services.pricing.model import CHANGES, PRICES
from tests.faults.midnight import campaign

POSTGRES: Final = "PostgreSQL"
BETTER: Final = "with a better index"
MEBIBYTE: Final = 1 << 20
UNCHANGED: Final = "the same file"
CHANGED_FILE: Final = "the file with 1 % changes"


def run() -> Iterator[Result | Section]:
    yield from measure(Sizes.from_environment())


def measure(sizes: Sizes) -> Iterator[Result | Section]:
    _wrk.require()
    with TemporaryDirectory(dir=working_folder()) as made, running() as urls:
        market = Market(sizes, Path(made), *urls)
        yield from market.load()
        found = asyncio.run(market.measured())
        yield from of_calls(sizes, found.calls)
        for name, timed in found.better.items():
            ours = found.calls.ours.many[name].p50
            yield Result(f"{name}, p50, PostgreSQL {BETTER}", ours, "ms", peers={POSTGRES: timed.p50})
        yield from of_http(sizes, found.http)
        yield from of_bulk(sizes, found.bulk, found.their_bulk)
        listed = list_over_http(market.many, sizes)
        yield from of_list(listed)
        midnight, cron = market.midnight(), cron_midnight(market.many_url, sizes)
        yield from of_midnight(sizes, midnight, cron)
        yield Section(
            {
                "sizes": sizes._asdict(),
                "load": {"ours": _loaded(market.loaded), "theirs": _loaded(market.copied)},
                "reload": {
                    name: {"ours": _loaded(ours), "theirs": _loaded(theirs)}
                    for name, (ours, theirs) in market.reloaded.items()
                },
                "list": _plain(listed),
                "calls": _plain(found.calls),
                "better": _plain(found.better),
                "http": _plain(found.http),
                "bulk": {"ours": _plain(found.bulk), "theirs": _plain(found.their_bulk)},
                "midnight": {
                    "scheduling": midnight.scheduling,
                    "permanent": midnight.permanent,
                    "reads": midnight.reads,
                    "wrong": midnight.wrong,
                    "cron": _plain(cron),
                },
            }
        )


class Http(NamedTuple):
    few: Mapping[str, Rate]
    many: Mapping[str, Rate]
    theirs: Mapping[str, Rate]
    """With many prices."""


class Found(NamedTuple):
    calls: CallCosts
    better: Mapping[str, Timed]
    """Of PostgreSQL with a better index."""
    http: Http
    bulk: DuringChange
    their_bulk: DuringChange


class Market:
    """The prices, in our folders and in PostgreSQL's databases, few and many."""

    def __init__(self, sizes: Sizes, folder: Path, few_url: str, many_url: str) -> None:
        self._sizes = sizes
        self._folder = folder
        self.few, self.many = folder / "few", folder / "many"
        self.few_url, self.many_url = few_url, many_url
        self.loaded = self.copied = Loaded(0, 0.0, 0)
        self.reloaded: dict[str, tuple[Loaded, Loaded]] = {}
        """Of the same file, and of one that has changed: ours and theirs."""

    def load(self) -> Iterator[Result]:
        sizes = self._sizes
        for stores, folder, url in (
            (sizes.few_stores, self.few, self.few_url),
            (sizes.stores, self.many, self.many_url),
        ):
            file = self._folder / "prices.csv"
            write_file(file, stores, sizes.products)
            self.loaded = load_by_command(file, folder)
            self.copied = self._copy(file, url)
            if folder == self.many:
                self.reloaded[UNCHANGED] = self._reload(file)
                write_file(file, stores, sizes.products, changed=True)
                self.reloaded[CHANGED_FILE] = self._reload(file)
            file.unlink()
            asyncio.run(schedule(folder, upcoming(sizes)))
        rows = f"{sizes.prices:,} prices"
        yield Result(f"load of {rows}", self.loaded.rate, "/s", peers={POSTGRES: self.copied.rate})
        for name, (ours, theirs) in self.reloaded.items():
            yield Result(f"load of {name} again", ours.rate, "/s", peers={POSTGRES: theirs.rate})
        size, other = self.loaded.bytes / MEBIBYTE, self.copied.bytes / MEBIBYTE
        yield Result(f"size of {rows}, with the index", size, "MiB", peers={POSTGRES: other})

    def _copy(self, file: Path, url: str) -> Loaded:
        prices = PostgresPrices(url)
        prices.create()
        began = perf_counter()
        rows = prices.copy_file(file, LONG_AGO)
        seconds = perf_counter() - began
        prices.schedule(upcoming(self._sizes))
        loaded = Loaded(rows, seconds, prices.bytes_used())
        prices.close()
        return loaded

    def _reload(self, file: Path) -> tuple[Loaded, Loaded]:
        ours = load_by_command(file, self.many)
        prices = PostgresPrices(self.many_url)
        began = perf_counter()
        prices.reload_file(file, datetime.now(UTC))
        theirs = Loaded(ours.rows, perf_counter() - began, prices.bytes_used())
        prices.close()
        return ours, theirs

    async def measured(self) -> Found:
        """Everything but the midnight. The folders are opened once, because a large one is checked after its opening:
        the processes of the servers and this one do so at the same time."""
        sizes = self._sizes
        few, many = PostgresPrices(self.few_url), PostgresPrices(self.many_url)
        async with AsyncExitStack() as stack:
            for prices in (few, many):
                stack.callback(prices.close)
            servers = [stack.enter_context(served(folder)) for folder in (self.few, self.many)]
            sessions = [
                await stack.enter_async_context(sk.async_connect(folder, tables=[PRICES, CHANGES]))
                for folder in (self.few, self.many)
            ]
            for session in sessions:
                await wait_until_checked(session)
            for server in servers:
                wait_until_idle(server.pid)
            calls = await call_costs(sizes, sessions[0], sessions[1], few, many)
            http = Http(
                over_http(servers[0].url, sizes, sizes.few_stores),
                over_http(servers[1].url, sizes, sizes.stores),
                over_pgbench(self.many_url, sizes, sizes.stores),
            )
            bulk, their_bulk = await during_ours(sessions[1], sizes), during_theirs(self.many_url, sizes)
            # Last, because every write pays for it.
            many.add_better_index()
            better = await calls_of(many, sizes, [BY_PRODUCT, DEEP])
            many.drop_better_index()
            return Found(calls, better, http, bulk, their_bulk)

    def midnight(self) -> campaign.Result:
        sizes = self._sizes
        plan = campaign.Plan(
            seed=7,
            changes=sizes.midnight,
            stores=sizes.midnight_stores,
            kills=0,
            running_before=True,
            # If it takes longer, it begins again.
            lead_seconds=2 + sizes.midnight / 1500,
            readers=1,
        )
        return campaign.run(plan, str(self._folder / "midnight"))


def of_calls(sizes: Sizes, found: CallCosts) -> Iterator[Result]:
    ours, theirs = found.ours.many, found.theirs.many
    for name, timed in ours.items():
        for quantile in Timed._fields:
            other = getattr(theirs[name], quantile)
            yield Result(f"{name}, {quantile}, in the process", getattr(timed, quantile), "ms", peers={POSTGRES: other})
        yield Result(f"{name}, read units", found.units[name], "units")
    offset = theirs[DEEP_OFFSET].p50
    yield Result(f"{DEEP}, p50, PostgreSQL by OFFSET", ours[DEEP].p50, "ms", peers={POSTGRES: offset})
    for name, timed in ours.items():
        grown, other = timed.p50 / found.ours.few[name].p50, theirs[name].p50 / found.theirs.few[name].p50
        yield Result(f"{name}, growth of p50 from {sizes.few_prices:,} prices", grown, "×", peers={POSTGRES: other})


def of_http(sizes: Sizes, found: Http) -> Iterator[Result]:
    for name, rate in found.many.items():
        theirs = found.theirs.get(name)
        shown = name if name == GRAPHQL else f"{name}, REST"
        peers = {} if theirs is None else {POSTGRES: theirs.rate}
        yield Result(f"{shown}, 8 connections", rate.rate, "/s", peers=peers)
        for quantile in Timed._fields:
            others = {} if theirs is None else {POSTGRES: getattr(theirs.timed, quantile)}
            yield Result(f"{shown}, 8 connections, {quantile}", getattr(rate.timed, quantile), "ms", peers=others)
        grown = rate.timed.p50 / found.few[name].timed.p50
        yield Result(f"{shown}, growth of p50 from {sizes.few_prices:,} prices", grown, "×")


def of_bulk(sizes: Sizes, ours: DuringChange, theirs: DuringChange) -> Iterator[Result]:
    changes = f"bulk changes of {sizes.bulk:,}"
    yield Result(f"{changes}, changes", ours.rate, "/s", peers={POSTGRES: theirs.rate})
    for quantile in ("p50", "p99"):
        for what, mine, other in (("alone", ours.alone, theirs.alone), ("during them", ours.during, theirs.during)):
            yield Result(
                f"{changes}, a page {what}, {quantile}",
                getattr(mine, quantile),
                "ms",
                peers={POSTGRES: getattr(other, quantile)},
            )


def of_list(found: ListOverHttp) -> Iterator[Result]:
    what = f"a list of {found.changes:,} over HTTP"
    yield Result(f"{what}, until it is accepted", found.accepted, "s")
    yield Result(f"{what}, from then until it is permanent", found.permanent, "s")
    yield Result(f"{what}, the longest stall meanwhile", found.stall, "ms")


def of_midnight(sizes: Sizes, ours: campaign.Result, theirs: CronMidnight) -> Iterator[Result]:
    what = f"midnight with {sizes.midnight:,} changes"
    # A ratio to none would be no number.
    stale = {POSTGRES: float(theirs.stale)} if theirs.stale else {}
    yield Result(f"{what}, wrong reads", ours.wrong, "", peers=stale)
    yield Result(f"{what}, reads", ours.reads, "", peers={POSTGRES: theirs.reads})
    yield Result(f"{what}, until a price is right", 0.0, "s", peers={POSTGRES: theirs.seconds})
    yield Result(f"{what}, until everything is permanent", ours.permanent, "s", peers={POSTGRES: theirs.seconds})
    yield Result(f"{what}, scheduled", sizes.midnight / ours.scheduling, "/s")


def _plain(found: Any) -> Any:
    """Named tuples as objects, for the JSON."""
    if isinstance(found, tuple) and hasattr(found, "_asdict"):
        return {name: _plain(value) for name, value in found._asdict().items()}
    if isinstance(found, Mapping):
        return {name: _plain(value) for name, value in found.items()}
    return found


def _loaded(found: Loaded) -> dict[str, float]:
    return {**found._asdict(), "rate": found.rate}
