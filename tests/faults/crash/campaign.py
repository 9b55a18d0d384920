"""Kills: processes that write to a folder are killed at random moments, and each time the folder is examined."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

import sortkey
from sortkey.engine.check.database_check import check
from tests.faults import bank
from tests.faults.crash import endpoint, writer
from tests.faults.crash.acknowledged import Acknowledged
from tests.faults.processes import Running, killed, pause

KILLS_IN_A_FOLDER: Final = 25
"""A folder grows with each life, and so does the time that its examination takes."""
MOST_LINES: Final = 120


@dataclass
class Result:
    kills: int = 0
    lines: int = 0
    items: int = 0
    """Items that were examined, over all examinations."""
    ways: dict[str, int] = field(default_factory=dict)


class Campaign:
    def __init__(self, seed: int, show: Callable[[Result], None] = lambda _: None) -> None:
        self._seed = seed
        self._show = show
        self.result = Result()

    def run(self, kills: int) -> Result:
        for done in range(0, kills, KILLS_IN_A_FOLDER):
            seed = self._seed + done // KILLS_IN_A_FOLDER
            with _folder(seed) as folder:
                self._run_folder(folder, seed, min(kills - done, KILLS_IN_A_FOLDER))
        return self.result

    def _run_folder(self, folder: Path, seed: int, kills: int) -> None:
        acknowledged = Acknowledged()
        with sortkey.client(folder) as client:
            bank.found(client)
        for kill in range(kills):
            random = Random(f"{seed}/{kill}")
            way = random.choice(WAYS)
            # Some are killed while they open the folder, most while they write.
            lines = 0 if random.random() < 0.1 else random.randint(1, MOST_LINES)
            # Names of writers begin with the seed; a way may start two processes.
            for said in way(folder, (seed * KILLS_IN_A_FOLDER + kill) * 2, lines):
                acknowledged.take(said)
            self.result.items += examine(folder, acknowledged)
            self.result.kills += 1
            self.result.ways[way.__name__] = self.result.ways.get(way.__name__, 0) + 1
            self._show(self.result)
        self.result.lines += acknowledged.lines
        _examine_settled(folder, acknowledged)


def embedded(folder: Path, seed: int, lines: int) -> list[list[str]]:
    """A process with the engine in it."""
    return [killed(writer.main, folder, seed, lines)]


def over_http(folder: Path, seed: int, lines: int) -> list[list[str]]:
    """`sortkey db` is killed, while another process writes to it."""
    server = Running(endpoint.serve, folder, seed)
    if lines == 0:
        pause(seed, lines)
        server.kill()
        return []
    (ready,) = server.read(1)
    client = Running(writer.main, ready.split()[1], seed)
    before = client.read(lines)
    pause(seed, lines)
    server.kill()
    # What the client says now was answered before the kill, or is about the server that it lost.
    after = client.end()[len(before) :]
    return [before + [line for line in after if not line.startswith("failed ")]]


def two_processes(folder: Path, seed: int, lines: int) -> list[list[str]]:
    """Two processes on one folder. When one is killed, the other must go on, even if the first held the lock."""
    first, second = Running(writer.main, folder, seed), Running(writer.main, folder, seed + 1)
    first.read(lines // 2)
    pause(seed, lines)
    said = first.kill()
    second.read_more(max(1, lines // 2))
    pause(seed + 1, lines)
    return [said, second.kill()]


WAYS: Final = (embedded, embedded, over_http, over_http, two_processes)


@contextmanager
def _folder(seed: int) -> Iterator[Path]:
    """A new folder, which is kept if something is wrong with it."""
    parent = Path(tempfile.mkdtemp(prefix=f"sortkey-crash-{seed}-"))
    try:
        yield parent / "data"
    except Exception as error:
        error.add_note(f"The folder is kept: {parent}")
        error.add_note(f"The same writes, killed at other moments: make crash N={KILLS_IN_A_FOLDER} SEED={seed}")
        raise
    shutil.rmtree(parent)


def examine(folder: Path, acknowledged: Acknowledged) -> int:
    """Compare the folder with what was acknowledged; returns the number of its items."""
    report = check(folder)
    assert report.problems == [], report.problems
    with sortkey.client(folder) as client:
        assert client.database is not None
        # The table must stand still while it is compared with its stream.
        client.database.janitor.close()
        acknowledged.verify(client)
    return report.items


def _examine_settled(folder: Path, acknowledged: Acknowledged) -> None:
    """The same after the janitor has finished its work: indexes are filled, and expired items are gone."""
    with sortkey.client(folder) as client:
        assert client.database is not None
        client.database.janitor.close()
        client.database.janitor.sweep()
        indexes = client.describe_table(TableName="slots")["Table"]["GlobalSecondaryIndexes"]
        assert {index["IndexStatus"] for index in indexes} == {"ACTIVE"}
        assert list(bank.rows(client, "fleeting")) == []
        acknowledged.verify(client)
        acknowledged.verify_ledger(client)
    assert check(folder).problems == []
