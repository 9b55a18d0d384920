"""The steps of a session's calls, and what every call knows.

A call such as `page` is a generator. It yields a step; the session carries it out and sends the result back in.

    Call            one request; the session sends its answer, or throws its ClientError
    ParallelCalls   several requests at once; the session sends a list of answers and ClientErrors
    Pause           the session waits
    Turn            other tasks have their turn, if the session is on an event loop
    Commit          a commit of a store in the process; the session waits, and sends its answer or throws its error

A store that cannot be reached, or does not answer in time, is thrown into the generator as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import random
from typing import Any, Final, NamedTuple, TypeVar

from botocore.exceptions import ClientError

from sortkey.client.interface import PendingCommit
from sortkey.client.stores import EMBEDDED, Capabilities
from sortkey.clock import Clock
from sortkey.model.calls.arguments import reject_path
from sortkey.model.costs.meter import Meter, count_partitions
from sortkey.model.errors import DeadlineExceeded, Unsupported
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.schema import Schema

T = TypeVar("T")
Answer = dict[str, Any]

_from_timestamp: Final = RealTypes.datetime.fromtimestamp


class Call(NamedTuple):
    operation: str
    members: dict[str, Any]
    path: str
    """The name of the access path that the meter counts it under."""
    unparsed: bool = False
    """Whether the answer's items are wanted unparsed."""
    binary: bool = True
    """Whether binary may occur in the members of such a request."""

    @property
    def is_consistent(self) -> bool:
        """Whether it is a consistent read, which costs twice as much."""
        if self.operation == "BatchGetItem":
            return any("ConsistentRead" in table for table in self.members["RequestItems"].values())
        return "ConsistentRead" in self.members


class ParallelCalls(NamedTuple):
    calls: tuple[Call, ...]


class Pause(NamedTuple):
    seconds: float


class Commit(NamedTuple):
    pending: PendingCommit
    answer: Future[Answer]
    """The future of it that is waited for."""


class Turn(NamedTuple):
    """Reads of a store in the process wait for nothing, so a long one takes a turn after each part."""


Step = Call | ParallelCalls | Pause | Commit | Turn
Steps = Generator[Step, Any, T]

