"""Boosts go from one key design to another while they are used. `python -m tests.faults.rekeying` with more lookups and
faults is for the hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sortkey_services.boosts.design import Boost
from tests.faults.rekeying.campaign import Plan, run
from tests.faults.rekeying.model import DISTRICTS, Seen, areas_of, why_wrong

# Whatever the load of the machine: a follower that was killed is replaced within this time.
PLAN = Plan(lookups=4000, kills=1, freezes=0, backfill_kills=1, readers=1, writers=1, followers=1, stale=120.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_lookup_is_wrong(tmp_path: Path) -> None:
    result = run(PLAN, tmp_path)
    assert result.examples == []
    assert (result.wrong, result.wrong_at_the_end, result.old_rows_left) == (0, 0, 0)
    assert result.lookups >= PLAN.lookups
    assert 0 < result.of_new < result.lookups
    assert result.writes > 0
    assert (result.kills, result.backfill_kills, result.switches) == (1, 1, 3)


# The model does not miss its subject: what no moment has shown is wrong.
def test_the_model_finds_a_wrong_answer() -> None:
    partner, district = 0, DISTRICTS[0]
    running = next(version for version in range(1, 9) if district in areas_of(partner, 0, version))
    seen = Seen(partner, ((running, running), (0, 0)))
    right = Boost("p0000", float(1 + 2 * running), "c0", district)
    assert why_wrong(seen, district, right, torn=False) == ""
    assert "nothing of c0" in why_wrong(seen, district, None, torn=False)
    older = Boost("p0000", float(1 + 2 * (running - 1)), "c0", district)
    assert f"not one from {running} to {running}" in why_wrong(seen, district, older, torn=False)
    assert "in *, which runs in" in why_wrong(seen, district, Boost("p0000", right.score, "c0", "*"), torn=False)
    better = next(version for version in range(running + 1, 20) if district in areas_of(partner, 1, version))
    losing = Seen(partner, ((running, running), (better, better)))
    assert "although c1 wins" in why_wrong(losing, district, right, torn=False)
