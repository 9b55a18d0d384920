"""Any interleaving of a backfill, feeds, redelivery, frozen and killed processes, and programs that write old items:
the new rows are those of the old items, once every change was handled by somebody.

The requests of all processes wait at a gate, which lets one after the other pass, in an order that Hypothesis chooses.
What is killed never passes again, and its batch is delivered again. What is frozen passes when all others have ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, Final, Literal, NamedTuple
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.calls.steps import Pacing
from sortkey.patterns.rekeying import group_writer
from tests.patterns.rekeying.users import BY_TEAM, User, expected, new_rows

TEAMS: Final = ("a", "b")
LOOPS: Final = 30
"""Turns of the event loop in which everything that was let through reaches the gate again, or ends."""

Kind = Literal["write", "deliver", "backfill", "pass", "kill", "freeze"]


class Process:
    """Something that runs beside others. Its requests wait until they may pass."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Event] = []
        self.frozen = False
        self.under_way = 0
        self.task: asyncio.Task[None]

    async def turn(self) -> None:
        passed = asyncio.Event()
        self.waiting.append(passed)
        await passed.wait()


_process: ContextVar[Process | None] = ContextVar("process", default=None)


class GatedClient:
    """A client whose requests wait for the turn of their process."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def _call(self, operation: str, members: dict[str, Any]) -> Any:
        return await self._in_turn(self._client._call(operation, members))

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> Any:
        return await self._in_turn(self._client._call_unparsed(operation, members, binary))

    async def _in_turn(self, call: Coroutine[Any, Any, Any]) -> Any:
        process = _process.get()
        if process is None:
            return await call
        try:
            await process.turn()
        except asyncio.CancelledError:
            call.close()
            raise
        process.under_way += 1
        try:
            return await call
        finally:
            process.under_way -= 1


class Write(NamedTuple):
    team: str
    user: str
    cities: tuple[str, ...]
    points: int
    deleted: bool


class Step(NamedTuple):
    kind: Kind
    number: int


class World:
    def __init__(self, db: sk.AsyncSession, writes: list[Write]) -> None:
        self._db = db
        self._writes = iter(writes)
        self._log: list[sk.Change[User]] = []
        """What the stream has."""
        self._handled = 0
        self._processes: list[Process] = []

    async def take(self, step: Step) -> None:
        match step.kind:
            case "write":
                write = next(self._writes, None)
                if write is not None:
                    await self._start(self._write(write))
            case "deliver":
                start = max(0, self._handled - step.number % 4)
                await self._start(self._deliver(start, start + 1 + step.number % 5))
            case "backfill":
                await self._start(self._backfill())
            case _:
                waiting = [each for each in self._processes if each.waiting and not each.frozen]
                if waiting:
                    await self._act(step.kind, waiting[step.number % len(waiting)], step.number)

    async def _act(self, kind: Kind, process: Process, number: int) -> None:
        if kind == "kill":
            process.task.cancel()
            await asyncio.wait({process.task})
            process.waiting.clear()
        elif kind == "freeze":
            process.frozen = True
        else:
            await self._let_pass(process, number)

    async def settle(self) -> None:
        """All that runs ends; every change is handled; at last, all that is frozen goes on."""
        for frozen in (False, True):
            while running := [each for each in self._processes if each.waiting and each.frozen is frozen]:
                await self._let_pass(running[0], 0)
            if not frozen:
                for write in self._writes:
                    await self._write(write)
                await self._backfill()
            # After the thaw, only what programs that were frozen have written is left.
            await self._deliver(self._handled, len(self._log))
        for each in self._processes:
            if not each.task.cancelled():
                each.task.result()

    async def _start(self, work: Coroutine[Any, Any, None]) -> None:
        process = Process()
        token = _process.set(process)
        process.task = asyncio.create_task(work)
        _process.reset(token)
        self._processes.append(process)
        await self._quiet(process)

    async def _let_pass(self, process: Process, number: int) -> None:
        process.waiting.pop(number % len(process.waiting)).set()
        await self._quiet(process)

    async def _quiet(self, process: Process) -> None:
        for _ in range(LOOPS):
            await asyncio.sleep(0)
        while process.under_way:
            await asyncio.sleep(0)
        while not process.waiting and not process.task.done():
            await asyncio.sleep(0)

    async def _write(self, write: Write) -> None:
        user = User(team=write.team, user=write.user, cities=[*write.cities], points=write.points)
        if write.deleted:
            await self._db.delete(User.key(team=write.team, user=write.user))
        else:
            await self._db.put(user)
        key = user.key.key()
        self._log.append(sk.Change("MODIFY", None, None, key, "0", self._db._context.moment))

    async def _deliver(self, start: int, end: int) -> None:
        batch = self._log[start:end]
        await BY_TEAM.writer(self._db).on_changes(batch)
        # A batch counts only if all before it was handled.
        if start <= self._handled:
            self._handled = max(self._handled, start + len(batch))

    async def _backfill(self) -> None:
        await BY_TEAM.start(self._db)


cities = st.lists(st.sampled_from(["x", "y", "z"]), unique=True).map(tuple)
writes = st.builds(Write, st.sampled_from(TEAMS), st.sampled_from(["u", "v"]), cities, st.integers(0, 9), st.booleans())
kinds: list[Kind] = ["write", "deliver", "backfill", "pass", "pass", "pass", "pass", "kill", "freeze"]
steps = st.builds(Step, st.sampled_from(kinds), st.integers(0, 30))


@given(
    before=st.lists(writes, max_size=3),
    during=st.lists(writes, max_size=8),
    taken=st.lists(steps, max_size=80),
    writes_of_transaction=st.sampled_from([1, 99]),
)
def test_the_new_rows_are_those_of_the_old_items(
    before: list[Write], during: list[Write], taken: list[Step], writes_of_transaction: int
) -> None:
    async def test() -> None:
        pacing = Pacing(first_pause=0.0, longest_pause=0.0)
        async with sk.async_connect("memory:", tables=BY_TEAM.tables, pacing=pacing) as db:
            await BY_TEAM.create_tables(db)
            for write in before:
                if not write.deleted:
                    await db.put(User(team=write.team, user=write.user, cities=[*write.cities], points=write.points))
            db.client, db._fast = GatedClient(db.client), None  # type: ignore[assignment]
            world = World(db, during)
            for step in taken:
                await world.take(step)
            await world.settle()
            users = [user async for user in db.scan(User, consistent=True)]
            assert await new_rows(db) == expected(users, totals=True)
            found = await BY_TEAM.check(db)
            assert (found.behind, found.different) == (0, 0)

    with patch.object(group_writer, "_WRITES", writes_of_transaction):
        asyncio.run(test())
