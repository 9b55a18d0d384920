"""A scheduler that runs one task at a time and chooses the next by a seed.

A task is a real thread that runs only while it has the baton. It gives the baton back at every *point*: before it takes
a lock, waits for an event, or uses the disk. The scheduler then chooses among the tasks that can go on. So a seed
determines every interleaving, and a failure can be replayed. `Lock`, `Event` and `Thread` have the interface of
`threading`; `Scheduler` itself takes the place of that module.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random
from types import TracebackType
from typing import Final

MOST_POINTS: Final = 20_000
_SECONDS: Final = 60.0


class Crash(BaseException):
    """Ends every task at its next point, as a power failure would."""


class Stuck(AssertionError):
    """No task can go on, or the tasks never end."""


def _taken() -> threading.Lock:
    """A lock that another thread will release; much quicker than a semaphore."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class Task:
    def __init__(self, scheduler: Scheduler, name: str, target: Callable[[], object]) -> None:
        self.name = name
        self.finished = False
        self.point = "start"
        self.error: BaseException | None = None
        self.can_go_on: Callable[[], bool] = lambda: True
        self.baton = _taken()
        self._scheduler = scheduler
        self._target = target
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        self.baton.acquire()
        try:
            if not self._scheduler.crashed:
                self._target()
        except Crash:
            pass
        except BaseException as error:  # noqa: BLE001 (the scheduler raises it again)
            self.error = error
        self.finished = True
        self._scheduler.baton.release()


class Scheduler:
    """Begins with no task; `run` ends when all tasks have ended, or with a crash."""

    def __init__(self, random: Random, first_step: int = 0) -> None:
        self._random = random
        self._first_step = first_step
        self._tasks: list[Task] = []
        self._running: Task | None = None
        self.baton = _taken()
        self.crashed = False
        self.trace: list[str] = []
        """The name of the running task and its point, one for each step."""

    @property
    def step(self) -> int:
        """Grows with every point."""
        return self._first_step + len(self.trace)

    def spawn(self, name: str, target: Callable[[], object]) -> Task:
        task = Task(self, name, target)
        self._tasks.append(task)
        task.thread.start()
        return task

    def run(self) -> None:
        """Raises the error of a task, or Stuck."""
        while left := [task for task in self._tasks if not task.finished]:
            if len(self.trace) > MOST_POINTS:
                self.crash_and_raise(Stuck(f"the tasks never end: {_waiting(left)}"))
            ready = left if self.crashed else [task for task in left if task.can_go_on()]
            if not ready:
                self.crash_and_raise(Stuck(f"no task can go on: {_waiting(left)}"))
            self._resume(self._random.choice(ready))
        for task in self._tasks:
            if task.error is not None:
                raise task.error

    def crash_and_raise(self, error: BaseException) -> None:
        self.crashed = True
        for task in self._tasks:
            while not task.finished:
                self._resume(task)
        raise error

    def _resume(self, task: Task) -> None:
        self._running = task
        task.baton.release()
        if not self.baton.acquire(timeout=_SECONDS):
            raise Stuck(f"{task.name} waits for something that is not simulated")
        self._running = None

    def point(self, what: str, can_go_on: Callable[[], bool] = lambda: True) -> None:
        """Let other tasks run, and go on when this one can. Outside of tasks it does nothing."""
        task = self._running
        if task is None or threading.current_thread() is not task.thread:
            assert can_go_on(), f"the main thread would wait: {what}"
            return
        if self.crashed:
            raise Crash
        self.trace.append(f"{task.name} {what}")
        task.point, task.can_go_on = what, can_go_on
        self.baton.release()
        task.baton.acquire()
        if self.crashed:
            raise Crash

    def crash(self) -> None:
        """From now on, every task ends at its next point."""
        self.crashed = True
        raise Crash

    # What `threading` has.

    def Lock(self) -> Lock:  # noqa: N802
        return Lock(self)

    def Event(self) -> Event:  # noqa: N802
        return Event(self)

    def Thread(self, target: Callable[[], object], name: str, daemon: bool) -> Thread:  # noqa: N802, ARG002
        return Thread(self, target, name)


def _waiting(tasks: list[Task]) -> str:
    return ", ".join(f"{task.name} ({task.point})" for task in tasks)


class Lock:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._locked = False

    def acquire(self, blocking: bool = True) -> bool:
        self._scheduler.point("lock", (lambda: not self._locked) if blocking else (lambda: True))
        if self._locked:
            return False
        self._locked = True
        return True

    def release(self) -> None:
        self._locked = False

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.release()


class Event:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._set = False

    def set(self) -> None:
        self._scheduler.point("set")
        self._set = True

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        """A timeout may pass at any moment."""
        self._scheduler.point("wait", lambda: self._set or timeout is not None)
        return self._set


class Thread:
    def __init__(self, scheduler: Scheduler, target: Callable[[], object], name: str) -> None:
        self._scheduler = scheduler
        self._target = target
        self._name = name
        self._task: Task | None = None

    def start(self) -> None:
        self._task = self._scheduler.spawn(self._name, self._target)

    def join(self) -> None:
        task = self._task
        if task is not None:
            self._scheduler.point("join", lambda: task.finished)
