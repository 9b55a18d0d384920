"""What the boosts' benchmark counts, in a market that is small enough for a test."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import msgspec
import pytest

from benchmarks.boosts import LOOKUPS, NEW_PARTNER, Costs, Timed, contenders, rows, section, take_turns
from sortkey_services.boosts.tenants import DesignName

PARTNERS = 300


def measured() -> dict[DesignName, Costs]:
    async def measure() -> dict[DesignName, Costs]:
        async with AsyncExitStack() as stack:
            few = await contenders(stack, "memory:", list(LOOKUPS), PARTNERS)
            await take_turns({name: (each, 2) for name, each in few.items()})
            return {name: await each.costs(NEW_PARTNER) for name, each in few.items()}

    return asyncio.run(measure())


@pytest.mark.slow
def test_the_lesson_is_in_the_numbers() -> None:
    costs = measured()
    v1, v2, manifest = (costs[name] for name in ("v1", "v2", "manifest"))
    assert (v2.operations, v2.partners_fetched, v2.rcu) == (1, 50, 25)
    assert (v2.writes_per_event, v2.writes_per_event_4_slots) == (1, 1)
    # The district and everywhere, the slot and all day; every partner is in one of the lists.
    assert (v1.operations, v1.partners_fetched) == (4, PARTNERS)
    # A list for each day and slot, and the campaign's record.
    assert (v1.writes_per_event, v1.writes_per_event_4_slots) == (7 + 1, 7 * 4 + 1)
    # A row for each district, the main row, and the list of the districts of a campaign that runs everywhere.
    assert (manifest.operations, manifest.partners_fetched) == (1, 50)
    assert (manifest.writes_per_event, manifest.writes_per_event_4_slots) == (15 + 2, 15 + 2)
    assert v1.bytes > v2.bytes

    assert {result.name for result in rows(costs, "here")} >= {"p50, here", "p99, here", "read units, here"}
    found = msgspec.json.decode(msgspec.json.encode(section(costs, costs, Timed(1.0, 2.0))))
    wanted = {"operations", "partners_fetched", "rcu", "writes_per_event", "p50_ms", "p99_ms"}
    for where in (found, found["endpoint"]):
        assert all(where[design].keys() >= wanted for design in ("v1", "v2", "manifest"))
