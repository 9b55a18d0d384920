"""Ctrl-C may reach the leader between any two instructions. Wherever it does, no other work is lost or done twice."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import FrameType
from typing import Any

import pytest

from sortkey.storage import environment, write_queue
from tests.storage.plain import PlainBatch, increment

# CPython looks for signals after these instructions, unless they raised: then it goes to the handler first.
LOOKS_FOR_SIGNALS = {dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "RESUME")}
ENTERS_HANDLER = dis.opmap["PUSH_EXC_INFO"]


class ParkedQueue(write_queue.WriteQueue[PlainBatch]):
    """Has no thread of its own, so submitted work waits for the next leader, which the test interrupts."""

    def _start(self) -> None:
        pass


class Interrupter:
    """Raises KeyboardInterrupt at the n-th place in the queue's module at which a signal could be noticed."""

    def __init__(self, place: int) -> None:
        self._left = place
        self._previous: dict[FrameType, int] = {}
        self.raised = False

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != write_queue.__file__:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            self._step(frame)
        return self.trace

    def _step(self, frame: FrameType) -> None:
        before = self._previous.get(frame)
        now = self._previous[frame] = frame.f_code.co_code[frame.f_lasti]
        if before in LOOKS_FOR_SIGNALS and now != ENTERS_HANDLER and not self.raised:
            self._left -= 1
            if self._left < 0:
                self.raised = True
                raise KeyboardInterrupt

    @contextmanager
    def watching(self) -> Iterator[None]:
        earlier = sys.gettrace()
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(earlier)


@pytest.fixture
def queue() -> Iterator[ParkedQueue]:
    opened = environment.open_memory()
    yield ParkedQueue(opened, PlainBatch)
    opened.close()


def reject(_: PlainBatch) -> None:
    raise LookupError


def tear(batch: PlainBatch) -> None:
    batch.put(b"torn", b"")
    raise ZeroDivisionError


class Scene:
    """A leader that is interrupted while it does the work of three others along with its own."""

    def __init__(self, queue: ParkedQueue, name: bytes, companion: write_queue.Work[PlainBatch]) -> None:
        self._queue = queue
        self._others, self._own = b"others " + name, b"own " + name
        self._answers: list[str] = []
        self._result = 0
        for work in (increment(self._others), companion, increment(self._others)):
            queue.submit(work, self._answered)

    def _answered(self, result: Any, error: BaseException | None) -> None:
        self._answers.append(str(result) if error is None else type(error).__name__)

    def play(self, interrupter: Interrupter) -> None:
        try:
            with interrupter.watching():
                self._result = self._queue.run(increment(self._own))
        except KeyboardInterrupt:
            pass

    def check(self) -> None:
        """The next leader finds what is left, whatever state the interrupted one was in."""
        others, own = self._queue.run(lambda batch: (batch.get(self._others), batch.get(self._own)))
        assert others == b"2"
        assert own == b"1" if self._result else own in (None, b"1")
        first, error, second = dict.fromkeys(self._answers)
        assert (first, second) == ("1", "2")
        assert error.endswith("Error")
        # A callback that was itself interrupted is called again: better twice than never.
        assert len(self._answers) <= 4
        assert len(self._queue) == 0


# With work that raises too late among them, the leader also goes the long way, each work alone.
@pytest.mark.timeout(120)
@pytest.mark.parametrize("companion", [reject, tear])
def test_an_interrupt_anywhere_loses_and_doubles_nothing(
    queue: ParkedQueue, companion: write_queue.Work[PlainBatch]
) -> None:
    for place in count():
        scene = Scene(queue, b"%d" % place, companion)
        interrupter = Interrupter(place)
        scene.play(interrupter)
        scene.check()
        if not interrupter.raised:
            assert place > 50, "the interrupter saw too little of the queue"
            return
