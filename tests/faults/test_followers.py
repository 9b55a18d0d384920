"""Followers that are killed and frozen: every change is handled, and a thawed follower does no harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.engine.streams.stream_writer import reshard
from sortkey.feeds.shards.leases import ShardLease
from tests.feeds.changes.follow_process import FollowProcess
from tests.server.notes import NOTES, Copy, Note
from tests.wire.serving import ServerProcess

# Each process imports everything anew, and leases have to expire.
pytestmark = pytest.mark.slow

SHARDS = 6
COUNT = 300
LEASE = "6"
"""Seconds: a follower that a busy machine stops for less keeps its leases."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[sk.Session]:
    """The table of notes, with several shards."""
    with sk.connect(tmp_path / "data", tables=[NOTES, Copy]) as db:
        db.create_tables()
        database = db.client.database
        assert database is not None
        reshard(database, NOTES.name, SHARDS)
        yield db


@pytest.fixture(params=["folder", "endpoint"])
def store(
    folder: sk.Session,  # noqa: ARG001 - the table is there before the followers
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[str]:
    """What the followers open: the folder, or an endpoint that serves it."""
    if request.param == "folder":
        yield str(tmp_path / "data")
        return
    server = ServerProcess("--data", tmp_path / "data")
    yield server.url
    server.kill()


class Followers:
    def __init__(self, store: str) -> None:
        self._store = store
        self.all: list[FollowProcess] = []

    def start(self) -> FollowProcess:
        self.all.append(FollowProcess("tests.server.main", "notes", self._store, "--lease", LEASE))
        return self.all[-1]


@pytest.fixture
def followers(store: str) -> Iterator[Followers]:
    started = Followers(store)
    yield started
    for follower in started.all:
        follower.kill()


def write(db: sk.Session, text: str) -> None:
    for number in range(COUNT):
        db.put(Note(shelf=str(number % 7), name=str(number), text=text))


def copies(db: sk.Session) -> set[str]:
    """The texts that the copies have, if there is one of each note."""
    found = [copy.text for copy in db.scan(Copy)]
    return set(found) if len(found) == COUNT else set()


def owners(db: sk.Session) -> set[str]:
    leases = db.iterate(ShardLease.key(feed="note-copies"), consistent=True)
    return {lease.owner for lease in leases if not lease.has_ended}


def taken_over(*followers: FollowProcess) -> float:
    return sum(each.sample("takeovers_total") for each in followers)


def test_one_is_killed_and_one_is_frozen_and_thawed(folder: sk.Session, followers: Followers) -> None:
    write(folder, "first")
    one, two, three = (followers.start() for _ in range(3))
    for each in (one, two, three):
        each.wait_until(lambda each=each: each.sample("leases") == SHARDS / 3)  # type: ignore[misc]
    write(folder, "second")
    before = taken_over(two, three)
    one.kill()
    write(folder, "third")
    # Those of the killed one come to the other two.
    two.wait_until(lambda: two.sample("leases") == three.sample("leases") == SHARDS / 2)
    two.wait_until(lambda: copies(folder) == {"third"})
    assert taken_over(two, three) - before == SHARDS / 3

    lost = two.sample("lost_leases_total")
    two.freeze()
    write(folder, "fourth")
    three.wait_until(lambda: three.sample("leases") == SHARDS)
    three.wait_until(lambda: copies(folder) == {"fourth"})
    two.thaw()
    # It notices that it has lost its leases, and asks for its share.
    two.wait_until(lambda: two.sample("lost_leases_total") - lost == SHARDS / 2)
    two.wait_until(lambda: two.sample("leases") == three.sample("leases") == SHARDS / 2)
    write(folder, "fifth")
    three.wait_until(lambda: copies(folder) == {"fifth"})
    two.stop()
    three.wait_until(lambda: three.sample("leases") == SHARDS)
    three.stop()
    assert owners(folder) == {""}


# Whenever it is killed, the next one finds what was not handled.
def test_killed_again_and_again(folder: sk.Session, followers: Followers) -> None:
    for turn in range(4):
        follower = followers.start()
        write(folder, str(turn))
        follower.kill()
    last = followers.start()
    last.wait_until(lambda: copies(folder) == {"3"})
    last.stop()
