"""One request to one answer: authenticate, find the operation, read the body, execute, put the answer together.

Reads are answered where they stand, in microseconds. Writes join the group commit: `begin` returns nothing, and `reply`
is called with the answer, on the loop's thread, once it is durable. Nothing here knows of sockets, nor who commits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, Protocol

from sortkey.engine import requests
from sortkey.engine.answers import to_json
from sortkey.engine.core import Answer
from sortkey.engine.database import Database, Done
from sortkey.engine.fast import FAST_READS, FAST_WRITES, FastAnswer, FastWork
from sortkey.engine.operations import WRITES
from sortkey.errors import DynamoDBError, InternalServerError, ThrottlingException, UnknownOperationException
from sortkey.http.connection import Expect, Reply
from sortkey.http.metrics import OK, RequestMetrics
from sortkey.http.prometheus import Samples, render
from sortkey.http.request_parser import Request, RequestError
from sortkey.limits import MIB
from sortkey.wire import metrics, protocol
from sortkey.wire.authentication import Authentication, Caller
from sortkey.wire.metrics import Metrics
from sortkey.wire.protocol import HttpError
from sortkey.wire.response import TEXT, Responses

QUEUED_WRITES: Final = 10_000
QUEUED_BYTES: Final = 256 * MIB

UNASKED: Final = (None, "NONE")
"""`ReturnConsumedCapacity` of those who do not want to know."""
HEALTHY: Final = b"healthy: dynamodb.local\n"
UNKNOWN: Final = "Unknown"
"""What requests without an operation of ours are counted as."""

_logger = logging.getLogger(__name__)


class Route:
    """What is known of an operation beforehand."""

    __slots__ = ("consumed", "metered", "metrics", "operation", "read", "write", "writes")

    def __init__(self, operation: str, counted: Metrics) -> None:
        self.operation = operation
        self.read = FAST_READS.get(operation)
        self.write = FAST_WRITES.get(operation)
        self.writes = operation in WRITES
        self.consumed = counted.capacity["write" if self.writes else "read"]
        self.metered = "return_consumed_capacity" in requests.OPERATIONS[operation].__struct_fields__
        self.metrics = counted.requests(operation)


class PendingWrite:
    """A write between its request and its answer; the write queue calls it when the write is durable."""

    __slots__ = ("_post", "answer", "error", "hidden", "reply", "request", "route", "started")

    def __init__(
        self, route: Route, request: Request, hidden: bool, post: Callable[[PendingWrite], None], started: float
    ) -> None:
        self.route = route
        self.request = request
        self.hidden = hidden
        self.started = started
        self.reply: Reply
        self.answer: Answer | FastAnswer = {}
        self.error: BaseException | None = None
        self._post = post

    def __call__(self, answer: Answer | FastAnswer | None, error: BaseException | None) -> None:
        self.answer = answer or {}
        self.error = error
        self._post(self)


class CommitScheduler(Protocol):
    """Who brings writes to disk."""

    reads: int
    """Requests that were answered without it."""

    def submit(self, work: FastWork, done: Done) -> None: ...

    def post(self, write: PendingWrite) -> None:
        """A write's commit has ended, on whatever thread."""


