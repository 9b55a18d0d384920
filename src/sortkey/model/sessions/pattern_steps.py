"""How patterns, whose calls are generators of steps as well, run them in a session."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, TypeVar, overload

from sortkey.client.stores import EMBEDDED
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.costs.meter import Meter
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.runners import AsyncRunner
from sortkey.model.sessions.session import Session

T = TypeVar("T")

TIMEOUT: Final = 30.0
"""Of the calls of an unmetered session."""


def context_of(session: AsyncSession) -> Context:
    """What the steps of a pattern need, for `run_steps`."""
    return session._context


async def run_steps(session: AsyncSession, steps: Steps[T]) -> T:
    """Carry out the steps of a pattern, with the session's timeout, retries and meter."""
    return await session._run(steps)


def unmetered(session: AsyncSession) -> AsyncSession:
    """The same store in a session whose calls the session's meter does not count. Closing either closes the store."""
    context = replace(session._context, meter=Meter())
    return AsyncSession(AsyncRunner(session.client, context, TIMEOUT), session._declared)


def bulk(session: AsyncSession) -> AsyncSession:
    """The same session for many calls at once: at a store behind a network, no more of their requests are in flight
    than it takes."""
    if session.capabilities is EMBEDDED:
        return session
    return AsyncSession(session._runner.in_bulk(), session._declared)


@overload
def run_in(session: Session, make_steps: Callable[[Context], Steps[T]]) -> T: ...
@overload
def run_in(session: AsyncSession, make_steps: Callable[[Context], Steps[T]]) -> Coroutine[Any, Any, T]: ...
def run_in(session: Session | AsyncSession, make_steps: Callable[[Context], Steps[T]]) -> T | Coroutine[Any, Any, T]:
    """Carry out steps in a session of either kind: a sync one returns the result, an async one awaits it."""
    if not isinstance(session, Session | AsyncSession):
        raise TypeError(f"expected an open session, of sk.connect or sk.async_connect, not {session!r}")
    return session._run(make_steps(session._context))
