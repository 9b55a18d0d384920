"""The engine's entry point: opens a data folder, executes operations, closes the folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self

from sortkey.clock import Clock
from sortkey.engine import requests
from sortkey.engine.faults.faults import Faults
from sortkey.engine.janitor.janitor import Janitor
from sortkey.engine.operations import READS, SLICED_READS, STATEMENTS, WRITES, writes
from sortkey.engine.operations.answers import to_dict
from sortkey.engine.operations.slices import finish
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.rows.records import damaged_page
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Settings, Work
from sortkey.errors import DynamoDBError, InternalServerError, UnknownOperationException
from sortkey.storage import DAMAGED_PAGE, StorageFull, Ticket

LEAVES_WORK: Final = frozenset(
    {
        "CreateBackup",
        "DeleteBackup",
        "DeleteTable",
        "ExportTableToPointInTime",
        "ImportTable",
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
        "UpdateTable",
        "UpdateTimeToLive",
    }
)
"""Operations that are answered before all of their work is done. The janitor does the rest."""

Done = Callable[[Answer | None, BaseException | None], None]
DoneInPlace = Callable[[int, Answer | None, BaseException | None], None]


class Database(Core):
    """One data folder, or memory only.

    `execute` may be called from any number of threads. A read sees every write that was answered before it began, and
    never waits. A write returns when it is on disk; it raises FolderBusy if another process writes for too long.
    """

    faults: Faults | None = None
    """Those of a FaultyDatabase."""
    sees_every_request = False
    """Whether it must get each request by `execute` or `plan`, not on the fast path or in slices."""
    product = "Sortkey"
    """What an endpoint of it calls itself; by this name, a client knows what the store can do."""

    def __init__(self, path: Path | None, clock: Clock | None = None, settings: Settings | None = None) -> None:
        super().__init__(path, clock, settings)
        self.janitor = Janitor(self)

    @classmethod
    def open(
        cls, path: Path | str | None = None, clock: Clock | None = None, settings: Settings | None = None
    ) -> Database:
        """Open a folder (created if missing), or memory if `path` is None, and start its janitor and its check."""
        return cls(None if path is None else Path(path), clock, settings).start()

    def start(self) -> Self:
        """Start the janitor and the check of a folder that was opened without them; closes it if that fails."""
        try:
            self.janitor.start()
            self.store.start_check()
        except BaseException:
            # There may be no memory for a thread.
            self.close()
            raise
        return self

    def execute(self, operation: str, request: Shape) -> Answer:
        """Execute one typed request. Raises DynamoDBError."""
        try:
            read = READS.get(operation)
            if read is not None:
                return read(self, request)
            sliced = SLICED_READS.get(operation)
            if sliced is not None and (operation not in STATEMENTS or not writes(operation, request)):
                return finish(sliced(self, request))
        except DAMAGED_PAGE as error:
            raise damaged_page(error) from error
        write = WRITES.get(operation)
        if write is None:
            raise UnknownOperationException("An unknown operation was requested.")
        try:
            answer = self.store.write(write(self, request))
        except StorageFull as error:
            raise _nothing_written(error) from error
        except DAMAGED_PAGE as error:
            raise _nothing_written(damaged_page(error)) from error
        self.settle(operation, None)
        return answer

    def submit(self, operation: str, request: Shape, done: Done) -> Ticket[WriteBatch]:
        """Execute a write without waiting: `done(answer, error)` is called on another thread once it is durable.

        Errors that do not depend on the store are raised here.
        """
        return self.store.submit(
            self.plan(operation, request), lambda answer, error: done(answer, self.settle(operation, error))
        )

    def submit_all(self, works: Sequence[tuple[str, Work]], done: DoneInPlace) -> list[Ticket[WriteBatch]]:
        """The same for planned work of several operations, each by itself: `done(place, answer, error)`."""

        def settled(place: int, answer: Answer | None, error: BaseException | None) -> None:
            done(place, answer, self.settle(works[place][0], error))

        return self.store.queue.submit_all([work for _, work in works], settled)

    def submit_work(self, work: Work, done: Done) -> Ticket[WriteBatch]:
        """The same, for work that is not one request, such as a BulkPut. It waits for another process until it is
        withdrawn."""
        return self.store.submit(work, lambda answer, error: done(answer, self.settle("", error)), math.inf)

    def plan(self, operation: str, request: Shape) -> Work:
        """The work of a write, for callers that put it into the write queue themselves and `settle` it afterwards."""
        return WRITES[operation](self, request)

    def settle(self, operation: str, error: BaseException | None) -> BaseException | None:
        """Must be called when planned work has ended; returns the error to report."""
        if operation in LEAVES_WORK:
            self.janitor.wake()
        if error is None:
            return None
        if isinstance(error, StorageFull):
            return _nothing_written(error)
        return _nothing_written(damaged_page(error)) if isinstance(error, DAMAGED_PAGE) else error

    def call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        """Execute a request; both the request and its answer are DynamoDB JSON."""
        return to_dict(self.execute(operation, requests.convert(operation, members)))

    def close(self) -> None:
        """Stop the janitor, finish the queued writes, and close the folder."""
        self.janitor.close()
        for memory in self.vector_memories.values():
            memory.close()
        self.store.close()


def _nothing_written(error: Exception) -> DynamoDBError:
    return InternalServerError(f"Nothing was written: {error}")
