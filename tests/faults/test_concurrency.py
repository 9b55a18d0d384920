"""Many writers, in one process and in several: sums are exact, and no reader sees a half-done write."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import sortkey
from sortkey.engine.check.database_check import check
from tests.faults import bank, crowd
from tests.faults.processes import PROCESSES

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A bank on disk; it must be consistent after the test."""
    with sortkey.client(tmp_path) as client:
        bank.found(client)
    yield tmp_path
    assert check(tmp_path).problems == []


def verify(folder: Path, workers: int, tokens: list[str]) -> None:
    with sortkey.client(folder) as client:
        assert bank.counter(client) == workers * crowd.INCREMENTS
        assert bank.audit(client) == set(tokens)
        assert sorted(bank.streamed(client)) == sorted(tokens)


def test_eight_threads(folder: Path) -> None:
    names = [f"thread-{number}" for number in range(8)]
    with sortkey.client(folder) as client:
        tokens = crowd.crowd(client, names, readers=2)
    verify(folder, len(names), tokens)


def test_four_processes_of_two_threads_each(folder: Path) -> None:
    names = [[f"process-{process}-{thread}" for thread in range(2)] for process in range(4)]
    with ProcessPoolExecutor(len(names), PROCESSES) as processes:
        tokens = [token for made in processes.map(crowd.crowd_in_process, [str(folder)] * 4, names) for token in made]
    verify(folder, 8, tokens)


# A write that one process has answered must be visible in the next read of another.
def test_a_write_is_seen_by_another_process_at_once(folder: Path) -> None:
    with sortkey.client(folder) as client, ProcessPoolExecutor(1, PROCESSES) as processes:
        for expected in range(1, 20, 2):
            assert bank.increment(client) == expected
            assert processes.submit(crowd.increment_in_process, str(folder)).result() == expected + 1
            assert bank.counter(client) == expected + 1
