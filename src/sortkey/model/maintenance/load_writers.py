"""How `db.load` writes: groups of rows in one commit each in a store of the process, rounds of batches elsewhere.

Either writes in the order of the rows, as far as it matters: of two rows with the same key, the later one remains. So
the rows that are written are always the first ones, and their number says where to continue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.client.interface import InProcessPuts, PendingCommit
from sortkey.limits import BATCH_WRITE_REQUESTS, MIB
from sortkey.model.calls.item_decoder import Identity, identifier
from sortkey.model.calls.steps import PARALLEL, Answer, Commit, Context, ParallelCalls, Steps, code_of
from sortkey.model.calls.writes import Write, batch_write_calls, unprocessed
from sortkey.model.items.codec import Row
from sortkey.model.items.schema import Schema
from sortkey.model.maintenance.store_rate import StoreRate
from sortkey.model.paths.meter import units_of

COMMIT_ROWS: Final = 512
"""The rows of a commit on a quick disk, or while others write."""
MOST_COMMIT_ROWS: Final = 8192
MOST_COMMIT_BYTES: Final = 4 * MIB
"""The most rows and bytes of a commit on any disk. While it runs, the writes of others wait."""
ROUND_ROWS: Final = PARALLEL * BATCH_WRITE_REQUESTS


class LoadWriter(ABC):
    def __init__(self) -> None:
        self.rows = 0
        """How many rows are written: the first ones that were added."""
        self.units = 0.0

    @abstractmethod
    def add(self, schema: Schema[Any], row: Row) -> None:
        """Add a row. Raises what the store is known to reject it with."""

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether it is time to `write`."""

    @abstractmethod
    def write(self) -> Steps[None]:
        """Write the rows that were added. They may be written only when the next ones are, or at the end."""

    @abstractmethod
    def finish(self) -> Steps[None]:
        """Write what is left, and wait until all is written."""

    def pause(self) -> float:
        """The seconds that the store needs before the next write."""
        return 0.0


