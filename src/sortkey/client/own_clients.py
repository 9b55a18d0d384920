"""The botocore clients of remote stores. A store of a test leaves them alone: a session goes where its URL says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakSet

_EVENTS: Final[WeakSet[Any]] = WeakSet()
"""`client.meta.events` of each."""
_MAKING: Final[ContextVar[bool]] = ContextVar("making_own_client", default=False)


@contextmanager
def making() -> Iterator[None]:
    """A client that is made in this block is one of ours."""
    token = _MAKING.set(True)
    try:
        yield
    finally:
        _MAKING.reset(token)


def add(client: Any) -> None:
    _EVENTS.add(client.meta.events)


def are_made_by_us() -> bool:
    return _MAKING.get()


def is_one_of_ours(events: Any) -> bool:
    return events in _EVENTS
