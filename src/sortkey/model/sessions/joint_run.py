"""Carries out many calls together, in a store in the process: the first writes of all calls share commits.

A write by itself takes a task, a future and several turns of the event loop, which is more than the store takes for it.
What a call does after its first write, which few do, it does by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar, cast

from sortkey.client.interface import WriteTogether
from sortkey.model.calls.steps import Answer, Call, Step, Steps
from sortkey.model.errors import FAILURES
from sortkey.model.sessions.runners import AsyncRunner

T = TypeVar("T")

SLICE: Final = 64
"""Calls that begin, or go on, in one turn of the event loop: about a millisecond's work."""
_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})


class _Begun(NamedTuple, Generic[T]):
    place: int
    steps: Steps[T]


class JointRun(Generic[T]):
    def __init__(self, runner: AsyncRunner, write: WriteTogether, calls: Sequence[Steps[T]]) -> None:
        """`write` is that of the runner's client."""
        self._runner = runner
        self._write = write
        self._calls = calls
        self._outcomes: list[T | Exception | None] = [None] * len(calls)
        self._writes: list[tuple[_Begun[T], Call]] = []
        self._others: list[tuple[_Begun[T], Step]] = []
        """Those that go on by themselves, with the next step."""

    async def run(self) -> list[T | Exception]:
        """What each call returns or raises, in their order."""
        for place, steps in enumerate(self._calls):
            await _turn(place)
            step = self._step(_Begun(place, steps), partial(next, steps))
            if type(step) is Call and step.operation in _WRITES and not step.unparsed:
                self._writes.append((_Begun(place, steps), step))
            elif step is not None:
                self._others.append((_Begun(place, steps), step))
        if self._writes:
            await self._write_together()
        await asyncio.gather(*(self._finish(begun, step) for begun, step in self._others))
        return cast("list[T | Exception]", self._outcomes)

    async def _write_together(self) -> None:
        answers: Sequence[Answer | Exception]
        try:
            answers = await self._runner.write_together(self._write, [call for _, call in self._writes])
        except Exception as error:  # noqa: BLE001 - it is what each of the calls raises
            answers = [error] * len(self._writes)
        for number, ((begun, _), answer) in enumerate(zip(self._writes, answers, strict=True)):
            await _turn(number)
            move = begun.steps.throw if isinstance(answer, Exception) else begun.steps.send
            step = self._step(begun, partial(move, answer))
            if step is not None:
                self._others.append((begun, step))

    def _step(self, begun: _Begun[T], move: Callable[[], Step]) -> Step | None:
        """The next step of a call; None if it has ended."""
        try:
            return move()
        except StopIteration as stop:
            self._outcomes[begun.place] = stop.value
        except Exception as error:  # noqa: BLE001 - it is what the call raises
            self._outcomes[begun.place] = error
        return None

    async def _finish(self, begun: _Begun[T], step: Step) -> None:
        try:
            self._outcomes[begun.place] = await self._runner.run(_resumed(begun.steps, step))
        except Exception as error:  # noqa: BLE001 - it is what the call raises
            self._outcomes[begun.place] = error


async def _turn(number: int) -> None:
    if number % SLICE == SLICE - 1:
        # Other tasks have theirs.
        await asyncio.sleep(0)


def _resumed(steps: Steps[T], step: Step) -> Steps[T]:
    """A call that has begun, from its next step on."""
    try:
        while True:
            try:
                result = yield step
            except FAILURES as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as stop:
        ended: T = stop.value
        return ended
