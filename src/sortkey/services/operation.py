"""A request with an `Idempotency-Key`, as a service sees it: for work that must not be done twice.

The server keeps the answers to such requests. Between the work and its answer a server may be killed; then the handler
runs again for the same request. A service whose work has no condition of its own that makes this harmless writes a
`note` in the transaction that does the work, and looks for it first.
"""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final

from sortkey.model.errors import ConditionFailed
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession

REQUESTS: Final = Table("sortkey-requests", ttl="expires")
"""Requests with keys, their answers and notes. The server creates it."""


class OperationNote(Item, table=REQUESTS):
    """That an operation was done, and what to know of it: see `sk.services.Operation`."""

    operation: str
    result: dict[str, Any]
    expires: datetime

    key = Key("OPERATION#{operation}", "NOTE")


class Operation:
    """What a request with an `Idempotency-Key` asks for, the same for every attempt, also of another server.

        operation = sk.services.current_operation()
        if operation is not None and (done := await operation.done()) is not None:
            return done["order"]
        together = sk.Transaction()
        together.put(Order(number=number, …))
        if operation is not None:
            together.put(operation.note({"order": number}), if_absent=True)
        await db.transact(together)

    `if_absent` decides between two attempts that run at once: the transaction of one fails, and `done` then has the
    result of the other. A note is kept for longer than the request.
    """

    def __init__(self, id: str, session: AsyncSession, expires: datetime) -> None:  # noqa: A002
        self.id = id
        self.failure: int | None = None
        """What `fail` was called with."""
        self._session = session
        self._expires = expires
        self._parts = 0

    def part(self) -> Operation:
        """For a request that does several things one after the other: an operation for each, which every attempt gets
        in the same order."""
        self._parts += 1
        return Operation(f"{self.id}.{self._parts}", self._session, self._expires)

    def note(self, result: dict[str, Any]) -> OperationNote:
        """To be put, `if_absent`, in the transaction that does the work."""
        return OperationNote(operation=self.id, result=result, expires=self._expires)

    async def done(self) -> dict[str, Any] | None:
        """The result that an attempt has noted; None if none has."""
        found = await self._session.get(OperationNote.key(operation=self.id), consistent=True)
        return None if found is None else found.result

    async def forget(self, result: dict[str, Any]) -> None:
        """Delete a note of work that was not done after all, unless another one is there by now."""
        with suppress(ConditionFailed):
            await self._session.delete(OperationNote.key(operation=self.id), where={"result": result})

    def fail(self, status: int = 500) -> None:
        """The answer is an error although its status is below 400, as GraphQL's are, so it is not kept. It is taken as
        one with this status: below 500, nothing was done."""
        self.failure = status


OPERATION: Final[ContextVar[Operation | None]] = ContextVar("OPERATION", default=None)


def current_operation() -> Operation | None:
    """The operation of the request that is being handled; None if it has no `Idempotency-Key`, or there is none."""
    return OPERATION.get()