class CommitWriter(LoadWriter):
    """For a store in the process. While a group of rows goes to the disk, the next one is prepared; only one is in the
    write queue, so a write of someone else waits for one group at most.

    A sync takes about as long for many rows as for few. So a group grows until its rows take the writer as long as the
    sync takes: larger groups would hardly be quicker. While someone else writes, too, groups are small.
    """

    def __init__(self, context: Context, puts: Callable[[], InProcessPuts]) -> None:
        super().__init__()
        self._context = context
        self._new_group = puts
        self._group = puts()
        self._entities: dict[str, None] = {}
        self._most_rows = COMMIT_ROWS
        self._committing: tuple[PendingCommit, int, float, str] | None = None
        self._writes_before: int | None = None

    def add(self, schema: Schema[Any], row: Row) -> None:
        self._group.add(schema.table, row)
        self._entities[schema.name] = None

    @property
    def is_full(self) -> bool:
        return len(self._group) >= self._most_rows or self._group.bytes >= MOST_COMMIT_BYTES

    def write(self) -> Steps[None]:
        yield from self._settle()
        if len(self._group):
            now, name = self._context.pacing.now(), _metered(self._entities)
            pending = self._group.submit()
            self._committing = (pending, len(self._group), now, name)
            self._group = self._new_group()
            self._entities = {}
            # To prepare rows now would make the writer's turn longer, for which others wait.
            yield Commit(pending.turn)

    def finish(self) -> Steps[None]:
        yield from self.write()
        yield from self._settle()

    def _settle(self) -> Steps[None]:
        """Wait for the group that is being committed."""
        if self._committing is None:
            return
        pending, rows, began, name = self._committing
        self._committing = None
        answer: Answer = yield Commit(pending.answer)
        self._adapt(pending)
        units = units_of(answer.get("ConsumedCapacity"))
        self.rows += rows
        self.units += units
        self._context.meter.add(name, 0, 0, units, self._context.pacing.now() - began)

    def _adapt(self, committed: PendingCommit) -> None:
        work, sync = committed.work_seconds, committed.sync_seconds
        # Between two groups nothing else was written if the store has answered one write more: the first group.
        alone = self._writes_before is None or committed.writes_before == self._writes_before + 1
        self._writes_before = committed.writes_before
        if committed.others_wait or not alone:
            self._most_rows = COMMIT_ROWS
        elif sync > work:
            self._most_rows = min(MOST_COMMIT_ROWS, 2 * self._most_rows)
        elif 2 * sync < work:
            self._most_rows = max(COMMIT_ROWS, self._most_rows // 2)


class RejectedRow(Exception):
    """The store rejects one row; the rows before it are written."""

    def __init__(self, schema: Schema[Any], row: Row, reason: ClientError) -> None:
        self.reason = reason
        key = ", ".join(f"{part.name}={row.get(part.name)}" for part in schema.primary.attributes)
        super().__init__(f"{schema.name} with {key}")


class RoundWriter(LoadWriter):
    """For other stores. A round is up to sixteen batches at once; the next one begins when all of it is written."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._rate = StoreRate()
        self._round: list[tuple[Schema[Any], Row]] = []

    def add(self, schema: Schema[Any], row: Row) -> None:
        self._round.append((schema, row))

    @property
    def is_full(self) -> bool:
        return len(self._round) >= self._rate.round_rows(ROUND_ROWS, BATCH_WRITE_REQUESTS)

    def write(self) -> Steps[None]:
        rows, self._round = self._round, []
        name = _metered(dict.fromkeys(schema.name for schema, _ in rows))
        began = self._context.pacing.now()
        try:
            throttled = yield from self._send(_distinct(rows), name)
        except ClientError as error:
            if code_of(error) != "ValidationException":
                raise
            # The error of a batch does not say which row is meant.
            throttled = yield from self._put_each(rows, name)
        else:
            self.rows += len(rows)
        self._rate.took(len(rows), self._context.pacing.now() - began, throttled)

    def finish(self) -> Steps[None]:
        if self._round:
            yield from self.write()

    def pause(self) -> float:
        return self._rate.pause()

    def _send(self, writes: list[Write], name: str) -> Steps[bool]:
        """Send writes until all are made; returns whether the store throttled any."""
        attempt = 0
        throttled = False
        while writes:
            calls = batch_write_calls(self._context, writes, name)
            results: list[Answer | ClientError] = yield ParallelCalls(calls)
            self.units += sum(units_of(each.get("ConsumedCapacity")) for each in results if isinstance(each, dict))
            left = [write for call, result in zip(calls, results, strict=True) for write in unprocessed(call, result)]
            if left:
                throttled = True
                attempt = attempt + 1 if len(left) == len(writes) else 0
                yield self._context.pacing.pause(attempt)
            writes = left
        return throttled

    def _put_each(self, rows: list[tuple[Schema[Any], Row]], name: str) -> Steps[bool]:
        """Put rows one by one, up to the one that the store rejects."""
        for schema, row in rows:
            try:
                answer = yield from self._context.send("PutItem", {"TableName": schema.table, "Item": row}, name)
            except ClientError as error:
                raise RejectedRow(schema, row, error) from error
            self.units += units_of(answer.get("ConsumedCapacity"))
            self.rows += 1
        return False


def _distinct(rows: list[tuple[Schema[Any], Row]]) -> list[Write]:
    """The puts of these rows. A batch may not have a key twice, so only the last row of each key is put."""
    found: dict[tuple[str, Identity], Write] = {}
    for schema, row in rows:
        found[schema.table, identifier(schema.primary)(row)] = (schema.table, {"PutRequest": {"Item": row}})
    return list(found.values())


def _metered(entities: Iterable[str]) -> str:
    return f"load {', '.join(entities)}"
