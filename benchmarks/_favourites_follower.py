"""A process that counts favourites when it is told to: `python -m benchmarks._favourites_follower FOLDER LEASES`.

It prints `ready` when it follows so many shards, counts nothing before it has read a line, and then prints the number
of changes of each batch that it has counted, until its input ends.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import IO, NamedTuple

import sortkey as sk
from sortkey.engine.streams.stream_writer import reshard
from sortkey.http import process
from sortkey_services.favourites.model import FAVOURITES, Favourite, FavouriteCount
from sortkey_services.favourites.service import Settings


async def follow(folder: str, leases: int) -> None:
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    begun = asyncio.Event()
    async with sk.async_connect(folder, tables=[Favourite, FavouriteCount]) as session:
        counts = Settings().counts.aggregator(session)

        async def on_changes(changes: Sequence[sk.Change[Favourite]]) -> None:
            await begun.wait()
            await counts.on_changes(changes)
            say(str(len(changes)))

        feed = sk.feeds.ChangeFeed("favourite-counts", Favourite, on_changes)
        process.tune_interpreter()
        async with sk.feeds.Follower(session, [feed]) as follower:
            while follower.samples()['sortkey_change_feed_leases{feed="favourite-counts"}'] != leases:
                await asyncio.sleep(0.05)
            say("ready")
            await lines.readline()
            begun.set()
            await lines.read()


def say(line: str) -> None:
    """In one write: several processes have the same pipe."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


class Followers(NamedTuple):
    processes: list[subprocess.Popen[str]]
    lines: IO[str]
    """What all of them print."""

    def begin(self) -> None:
        for each in self.processes:
            assert each.stdin is not None
            each.stdin.write("begin\n")
            each.stdin.flush()


@contextmanager
def started(folder: Path, leases: int, processes: int) -> Iterator[Followers]:
    """Followers that have so many shards each."""
    command = [sys.executable, "-m", "benchmarks._favourites_follower", str(folder), str(leases)]
    reading, writing = os.pipe()
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writing, text=True) for _ in range(processes)]
    os.close(writing)
    try:
        with os.fdopen(reading) as lines:
            for _ in running:
                line = lines.readline()
                assert line == "ready\n", f"a follower has not started: {line!r}"
            yield Followers(running, lines)
            for each in running:
                # The end of its input ends it.
                each.communicate(timeout=60)
    finally:
        for each in running:
            each.kill()
            each.wait()


def counted_per_second(folder: Path, shards: int, processes: int, favourites: Sequence[Favourite]) -> float:
    """Changes counted per second, by all processes, of a backlog in a new folder."""
    with sk.connect(folder, tables=[Favourite, FavouriteCount]) as session:
        session.create_tables()
        assert session.client.database is not None
        reshard(session.client.database, FAVOURITES.name, shards)
        with started(folder, shards // processes, processes) as followers:
            session.batch(put=favourites)
            began = perf_counter()
            followers.begin()
            left = len(favourites)
            while left > 0:
                left -= int(followers.lines.readline())
            return len(favourites) / (perf_counter() - began)


if __name__ == "__main__":
    process.run(follow(sys.argv[1], int(sys.argv[2])))