PARALLEL: Final = 16
"""Requests that one call sends at the same time."""

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TableFencedException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""Temporary errors: the same request may succeed a little later."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """How durations are measured, and the pauses before retries; tests replace both."""

    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random
    first_pause: float = 0.05
    longest_pause: float = 5.0

    def pause(self, attempt: int) -> Pause:
        """The pause before a retry: random, up to a limit that doubles, so that clients do not all retry at once."""
        return Pause(self.chance() * min(self.longest_pause, self.first_pause * 2 ** min(attempt, 20)))


class Deadline:
    """When a call must be done."""

    __slots__ = ("_monotonic", "_timeout", "_until")

    def __init__(self, timeout: float | None, monotonic: Callable[[], float]) -> None:
        self._timeout = timeout
        self._monotonic = monotonic
        self._until = None if timeout is None else monotonic() + timeout

    def check(self, ahead: float = 0.0) -> None:
        """Raise DeadlineExceeded unless more than `ahead` seconds are left."""
        if self._until is not None and self._monotonic() + ahead > self._until:
            raise self.error()

    def left(self) -> float | None:
        """The seconds left; None without a deadline."""
        return None if self._until is None else self._until - self._monotonic()

    def error(self, reason: Exception | None = None) -> DeadlineExceeded:
        because = "" if reason is None else f": {reason}"
        return DeadlineExceeded(f"not done within {self._timeout:g} s{because}")


@dataclass(frozen=True, slots=True)
class Context:
    """What every call knows besides its arguments: the store's capabilities, the meter, and settings."""

    capabilities: Capabilities
    meter: Meter
    pacing: Pacing
    secret: bytes
    """The key that signs cursors."""
    clock: Clock
    """What sk.created and sk.updated are set by."""

    @property
    def moment(self) -> datetime:
        now: Any = self.clock.now()
        if isinstance(now, datetime):
            raise TypeError("the clock's now() returned a datetime; it must return seconds since 1970: .timestamp()")
        return _from_timestamp(now, UTC)

    @property
    def in_process(self) -> bool:
        """Whether the store is in this process."""
        return self.capabilities is EMBEDDED

    @property
    def multi_attribute_keys(self) -> bool:
        """Whether the store's index keys may have several attributes."""
        return self.capabilities.multi_attribute_index_keys

    def adapt(self, path: AccessPath[T]) -> AccessPath[T]:
        """The path, by the keys that the indexes of this store have. Raises TypeError if it is none."""
        if type(path) is not AccessPath:
            reject_path(path)
        return path if self.multi_attribute_keys or path.schema.joined is None else path.joined()

    def schema(self, cls: type[Item]) -> Schema[Any]:
        """The schema of a class's rows in this store."""
        schema = schema_of(cls)
        return schema if self.multi_attribute_keys else schema.joined or schema

    def call(self, operation: str, members: dict[str, Any], path: str) -> Call:
        """A request that asks for its consumed capacity."""
        if self.capabilities.consumed_capacity:
            members["ReturnConsumedCapacity"] = "TOTAL"
        return Call(operation, members, path)

    def call_unparsed(self, operation: str, members: dict[str, Any], path: str, binary: bool) -> Call:
        """The same, for an answer with unparsed items."""
        if self.capabilities.consumed_capacity:
            members["ReturnConsumedCapacity"] = "TOTAL"
        return Call(operation, members, path, unparsed=True, binary=binary)

    def answered(self, call: Call, answer: Answer, seconds: float) -> None:
        """Tells the meter what a request took."""
        consistent = call.is_consistent
        units = self.meter.requested(call.path, call.operation, answer, seconds, consistent)
        count_partitions(self.meter.partitions, call.operation, call.members, answer, units, consistent)

    def send(self, operation: str, members: dict[str, Any], path: str) -> Steps[Answer]:
        return self.with_retries(self.call(operation, members, path))

    def send_unparsed(self, operation: str, members: dict[str, Any], path: str, binary: bool) -> Steps[Answer]:
        return self.with_retries(self.call_unparsed(operation, members, path, binary))

    def with_retries(self, call: Call) -> Steps[Answer]:
        """The answer to a request, repeated while the store throttles; the session's deadline ends it."""
        try:
            answer: Answer = yield call
        except ClientError as error:
            answer = yield from self.retry(call, error)
        return answer

    def retry(self, call: Call, first: ClientError) -> Steps[Answer]:
        """The answer to a request that failed once; raises the error unless it is temporary."""
        attempt = 0
        last = first
        while True:
            code = code_of(last)
            if code not in THROTTLED:
                if code == "ResourceNotFoundException" and "TableName" in call.members:
                    last.add_note(f"There is no table {call.members['TableName']!r}; db.create_tables() creates it.")
                raise last
            yield self.pacing.pause(attempt)
            attempt += 1
            try:
                answer: Answer = yield call
            except ClientError as error:
                last = error
            else:
                return answer

    def require_consumed_capacity(self, what: str) -> None:
        if not self.capabilities.consumed_capacity:
            raise Unsupported(
                f"{what} needs consumed capacity, which {self.capabilities.store} does not report; leave {what} out"
            )

    def require_transactions(self, what: str, instead: str) -> None:
        if not self.capabilities.transactions:
            raise Unsupported(f"{what} needs transactions, which {self.capabilities.store} does not have; {instead}")


def code_of(error: ClientError) -> str:
    code: str = error.response["Error"]["Code"]
    return code


def together(several: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Carries out calls that do not depend on each other, each of single requests and pauses: in a round, all that have
    a request send it; if there are none, all pause."""
    if len(several) == 1:
        return [(yield from several[0])]
    results: dict[int, T] = {}
    waiting: dict[int, Step] = {}

    def go_on(number: int, resume: Callable[[], Step]) -> None:
        try:
            waiting[number] = resume()
        except StopIteration as stop:
            waiting.pop(number, None)
            results[number] = stop.value

    for number, steps in enumerate(several):
        go_on(number, partial(next, steps))
    while waiting:
        calls = {number: step for number, step in waiting.items() if type(step) is Call}
        if calls:
            answers = yield ParallelCalls(tuple(calls.values()))
            for number, answer in zip(calls, answers, strict=True):
                send = several[number].throw if isinstance(answer, ClientError) else several[number].send
                go_on(number, partial(send, answer))
        else:
            yield Pause(max(step.seconds for step in waiting.values() if type(step) is Pause))
            for number in list(waiting):
                go_on(number, partial(next, several[number]))
    return [results[number] for number in range(len(several))]
