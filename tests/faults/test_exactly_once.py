"""Favourites are counted exactly once, whatever happens to the followers. `python -m tests.faults.exactly_once` with
more operations and faults is for the hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.exactly_once.campaign import Plan, opened_store, run
from tests.maven import Unavailable

PLAN = Plan(seed=7, operations=1500, kills=2, freezes=1, redeliveries=2, splits=1, lease_seconds=1.0)
REMOTE_OPERATIONS = 600
"""Each takes ten times as long there."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["disk", "endpoint", pytest.param("local", marks=pytest.mark.oracle)])
def test_every_count_is_right_after_faults(kind: str, tmp_path: Path) -> None:
    plan = PLAN if kind == "disk" else PLAN._replace(operations=REMOTE_OPERATIONS)
    if kind == "local":
        plan = plan._replace(splits=0)
    try:
        with opened_store(kind, tmp_path) as store:
            result = run(plan, store)
    except Unavailable as error:
        pytest.skip(f"no DynamoDB Local: {error}")
    assert result.marks + result.unmarks == plan.operations
    assert (result.kills, result.freezes) == (plan.kills, plan.freezes)
    assert (result.redeliveries, result.splits) == (plan.redeliveries, plan.splits)
    assert result.ours.counts > 500
    assert result.ours.wrong == 0
    assert result.recount_is_clean
    assert result.check_is_clean is not False
    # The faults do not miss their subject: a way that counts what is delivered is wrong.
    assert result.by_add.wrong > 0
