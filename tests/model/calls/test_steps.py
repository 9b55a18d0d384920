"""Retries, deadlines and cancellation, with a clock and a random generator of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.model.calls.steps import THROTTLED, Call, Pacing, ParallelCalls, Pause, Steps, together
from sortkey.model.sessions.runners import Runner
from tests.model.sessions.shop import SHOP, Order, order

Answer = dict[str, Any]
Patch = pytest.MonkeyPatch


def error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "later"}}, "X")


class Slept:
    """A session whose sleeping only moves a clock."""

    def __init__(self, db: sk.Session, timeout: float | None = 30.0) -> None:
        clock = ManualClock()
        pacing = Pacing(clock.now, lambda: 1.0)
        self.pauses: list[float] = []
        self.db = sk.Session(Runner(db.client, replace(db._context, pacing=pacing), timeout, self._sleep), (SHOP,))
        self._clock = clock

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self._clock.advance(seconds)


def reject(monkeypatch: Patch, db: sk.Session, codes: list[str]) -> None:
    """The client raises errors with these codes, then works."""

    def rejecting(call: Callable[..., Answer]) -> Callable[..., Answer]:
        def reject_first(*arguments: Any) -> Answer:
            if codes:
                raise error(codes.pop(0))
            return call(*arguments)

        return reject_first

    for name in ("_call", "_call_unparsed", "get_unparsed"):
        monkeypatch.setattr(db.client, name, rejecting(getattr(db.client, name)))
    look_up_by_requests(monkeypatch, db)


def look_up_by_requests(monkeypatch: Patch, db: sk.Session) -> None:
    """Turn off the fast path of lookups."""
    monkeypatch.setattr(db.client, "lookup_unparsed", lambda *_: None)


@pytest.mark.parametrize("code", sorted(THROTTLED))
def test_throttling_is_waited_out(memory: sk.Session, monkeypatch: Patch, code: str) -> None:
    memory.put(order(1))
    slept = Slept(memory)
    reject(monkeypatch, memory, [code] * 3)
    assert slept.db.get(order(1).key) == order(1)
    assert slept.pauses == [0.05, 0.1, 0.2]


# Random pauses spread retries, so that clients do not all retry at once.
def test_pauses_are_anything_up_to_their_limit() -> None:
    assert Pacing(chance=lambda: 0.5).pause(1) == Pause(0.05)
    assert Pacing(chance=lambda: 1.0).pause(50) == Pause(5.0)


def test_other_errors_come_as_they_are(memory: sk.Session, monkeypatch: Patch) -> None:
    slept = Slept(memory)
    reject(monkeypatch, memory, ["ValidationException"])
    with pytest.raises(ClientError, match="ValidationException"):
        slept.db.get(order(1).key)
    assert slept.pauses == []


CALLS: dict[str, Callable[[sk.Session], object]] = {
    "get": lambda db: db.get(order(1).key),
    "lookup": lambda db: db.lookup(Order.key, [{"customer": "ada", "number": 1}]),
    "batch": lambda db: db.batch(put=[order(1)]),
    "page": lambda db: db.page(Order.key(customer="ada")),
    "update": lambda db: db.update(order(1).key, {"city": "Rome"}),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_end_at_their_timeout(
    memory: sk.Session, monkeypatch: Patch, call: Callable[[sk.Session], object]
) -> None:
    slept = Slept(memory, timeout=1.0)
    reject(monkeypatch, memory, ["ThrottlingException"] * 100)
    with pytest.raises(sk.DeadlineExceeded, match="within 1 s"):
        call(slept.db)
    assert sum(slept.pauses) <= 1.0
    with pytest.raises(TimeoutError):
        call(slept.db.within(0.01))


# A batch may be answered in part; only the rest is requested again.
def test_unprocessed_keys_are_requested_again(memory: sk.Session, monkeypatch: Patch) -> None:
    memory.batch(put=[order(number) for number in range(10)])
    call = memory.client._call_unparsed
    asked = []

    def partial(operation: str, members: dict[str, Any], _binary: bool) -> Answer:
        keys = members["RequestItems"]["shop"]["Keys"]
        asked.append(len(keys))
        answer = call(operation, {"RequestItems": {"shop": {"Keys": keys[:4]}}})
        return {**answer, "UnprocessedKeys": {"shop": {"Keys": keys[4:]}} if keys[4:] else {}}

    monkeypatch.setattr(memory.client, "_call_unparsed", partial)
    look_up_by_requests(monkeypatch, memory)
    slept = Slept(memory)
    found = slept.db.lookup(Order.key, [{"customer": "ada", "number": number} for number in range(10)])
    assert found == [order(number) for number in range(10)]
    assert asked == [10, 6, 2]
    assert slept.pauses == [0.05, 0.05]


def test_unprocessed_items_are_written_again(memory: sk.Session, monkeypatch: Patch) -> None:
    call = memory.client._call

    def partial(operation: str, members: dict[str, Any]) -> Answer:
        if operation != "BatchWriteItem":
            return call(operation, members)
        writes = members["RequestItems"]["shop"]
        call(operation, {"RequestItems": {"shop": writes[:7]}})
        return {"UnprocessedItems": {"shop": writes[7:]} if writes[7:] else {}}

    monkeypatch.setattr(memory.client, "_call", partial)
    slept = Slept(memory)
    slept.db.batch(put=[order(number) for number in range(60)])
    assert memory.count(Order.key(customer="ada")) == 60


# With an endpoint that never answers, a call ends at its timeout, and a cancelled one closes its connection.
def test_a_silent_endpoint() -> None:
    async def session() -> None:
        connected = asyncio.Event()
        hung_up = asyncio.Event()

        serving: list[asyncio.Task[Any] | None] = []

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving.append(asyncio.current_task())
            connected.set()
            while await reader.read(65536):
                pass
            hung_up.set()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with sk.async_connect(f"http://127.0.0.1:{port}?store=sortkey", tables=[SHOP]) as db:
            asking = asyncio.ensure_future(db.within(None).get(order(1).key))
            await connected.wait()
            asking.cancel()
            await hung_up.wait()
            with pytest.raises(sk.DeadlineExceeded):
                await db.within(0.1).get(order(1).key)
        server.close()
        await asyncio.gather(*(task for task in serving if task is not None))
        await server.wait_closed()

    asyncio.run(session())


# Cancelling a call leaves a session that works, and its writes whole.
def test_cancelling_is_safe(store: str) -> None:
    async def session() -> None:
        async with sk.async_connect(store, tables=[SHOP]) as db:
            await db.create_tables()
            tasks = [asyncio.ensure_future(db.put(order(number, notes=["x"]))) for number in range(20)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(each is True for each in done[1::2])
            found = [item async for item in db.iterate(Order.key(customer="ada"), consistent=True)]
            assert {item.number for item in found} >= set(range(1, 20, 2))
            assert all(item.notes == ["x"] for item in found)

    asyncio.run(session())


# The store's own message names neither the table nor what to do.
def test_a_missing_table_is_named_with_the_remedy() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db, pytest.raises(ClientError) as caught:
        db.put(order(1))
    assert caught.value.__notes__ == [f"There is no table {SHOP.name!r}; db.create_tables() creates it."]


def sending(*steps: Call | Pause) -> Steps[list[Any]]:
    """A call of these steps; what it got for each request."""
    got: list[Any] = []
    for step in steps:
        try:
            answer = yield step
        except ClientError as failed:
            answer = failed.response["Error"]["Code"]
        if type(step) is Call:
            got.append(answer)
    return got


def get(number: int) -> Call:
    return Call("GetItem", {"number": number}, "test")


# A round has a request of each that has one; a pause waits until none has.
def test_calls_that_are_carried_out_together_share_their_rounds() -> None:
    steps = together([sending(get(1), Pause(0.5), get(2)), sending(get(3), get(4), Pause(2.0)), sending()])
    assert next(steps) == ParallelCalls((get(1), get(3)))
    assert steps.send([{"a": 1}, error("Refused")]) == ParallelCalls((get(4),))
    assert steps.send([{"a": 4}]) == Pause(2.0)
    assert next(steps) == ParallelCalls((get(2),))
    with pytest.raises(StopIteration) as stop:
        steps.send([{"a": 2}])
    assert stop.value.value == [[{"a": 1}, {"a": 2}], ["Refused", {"a": 4}], []]


def test_one_call_alone_is_as_it_is() -> None:
    assert list(together([sending(get(1), Pause(0.5))])) == [get(1), Pause(0.5)]
