"""The processes of a midnight: readers, and processors that are killed at random."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from random import Random
from threading import Thread
from typing import Final

import msgspec

from tests.faults.midnight.prices import Midnight
from tests.faults.midnight.reader import Tally
from tests.feeds.changes.follow_process import ROOT, FollowProcess

LOOK_SECONDS: Final = 0.02
LATEST_KILL_SECONDS: Final = 0.4
"""A kill must be able to hit every moment of a transition."""


class ReaderProcess:
    def __init__(self, store: str, midnight: Midnight, seed: int) -> None:
        self.tally = Tally()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.midnight.reader", store, msgspec.json.encode(midnight), str(seed)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.tally = msgspec.json.decode(line, type=Tally)

    def stop(self) -> Tally:
        """Let it end, and wait for its last line."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        status = self._process.wait()
        self._thread.join()
        assert status == 0, f"a reader ended with status {status}"
        return self.tally

    def kill(self) -> None:
        """Unless it has ended."""
        self._process.kill()
        self._process.wait()
        self._thread.join()
        if self._process.stdin is not None:
            self._process.stdin.close()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None


class Readers:
    def __init__(self, store: str, midnight: Midnight, count: int, seed: int) -> None:
        self._running = [ReaderProcess(store, midnight, seed + number) for number in range(count)]

    async def read(self, count: int, *, after: bool) -> None:
        """Wait until each of them has made so many further reads, of those that began after midnight if `after`."""

        def made(reader: ReaderProcess) -> int:
            return reader.tally.reads_after if after else reader.tally.reads

        wanted = [(reader, made(reader) + count) for reader in self._running]
        while any(made(reader) < reads for reader, reads in wanted):
            assert not any(reader.has_ended for reader in self._running), "a reader has ended"
            await asyncio.sleep(LOOK_SECONDS)  # another process tells by lines only

    def stop(self) -> list[Tally]:
        return [reader.stop() for reader in self._running]

    def kill(self) -> None:
        for reader in self._running:
            reader.kill()


class Processors:
    """`sortkey follow pricing`, as often as they are started."""

    def __init__(self, store: str, lease_seconds: float, draw: Random) -> None:
        self.kills = 0
        self._store = store
        self._lease = str(lease_seconds)
        self._draw = draw
        self._running: list[FollowProcess] = []

    async def start(self) -> None:
        made = await asyncio.to_thread(FollowProcess, "sortkey", "pricing", self._store, "--lease", self._lease)
        self._running.append(made)

    async def kill_one(self) -> None:
        """At any moment of its work; another is started in its place."""
        await asyncio.sleep(self._draw.random() * LATEST_KILL_SECONDS)
        victim = self._running.pop(self._draw.randrange(len(self._running)))
        victim.kill()
        self.kills += 1
        await self.start()

    def stop(self) -> None:
        while self._running:
            self._running.pop().stop()

    def kill(self) -> None:
        """What a failed campaign leaves behind."""
        for each in self._running:
            each.kill()
