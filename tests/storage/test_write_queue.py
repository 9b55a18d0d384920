"""Group commit: what is shared, what is kept apart, and what is promised to each caller."""

from __future__ import annotations

import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from sortkey.storage import QueueClosed, Store
from sortkey.storage.write_queue import BATCH_BYTES, BATCH_TICKETS, CallbackTicket
from tests.storage.byte_store import (
    LIMIT_SECONDS,
    ByteBatch,
    ByteStore,
    Caller,
    SlowLeader,
    increment,
    open_store,
    put,
    read,
    wait_until,
)


def reject(_: ByteBatch) -> None:
    raise LookupError("rejected before writing")


def tear(batch: ByteBatch) -> None:
    batch.put(b"torn", b"must not stay")
    raise ZeroDivisionError("raised after writing")


def test_a_write_is_there_when_it_returns(store: ByteStore) -> None:
    assert store.write(increment(b"n")) == 1
    assert read(store, b"n") == b"1"


# Sixty-four connections must pay for one sync, not for sixty-four.
def test_work_that_waits_behind_a_leader_shares_one_commit(store: ByteStore) -> None:
    leader = SlowLeader(store)
    callers = leader.line_up(*(increment(b"n") for _ in range(16)))
    before = store.queue.commits
    leader.release()
    # They ran in the order in which they came.
    assert [caller.wait() for caller in callers] == list(range(1, 17))
    assert store.queue.commits == before + 2  # the leader's, and one for all sixteen


# As work that was submitted alone, each is kept or given up by itself.
def test_work_that_is_submitted_together_has_its_own_end(store: ByteStore) -> None:
    ends: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    before = store.queue.commits
    store.queue.submit_all([increment(b"n"), reject, increment(b"n")], lambda *end: ends.put(end))
    (_, first, _), (place, nothing, error), (_, last, _) = (ends.get(timeout=LIMIT_SECONDS) for _ in range(3))
    assert (first, place, nothing, last) == (1, 1, None, 2)
    assert isinstance(error, LookupError)
    assert store.queue.commits == before + 1


# A false condition is common: it must cost the others nothing.
def test_work_that_raises_before_writing_does_not_affect_others(store: ByteStore) -> None:
    leader = SlowLeader(store)
    first, rejected, second = leader.line_up(increment(b"n"), reject, increment(b"n"))
    before = store.queue.commits
    leader.release()
    with pytest.raises(LookupError):
        rejected.wait()
    assert (first.wait(), second.wait()) == (1, 2)
    assert store.queue.commits == before + 2


def test_work_that_raises_after_writing_is_undone_and_the_others_happen_once(store: ByteStore) -> None:
    leader = SlowLeader(store)
    first, torn, second = leader.line_up(increment(b"n"), tear, increment(b"n"))
    leader.release()
    with pytest.raises(ZeroDivisionError):
        torn.wait()
    assert (first.wait(), second.wait()) == (1, 2)
    assert read(store, b"n") == b"2"
    assert read(store, b"torn") is None


# Work that fails in the shared transaction but succeeds by itself must not get the error.
def test_an_error_of_an_aborted_transaction_is_forgotten(store: ByteStore) -> None:
    def insist(batch: ByteBatch) -> str:
        if batch.get(b"torn") is not None:
            raise LookupError("saw what was undone later")
        return "fine"

    leader = SlowLeader(store)
    torn, insisting = leader.line_up(tear, insist)
    leader.release()
    with pytest.raises(ZeroDivisionError):
        torn.wait()
    assert insisting.wait() == "fine"


# A batch that cannot be finished fails all of its work; none may be answered as written.
def test_a_batch_that_cannot_finish_fails_all_of_its_work() -> None:
    class Unfinished(ByteBatch):
        def finish(self) -> None:
            if self.writes:
                raise OverflowError

    store = Store(None, Unfinished)
    with pytest.raises(OverflowError):
        store.write(lambda batch: batch.put(b"k", b"v"))
    assert store.write(lambda batch: batch.get(b"k")) is None
    store.close()


# A committed write is durable, whatever errors follow.
def test_what_follows_the_commit_cannot_fail_the_write(caplog: pytest.LogCaptureFixture) -> None:
    class Clumsy(ByteBatch):
        def committed(self) -> None:
            raise OSError("the listener is gone")

    store = Store(None, Clumsy)
    store.write(lambda batch: batch.put(b"k", b"v"))
    assert store.write(lambda batch: batch.get(b"k")) == b"v"
    assert "the listener is gone" in caplog.text
    store.close()


