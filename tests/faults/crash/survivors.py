"""Kills among processes that write to one folder at once: the survivors must go on.

Each writer notes when its write began, in a file that all of them map. A survivor whose write does not end is noticed.
"""

from __future__ import annotations

import mmap
import struct
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Final

import sortkey
from tests.faults.processes import Running

WRITERS: Final = 4
LONGEST_WAIT: Final = 1.0
"""Of a survivor's write, in seconds."""
BETWEEN_KILLS: Final = (0.0, 0.06)
NOTE: Final = struct.Struct("=qd")
"""How many writes have ended, and when the present one began."""
NOTES: Final = "notes"
POLL_SECONDS: Final = 0.002


@dataclass
class Survived:
    kills: int = 0
    writes: int = 0
    longest: float = 0.0
    """The longest write of a survivor, in seconds."""


def survive(
    seed: int, kills: int, longest: float = LONGEST_WAIT, show: Callable[[Survived], None] = lambda _: None
) -> Survived:
    """Raises AssertionError if the write of a survivor takes longer than `longest`."""
    with tempfile.TemporaryDirectory(prefix=f"sortkey-survivors-{seed}-") as folder:
        return _Crowd(Path(folder), seed, longest).run(kills, show)


def write_until_killed(folder: str, number: int, _: Connection) -> None:
    with _mapped(Path(folder)) as notes, sortkey.client(Path(folder) / "data") as client:
        ended = 0
        while True:
            NOTE.pack_into(notes, number * NOTE.size, ended, time.monotonic())
            client.put_item(TableName="crowd", Item={"id": {"S": f"{number}-{ended % 100}"}})
            ended += 1


def _mapped(folder: Path) -> mmap.mmap:
    with (folder / NOTES).open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


class _Crowd:
    def __init__(self, folder: Path, seed: int, longest: float) -> None:
        self._folder = folder
        self._random = Random(seed)
        self._limit = longest
        self._survived = Survived()
        (folder / NOTES).write_bytes(bytes(NOTE.size * WRITERS))
        self._notes = _mapped(folder)

    def run(self, kills: int, show: Callable[[Survived], None]) -> Survived:
        with sortkey.client(self._folder / "data") as client:
            client.create_table(
                TableName="crowd",
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )
        writers = {number: self._start(number) for number in range(WRITERS)}
        try:
            for _ in range(kills):
                self._watch_for(self._random.uniform(*BETWEEN_KILLS))
                killed = self._random.randrange(WRITERS)
                writers.pop(killed).kill()
                self._survived.kills += 1
                self._watch_until_each_has_written(but=killed)
                writers[killed] = self._start(killed)
                show(self._survived)
        finally:
            for writer in writers.values():
                writer.end()
            self._notes.close()
        return self._survived

    def _start(self, number: int) -> Running:
        self._survived.writes += self._note(number)[0]
        # Zero: it has not begun to write.
        NOTE.pack_into(self._notes, number * NOTE.size, 0, 0.0)
        return Running(write_until_killed, self._folder, number)

    def _note(self, number: int) -> tuple[int, float]:
        ended, began = NOTE.unpack_from(self._notes, number * NOTE.size)
        return ended, began

    def _watch_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._watch(range(WRITERS))

    def _watch_until_each_has_written(self, but: int) -> None:
        """Those that are still opening the folder need not."""
        survivors = [number for number in range(WRITERS) if number != but and self._note(number)[1]]
        before = [self._note(number)[0] for number in survivors]
        while any(self._note(number)[0] == ended for number, ended in zip(survivors, before, strict=True)):
            self._watch(survivors)

    def _watch(self, numbers: range | list[int]) -> None:
        now = time.monotonic()
        for number in numbers:
            _, began = self._note(number)
            if began:
                waits = now - began
                assert waits <= self._limit, f"after {self._survived.kills} kills, a write takes {waits:.1f} s"
                self._survived.longest = max(self._survived.longest, waits)
        time.sleep(POLL_SECONDS)