class Endpoint:
    def __init__(
        self,
        database: Database,
        responses: Responses,
        counted: Metrics,
        authentication: Authentication,
        scheduler: CommitScheduler,
        scrape: Callable[[], Samples],
    ) -> None:
        self._database = database
        self._responses = responses
        self._authentication = authentication
        self._scheduler = scheduler
        self._scrape = scrape
        self._routes = {target: Route(operation, counted) for target, operation in protocol.TARGETS.items()}
        self._unknown = counted.requests(UNKNOWN)
        self.queued = 0
        self.queued_bytes = 0

    def writes(self, request: Request) -> bool:
        """Whether the request will be answered through the write queue, which keeps the order it is given."""
        route = self._routes.get(request.headers.get(b"x-amz-target", b""))
        return route is not None and route.writes

    def begin(self, request: Request, expect: Expect) -> bytes | None:
        """The answer; or nothing yet, and then `expect` was called for who will be told."""
        started = perf_counter()
        route = self._routes.get(request.headers.get(b"x-amz-target", b""))
        if route is None or request.method != b"POST":
            return self._answer_other(request)
        try:
            caller = self._authentication.admit(request)
            body = request.body if b"content-encoding" not in request.headers else protocol.content(request)
            if route.writes:
                self._begin_write(route, request, caller, body, started, expect)
                return None
            self._scheduler.reads += 1
            answered = route.read(self._database, body) if route.read is not None and caller is None else None
            if answered is None:
                answered = self._read(route, self._understand(route, caller, body))
        except (DynamoDBError, HttpError) as error:
            return self._failure(request, route.metrics, error, started)
        except Exception:
            _logger.exception("%s failed", route.operation)
            return self._failure(request, route.metrics, internal_error(), started)
        return self._success(route, request, answered, started)

    def _begin_write(
        self, route: Route, request: Request, caller: Caller | None, body: bytes, started: float, expect: Expect
    ) -> None:
        waiting = len(request.body)
        if self.queued >= QUEUED_WRITES or (self.queued and self.queued_bytes + waiting > QUEUED_BYTES):
            raise ThrottlingException("Too many writes are waiting for the disk; retry with a longer pause.")
        hidden = True
        work = route.write(self._database, body) if route.write is not None and caller is None else None
        if work is None:
            shape = self._understand(route, caller, body)
            hidden = _meter(route, shape)
            work = self._database.plan(route.operation, shape)
        write = PendingWrite(route, request, hidden, self._scheduler.post, started)
        self._scheduler.submit(work, write)
        # Only now is it certain that there will be an answer later; and it cannot come before the loop's next turn.
        write.reply = expect()
        self.queued += 1
        self.queued_bytes += waiting

    def _understand(self, route: Route, caller: Caller | None, body: bytes) -> Any:
        shape = requests.decode(route.operation, body)
        if caller is not None:
            caller.check(route.operation, shape)
        return shape

    def _read(self, route: Route, shape: Any) -> FastAnswer:
        hidden = _meter(route, shape)
        return _answered(self._database.execute(route.operation, shape), hidden)

    def _success(self, route: Route, request: Request, answered: FastAnswer, started: float) -> bytes:
        consumed = route.consumed
        for table, units in answered.units.items():
            consumed[table] = consumed.get(table, 0.0) + units
        route.metrics.count(OK, perf_counter() - started)
        return self._responses.success(request, answered.text)

    def finish(self, write: PendingWrite) -> None:
        """A write's commit has ended, well or not: answer its request."""
        self.queued -= 1
        self.queued_bytes -= len(write.request.body)
        error = self._database.settle(write.route.operation, write.error)
        if error is None:
            answer = write.answer
            answered = answer if isinstance(answer, FastAnswer) else _answered(answer, write.hidden)
            write.reply(self._success(write.route, write.request, answered, write.started))
            return
        if not isinstance(error, DynamoDBError):
            _logger.error("%s failed", write.route.operation, exc_info=error)
            error = internal_error()
        write.reply(self._failure(write.request, write.route.metrics, error, write.started))

    def reject(self, invalid: RequestError) -> bytes:
        """The answer to what is not acceptable HTTP."""
        code = "RequestEntityTooLargeException" if invalid.status == 413 else "MalformedHttpRequestException"
        if invalid.status == 503:
            code = "ServiceUnavailableException"
        error = HttpError(invalid.status, code, invalid.message)
        self._unknown.count(code, 0.0)
        return self._responses.error(error.status, protocol.error_json(error))

    def _failure(
        self, request: Request, counted: RequestMetrics, error: DynamoDBError | HttpError, started: float
    ) -> bytes:
        counted.count(error.code, perf_counter() - started)
        return self._responses.answer(request, error.status, protocol.error_json(error))

    def _answer_other(self, request: Request) -> bytes:
        """Whatever is no operation: health, metrics, and mistakes."""
        path = request.target.partition(b"?")[0]
        if request.method in (b"GET", b"HEAD"):
            if path in (b"/", b"/health"):
                return self._responses.answer(request, 200, HEALTHY, TEXT)
            if path == b"/metrics":
                return self._responses.answer(request, 200, render(self._scrape(), metrics.FAMILIES), TEXT)
            return self._failure(request, self._unknown, HttpError(404, "NotFound", "There is nothing here."), 0)
        error: DynamoDBError | HttpError = UnknownOperationException("An unknown operation was requested.")
        if request.method != b"POST":
            error = HttpError(405, "MethodNotAllowed", "Operations are sent by POST.")
            return self._responses.answer(request, 405, protocol.error_json(error), extra=b"Allow: GET, HEAD, POST\r\n")
        return self._failure(request, self._unknown, error, perf_counter())


def _meter(route: Route, shape: Any) -> bool:
    """What an operation consumes is counted whether the client wants to know or not; if not, it is hidden from it."""
    hidden = route.metered and shape.return_consumed_capacity in UNASKED
    if hidden:
        shape.return_consumed_capacity = "TOTAL"
    return hidden


def _answered(answer: Answer, hidden: bool) -> FastAnswer:
    consumed: Any = answer.pop("ConsumedCapacity", ()) if hidden else answer.get("ConsumedCapacity", ())
    units: dict[str, float] = {}
    for part in (consumed,) if isinstance(consumed, dict) else consumed:
        table = part["TableName"]
        units[table] = units.get(table, 0.0) + part["CapacityUnits"]
    return FastAnswer(to_json(answer), units)


def internal_error() -> InternalServerError:
    return InternalServerError("Internal server error")