def test_a_submitted_write_is_durable_when_its_callback_is_called(store: ByteStore) -> None:
    seen: SimpleQueue[tuple[Any, BaseException | None, bytes | None, str]] = SimpleQueue()

    def done(result: Any, error: BaseException | None) -> None:
        seen.put((result, error, read(store, b"n"), threading.current_thread().name))

    store.submit(increment(b"n"), done)
    result, error, stored, thread = seen.get(timeout=30)
    assert (result, error, stored) == (1, None, b"1")
    assert thread != threading.current_thread().name


def test_a_submitted_write_hands_its_error_to_the_callback(store: ByteStore) -> None:
    errors: SimpleQueue[BaseException | None] = SimpleQueue()
    store.submit(reject, lambda _, error: errors.put(error))
    assert isinstance(errors.get(timeout=30), LookupError)


# A callback may raise (its event loop was closed meanwhile), but the leader has other callers to answer.
def test_a_callback_that_raises_does_not_affect_others(store: ByteStore, caplog: pytest.LogCaptureFixture) -> None:
    results: SimpleQueue[Any] = SimpleQueue()

    def clumsy(_: Any, __: BaseException | None) -> None:
        raise OSError("the loop is gone")

    leader = SlowLeader(store)
    store.submit(increment(b"n"), clumsy)
    store.submit(increment(b"n"), lambda result, _: results.put(result))
    (writer,) = leader.line_up(increment(b"n"))
    leader.release()
    assert results.get(timeout=30) == 2
    assert writer.wait() == 3
    wait_until(lambda: len(store.queue) == 0)
    assert "the loop is gone" in caplog.text


# An event loop calls this: not even the first call, which starts the thread, may wait for the disk.
def test_submit_does_not_wait_for_the_leader(store: ByteStore) -> None:
    results: SimpleQueue[Any] = SimpleQueue()
    leader = SlowLeader(store)
    store.submit(increment(b"n"), lambda result, _: results.put(result))
    assert read(store, b"n") is None
    leader.release()
    assert results.get(timeout=30) == 1


def test_reads_do_not_wait_for_the_writer(store: ByteStore) -> None:
    store.write(put(b"k", b"old"))
    leader = SlowLeader(store)
    assert read(store, b"k") == b"old"
    assert read(store, b"slow leader") is None
    leader.release()


def test_an_interrupted_leader_does_not_take_the_others_along(store: ByteStore) -> None:
    def interrupted(_: ByteBatch) -> None:
        raise KeyboardInterrupt

    leader = SlowLeader(store)
    callers = leader.line_up(increment(b"n"), interrupted, increment(b"n"))
    leader.release()
    ends = []
    for caller in callers:
        try:
            ends.append(caller.wait())
        except KeyboardInterrupt:
            ends.append(None)
    # The leader was interrupted and its own work withdrawn; all other work was done, once.
    done = [end for end in ends if end is not None]
    assert read(store, b"n") == (b"%d" % len(done) if done else None)
    assert store.write(increment(b"n")) == len(done) + 1


def test_close_finishes_what_waits_and_then_rejects() -> None:
    store = open_store()
    answers: SimpleQueue[Any] = SimpleQueue()
    leader = SlowLeader(store)
    callers = leader.line_up(increment(b"n"), increment(b"n"))
    store.submit(increment(b"n"), lambda result, _: answers.put(result))
    closing = Caller(store.queue.close)
    wait_until(lambda: _rejects(store))
    assert closing.is_alive()
    leader.release()
    closing.wait()
    assert [caller.wait() for caller in callers] == [1, 2]
    assert answers.get(timeout=30) == 3
    with pytest.raises(QueueClosed):
        store.submit(increment(b"n"), lambda _, __: None)
    assert read(store, b"n") == b"3"
    store.close()


def _rejects(store: ByteStore) -> bool:
    leader_is_slow = len(store.queue)
    try:
        store.submit(reject, lambda _, __: None)
    except QueueClosed:
        return True
    assert leader_is_slow
    return False


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(put(b"k"))
    store.close()
    store.close()


