"""The store under simulated faults: thousands of interleavings, each determined by its seed and checked by a model.

`make simulate N=1 SEED=17` replays a seed.
"""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path
from random import Random
from unittest.mock import patch

import lmdb
import pytest

from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.storage.write_queue import FAILED, CallbackTicket, Ticket
from tests.faults.simulation.disk import DATA, Disk, disk_error
from tests.faults.simulation.lives import Difference, simulate
from tests.faults.simulation.scheduler import Lock, Scheduler, Stuck

GROUPS = 2
SEEDS = 200
"""In each group; groups run in parallel."""
TRIED = 300
"""Seeds among which a broken store must be found."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", range(GROUPS))
def test_the_store_agrees_with_the_model_whatever_fails(group: int) -> None:
    outcomes = [simulate(seed) for seed in range(group * SEEDS, (group + 1) * SEEDS)]
    # The simulation does not miss its subject: every end of a commit occurs, and most writes succeed all the same.
    assert all(sum(outcome.faults[end] for outcome in outcomes) > 10 for end in outcomes[0].faults)
    assert all(sum(outcome.flips[found] for outcome in outcomes) > 0 for found in outcomes[0].flips)
    assert sum(outcome.done for outcome in outcomes) > sum(outcome.operations for outcome in outcomes) / 2


def test_a_seed_replays_exactly() -> None:
    for seed in range(5):
        first, second = simulate(seed), simulate(seed)
        assert first.trace == second.trace
        assert first.faults == second.faults


def difference() -> str:
    """The first difference that the simulation finds."""
    for seed in range(TRIED):
        try:
            simulate(seed)
        except Difference as found:
            return str(found)
    return "none"


# The following tests break the store on purpose: a simulation that finds nothing must be able to find something.


def test_a_disk_that_forgets_what_it_synced_is_found() -> None:
    def survive(disk: Disk, folder: Path) -> None:
        folder.mkdir()
        shutil.copyfile(disk.folder.parent / "0" / DATA, folder / DATA)

    with patch.object(Disk, "survive", survive):
        assert "an acknowledged write is gone" in difference()


# The queue would run the work again.
def test_a_commit_that_is_on_disk_and_reports_an_error_is_found() -> None:
    random = Random(0)

    def commit(_: Disk, transaction: lmdb.Transaction[bytes]) -> None:
        transaction.commit()
        if random.random() < 0.1:
            raise disk_error(errno.EIO)

    with patch.object(Disk, "commit", commit):
        assert re.search("executed twice|a write that got an error is there|answered with another old", difference())


def test_a_queue_that_swallows_errors_of_the_disk_is_found() -> None:
    def swallow(ticket: Ticket[WriteBatch], _: BaseException | None) -> None:
        ticket.result = {}
        ticket.error = None
        ticket.fate = FAILED

    with patch.object(Ticket, "fail", swallow):
        assert re.search("an acknowledged (write|delete) is gone", difference())


def test_a_second_answer_is_found() -> None:
    answer = CallbackTicket.answer

    def answer_twice(ticket: CallbackTicket[WriteBatch]) -> None:
        answer(ticket)
        answer(ticket)

    with patch.object(CallbackTicket, "answer", answer_twice):
        assert "answered twice" in difference()


def test_an_answer_that_never_comes_is_found() -> None:
    with patch.object(CallbackTicket, "answer", lambda _: None):
        assert re.search(r"the tasks never end: .*loop \d \(answers\)", difference())


def test_the_scheduler_finds_a_deadlock() -> None:
    scheduler = Scheduler(Random(0))
    first, second = scheduler.Lock(), scheduler.Lock()

    def take(one: Lock, other: Lock) -> None:
        with one, other:
            pass

    for _ in range(20):
        scheduler.spawn("a", lambda: take(first, second))
        scheduler.spawn("b", lambda: take(second, first))
    with pytest.raises(Stuck, match="no task can go on: "):
        scheduler.run()
