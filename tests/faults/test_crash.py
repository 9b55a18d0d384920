"""After a kill at any moment, the engine has all that it acknowledged, and nothing in part."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import sortkey
from sortkey.client import Client
from sortkey.engine.check.database_check import check
from tests.faults import bank, crash_writer
from tests.faults.crash_writer import WRITERS, state_after
from tests.faults.processes import killed

ROUNDS = 100
pytestmark = pytest.mark.slow


class Acknowledged:
    """What was acknowledged to writers, over all rounds so far."""

    def __init__(self) -> None:
        self.rounds = 0
        self.lines = 0
        self._tokens: set[str] = set()
        self._increments = 0
        self._counter = 0
        self._steps: dict[str, int] = {}
        self._settled: dict[str, object] = {}

    def take(self, lines: list[str]) -> None:
        self.rounds += 1
        self.lines += len(lines)
        for line in lines:
            event, *words = line.split()
            if event == "transfer":
                self._tokens.add(words[0])
            elif event == "count":
                self._increments += 1
                self._counter = max(self._counter, int(words[0]))
            elif event == "slot":
                self._steps[words[0]] = int(words[1])
            else:
                raise AssertionError(line)

    def verify(self, client: Client) -> None:
        assert self._tokens <= bank.audit(client), "an acknowledged transfer is gone"
        self._verify_counter(bank.counter(client))
        for index in ({}, {"IndexName": "by-kind"}):
            self._verify_slots({str(row["id"]): row for row in bank.rows(client, "slots", **index)})

    def _verify_counter(self, value: int) -> None:
        assert value >= self._counter, "an acknowledged increment is gone"
        # Each writer may have made one increment that it was killed before reporting.
        assert self._increments <= value <= self._increments + self.rounds * WRITERS

    def _verify_slots(self, stored: dict[str, dict[str, str | int]]) -> None:
        for slot, step in self._steps.items():
            state = stored.get(slot)
            # The step after the last acknowledged one may have been committed before its writer was killed.
            assert state in (state_after(slot, step), state_after(slot, step + 1)), (slot, step)
            # Its writer is gone: the state after the crash stays.
            assert self._settled.setdefault(slot, state) == state


def test_every_acknowledged_write_survives_every_kill(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with sortkey.client(folder) as client:
        bank.found(client)
    acknowledged = Acknowledged()
    for seed in range(ROUNDS):
        # Some are killed while they open the folder, most while they write.
        lines = 0 if seed % 10 == 0 else Random(seed).randint(1, 120)
        acknowledged.take(killed(crash_writer.main, folder, seed, after_lines=lines))
        with sortkey.client(folder) as client:
            acknowledged.verify(client)
        assert check(folder).problems == []
    assert acknowledged.lines > 20 * ROUNDS
    with sortkey.client(folder) as client:
        # A stream record commits with its item: none is missing, none is there twice.
        assert sorted(bank.streamed(client)) == sorted(bank.audit(client))
