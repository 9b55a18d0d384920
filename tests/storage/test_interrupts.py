"""Ctrl-C may interrupt the leader between any two instructions. No other work may be lost or done twice."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import CodeType, FrameType
from typing import Any

import pytest

from sortkey.storage import environment, write_queue
from sortkey.storage.write_lock import WriteLock
from tests.storage.byte_store import ByteBatch, increment

# CPython handles signals after these instructions, unless they raised: then the exception handler comes first.
SIGNAL_INSTRUCTIONS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "RESUME")
LOOKS_FOR_SIGNALS = {dis.opmap[name] for name in SIGNAL_INSTRUCTIONS if name in dis.opmap}
ENTERS_HANDLER = dis.opmap["PUSH_EXC_INFO"]


class ParkedQueue(write_queue.WriteQueue[ByteBatch]):
    """Has no thread of its own, so submitted work waits for the next leader, which the test interrupts."""

    def _start(self) -> None:
        pass


class Interrupter:
    """Raises KeyboardInterrupt at the n-th instruction of the queue's module at which Python handles signals."""

    def __init__(self, instruction: int) -> None:
        self._left = instruction
        self._previous: dict[FrameType, int] = {}
        self.raised = False

    def _step(self, frame: FrameType, now: int) -> None:
        before = self._previous.get(frame)
        self._previous[frame] = now
        if before in LOOKS_FOR_SIGNALS and now != ENTERS_HANDLER and not self.raised:
            self._left -= 1
            if self._left < 0:
                self.raised = True
                raise KeyboardInterrupt

    # Python 3.13 traces a function's instructions only from its second call on: a trace would miss most of the queue.
    if sys.version_info >= (3, 12):

        @contextmanager
        def watching(self) -> Iterator[None]:
            monitoring = sys.monitoring
            monitoring.use_tool_id(monitoring.DEBUGGER_ID, "interrupter")
            monitoring.register_callback(monitoring.DEBUGGER_ID, monitoring.events.INSTRUCTION, self._monitor)
            monitoring.set_events(monitoring.DEBUGGER_ID, monitoring.events.INSTRUCTION)
            try:
                yield
            finally:
                monitoring.set_events(monitoring.DEBUGGER_ID, monitoring.events.NO_EVENTS)
                monitoring.free_tool_id(monitoring.DEBUGGER_ID)

        def _monitor(self, code: CodeType, offset: int) -> Any:
            if code.co_filename != write_queue.__file__:
                return sys.monitoring.DISABLE
            return self._step(sys._getframe(1), code.co_code[offset])
    else:

        @contextmanager
        def watching(self) -> Iterator[None]:
            earlier = sys.gettrace()
            sys.settrace(self._trace)
            try:
                yield
            finally:
                sys.settrace(earlier)

        def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != write_queue.__file__:
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            if event == "opcode":
                self._step(frame, frame.f_code.co_code[frame.f_lasti])
            return self._trace


class NotedLock(WriteLock):
    """No other process has it."""

    def __init__(self) -> None:
        self.held = False
        self.release = self._release

    def try_acquire(self) -> bool:
        self.held = True
        return True

    def _release(self) -> None:
        self.held = False


@pytest.fixture
def lock() -> NotedLock:
    return NotedLock()


@pytest.fixture
def queue(lock: NotedLock) -> Iterator[ParkedQueue]:
    opened = environment.open_memory()
    yield ParkedQueue(lambda: opened.begin(write=True), ByteBatch, lock=lock)
    opened.close()


def reject(_: ByteBatch) -> None:
    raise LookupError


def tear(batch: ByteBatch) -> None:
    batch.put(b"torn", b"")
    raise ZeroDivisionError


class Scene:
    """A leader that is interrupted while it does the work of three others along with its own."""

    def __init__(self, queue: ParkedQueue, name: bytes, companion: write_queue.Work[ByteBatch]) -> None:
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
        """The next leader finds the work that is left, whatever state the interrupted one was in."""
        others, own = self._queue.run(lambda batch: (batch.get(self._others), batch.get(self._own)))
        assert others == b"2"
        assert own == b"1" if self._result else own in (None, b"1")
        first, error, second = dict.fromkeys(self._answers)
        assert (first, second) == ("1", "2")
        assert error.endswith("Error")
        # A callback that was itself interrupted is called again: better twice than never.
        assert len(self._answers) <= 4
        assert len(self._queue) == 0


# With work among them that raises after a write, the leader also commits each work by itself.
@pytest.mark.timeout(120)
@pytest.mark.parametrize("companion", [reject, tear])
def test_an_interrupt_anywhere_loses_and_doubles_nothing(
    queue: ParkedQueue, lock: NotedLock, companion: write_queue.Work[ByteBatch]
) -> None:
    for instruction in count():
        scene = Scene(queue, b"%d" % instruction, companion)
        interrupter = Interrupter(instruction)
        scene.play(interrupter)
        # Other processes must not wait for one that has left.
        assert not lock.held
        scene.check()
        if not interrupter.raised:
            assert instruction > 40, "the interrupter saw too little of the queue"
            return
