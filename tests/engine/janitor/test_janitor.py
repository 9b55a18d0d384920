"""The janitor's thread: when it works, how it stops, and what it does about errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.janitor.janitor import Janitor
from sortkey.engine.tables.core import Core, Settings
from tests.engine.orders import Orders, number

NEVER = 3600.0
LONG = 60.0


class Recorder:
    """A step that counts its runs; the first `errors` of them raise."""

    def __init__(self, errors: int = 0) -> None:
        self.runs = threading.Semaphore(0)
        self.errors = errors

    def __call__(self, _: Core) -> Iterator[None]:
        self.runs.release()
        if self.errors:
            self.errors -= 1
            raise RuntimeError("no room")
        yield

    def wait(self) -> bool:
        return self.runs.acquire(timeout=LONG)


@pytest.fixture
def core(clock: ManualClock) -> Iterator[Core]:
    core = Core(None, clock, Settings(sweep_seconds=NEVER))
    yield core
    core.store.close()


def janitor_with(core: Core, monkeypatch: pytest.MonkeyPatch, *steps: Recorder) -> Janitor:
    janitor = Janitor(core)
    monkeypatch.setattr(janitor, "_steps", steps)
    return janitor


def test_sweeps_when_started_and_again_when_woken(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Recorder()
    janitor = janitor_with(core, monkeypatch, step)
    janitor.start()
    assert step.wait()
    janitor.wake()
    assert step.wait()
    janitor.close()


def test_sweeps_at_every_tick(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    core = Core(None, clock, Settings(sweep_seconds=0.001))
    step = Recorder()
    janitor = janitor_with(core, monkeypatch, step)
    janitor.start()
    assert all(step.wait() for _ in range(3))
    janitor.close()
    core.store.close()


# A full disk, for example: it may have room again at the next sweep, and the error must be logged meanwhile.
def test_error_in_a_step_is_logged_and_neither_ends_the_thread_nor_the_other_steps(
    core: Core, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing, other = Recorder(errors=1), Recorder()
    janitor = janitor_with(core, monkeypatch, failing, other)
    janitor.start()
    assert failing.wait()
    assert other.wait()
    janitor.wake()
    assert failing.wait()
    assert other.wait()
    janitor.close()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "no room" in caplog.text


def test_sweep_by_hand_raises_what_goes_wrong(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="no room"):
        janitor_with(core, monkeypatch, Recorder(errors=1)).sweep()


# An index of a million rows must not keep expired items alive until it is filled.
def test_steps_take_turns_chunk_by_chunk(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def chunks(name: str, count: int) -> Iterator[None]:
        for _ in range(count):
            done.append(name)
            yield

    janitor = Janitor(core)
    monkeypatch.setattr(janitor, "_steps", (lambda _: chunks("long", 4), lambda _: chunks("short", 2)))
    janitor.sweep()
    assert done == ["long", "short", "long", "short", "long", "long"]


# Closing a database during a long backfill must not wait for its end.
def test_close_waits_for_the_chunk_but_not_for_the_rest(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    finished: list[int] = []

    def endless(_: Core) -> Iterator[None]:
        for chunk in range(1000):
            begun.set()
            assert go_on.wait(LONG)
            finished.append(chunk)
            yield

    janitor = Janitor(core)
    monkeypatch.setattr(janitor, "_steps", (endless,))
    janitor.start()
    assert begun.wait(LONG)
    closing = threading.Thread(target=janitor.close)
    closing.start()
    janitor._closing.wait(LONG)
    assert finished == []
    go_on.set()
    closing.join(LONG)
    assert finished == [0]


def test_close_without_start(core: Core) -> None:
    Janitor(core).close()


# The backfill of a new index and the removal of a dropped table must not wait for the next sweep.
def test_database_wakes_the_janitor_when_an_operation_leaves_work(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    orders = Orders(db)
    orders.put("a", total=number(1))
    monkeypatch.setattr(db.janitor, "wake", lambda: woken.append("woken"))
    orders.put("b", total=number(1))
    assert len(woken) == 0
    orders.add_index("total", "N")
    assert len(woken) == 1
    orders.expire_by("total")
    assert len(woken) == 2
    db.call("DeleteTable", {"TableName": orders.name})
    assert len(woken) == 3


# Each process has a janitor, so one may have just done what another is about to do.
def test_two_janitors_do_everything_once(db: Database, clock: ManualClock) -> None:
    orders = Orders(db, "KEYS_ONLY")
    for at in range(10):
        orders.put(f"order-{at}", total=number(at))
    orders.add_index("total", "N")
    orders.expire_by("total")
    both = [step(db) for janitor in (Janitor(db), Janitor(db)) for step in janitor._steps]
    for _ in range(20):
        for step in both:
            next(step, None)
    clock.advance(1)
    assert orders.index()["ItemCount"] == 10
