"""`sortkey follow` runs timers; when a worker is killed while it handles one, another worker does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sortkey as sk
from tests.feeds.changes.follow_process import FollowProcess
from tests.feeds.timers.reminder_service import Release, Sent
from tests.patterns.schedules.reminders import REMINDERS, Reminder

# Each process imports everything anew, and leases have to expire.
pytestmark = pytest.mark.slow

Start = Callable[[], FollowProcess]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sk.Session]:
    with sk.connect(tmp_path / "data", tables=[REMINDERS, Sent, Release]) as session:
        session.create_tables()
        yield session


@pytest.fixture
def start(tmp_path: Path, db: sk.Session) -> Iterator[Start]:  # noqa: ARG001 - the tables are there before
    started: list[FollowProcess] = []

    def start_one() -> FollowProcess:
        module = "tests.feeds.timers.reminder_service"
        started.append(FollowProcess(module, "reminders", tmp_path / "data", "--lease", "2"))
        return started[-1]

    yield start_one
    for each in started:
        each.kill()


def sent(db: sk.Session, number: int) -> Sent:
    """What was done of a reminder."""
    return db.get(Sent.key(user="ana", number=number), consistent=True) or Sent(user="ana", number=number)


def metric(worker: FollowProcess, name: str) -> float:
    lines = worker.get("/metrics").splitlines()
    (line,) = (line for line in lines if line.startswith(f'sortkey_timers_{name}{{schedule="served-reminders"}}'))
    return float(line.split()[1])


def test_another_worker_takes_over_what_a_killed_one_had_begun(db: sk.Session, start: Start) -> None:
    first, second = start(), start()
    db.put(Reminder(user="ana", number=1, at=datetime.now(UTC) - timedelta(days=2)))
    first.wait_until(lambda: sent(db, 1).begun > 0)
    key = sent(db, 1).key_given
    busy, other = (first, second) if metric(first, "running") else (second, first)
    assert metric(busy, "running") == 1
    busy.kill()
    # Nothing was done yet; from now on calls end.
    assert sent(db, 1).done == 0
    db.put(Release(name="all"))
    # Once at least: the change may come again, because the killed one has not saved that it had it.
    other.wait_until(lambda: sent(db, 1).done > 0)
    assert (sent(db, 1).begun > 1, sent(db, 1).key_given) == (True, key)
    assert metric(other, "takeovers_total") > 0
    db.put(Reminder(user="ana", number=2, at=datetime.now(UTC)))
    other.wait_until(lambda: sent(db, 2).done > 0)
    other.stop()