# Every thread gets each of its numbers once: nothing is lost, doubled or answered wrongly under a crowd.
def test_a_crowd_of_writers_counts_right(store: ByteStore) -> None:
    answers: SimpleQueue[Any] = SimpleQueue()

    def many() -> list[int]:
        for _ in range(50):
            store.submit(increment(b"n"), lambda result, _: answers.put(result))
        return [store.write(increment(b"n")) for _ in range(50)]

    crowd = [Caller(many) for _ in range(8)]
    numbers = [number for caller in crowd for number in caller.wait()]
    numbers += [answers.get(timeout=30) for _ in range(400)]
    assert sorted(numbers) == list(range(1, 801))


# The endpoint asks how long a commit would block its event loop.
def test_the_queue_knows_how_long_commits_wait(store: ByteStore) -> None:
    assert store.queue.commit_seconds == 0
    store.write(put(b"k"))
    assert store.queue.commit_seconds > 0


def test_a_leader_commits_what_waits(store: ByteStore) -> None:
    results: list[Any] = []
    store.queue.enqueue(CallbackTicket(increment(b"n"), lambda result, _: results.append(result)))
    store.queue.enqueue(CallbackTicket(increment(b"n"), lambda result, _: results.append(result)))
    assert read(store, b"n") is None
    assert store.queue.lead()
    assert results == [1, 2]
    assert read(store, b"n") == b"2"


def test_there_is_only_one_leader(store: ByteStore) -> None:
    results: SimpleQueue[Any] = SimpleQueue()
    leader = SlowLeader(store)
    store.queue.enqueue(CallbackTicket(increment(b"n"), lambda result, _: results.put(result)))
    assert not store.queue.lead()
    store.queue.summon()
    leader.release()
    assert results.get(timeout=30) == 1


# A hundred batches of ten megabytes in one commit would hold everybody else's answers for seconds.
def test_a_commit_takes_only_so_many_bytes(store: ByteStore) -> None:
    results: list[Any] = []
    for number in range(5):
        work = put(b"%d" % number, bytes(BATCH_BYTES // 2 + 1))
        store.queue.enqueue(CallbackTicket(work, lambda result, error: results.append((result, error))))
    for committed in (2, 4, 5):
        assert store.queue.lead()
        assert results == [(None, None)] * committed
    assert store.queue.commits == 3
    assert len(store.queue) == 0


# A condition on an item of 400 KB that is false writes nothing, but takes its time.
def test_what_is_read_counts_too(store: ByteStore) -> None:
    store.write(put(b"large", bytes(BATCH_BYTES // 2 + 1)))
    results: list[Any] = []
    for _ in range(3):
        store.queue.enqueue(
            CallbackTicket(lambda batch: len(batch.get(b"large") or b""), lambda result, _: results.append(result))
        )
    assert store.queue.lead()
    assert len(results) == 2
    assert store.queue.lead()
    assert len(results) == 3


def test_a_commit_takes_only_so_many_tickets(store: ByteStore) -> None:
    results: list[Any] = []
    for _ in range(BATCH_TICKETS + 1):
        store.queue.enqueue(CallbackTicket(increment(b"n"), lambda result, _: results.append(result)))
    assert store.queue.lead()
    assert results == list(range(1, BATCH_TICKETS + 1))
    assert store.queue.lead()
    assert results[-1] == BATCH_TICKETS + 1


# A caller that waits behind much work is answered by the same leader, and so is all that is submitted.
def test_what_a_commit_leaves_is_committed_by_the_next(store: ByteStore) -> None:
    large = bytes(BATCH_BYTES)
    answers: SimpleQueue[Any] = SimpleQueue()
    leader = SlowLeader(store)
    for number in range(3):
        store.submit(put(b"%d" % number, large), lambda _, error: answers.put(error))
    last = leader.line_up(put(b"last"))
    leader.release()
    last[0].wait()
    assert [answers.get(timeout=30) for _ in range(3)] == [None] * 3
    assert read(store, b"last") == b""


# Only the work of the failed transaction runs again; what it had not taken waits for the next.
def test_a_failed_commit_leaves_the_rest_alone(store: ByteStore) -> None:
    errors: list[Any] = []

    def faulty(batch: ByteBatch) -> None:
        batch.put(b"faulty", bytes(BATCH_BYTES + 1))
        raise ZeroDivisionError

    for work in (put(b"first"), faulty, put(b"second")):
        store.queue.enqueue(CallbackTicket(work, lambda _, error: errors.append(type(error))))
    assert store.queue.lead()
    assert errors == [type(None), ZeroDivisionError]
    assert store.queue.lead()
    assert errors == [type(None), ZeroDivisionError, type(None)]
    assert read(store, b"faulty") is None
