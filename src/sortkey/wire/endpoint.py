"""One request to one answer: authenticate, find the operation, decode the body, execute, encode the answer.

Reads are answered at once, in microseconds; those that take longer are done in slices, a few a turn of the loop. Large
requests are begun by a thread of their own. Writes
join a group commit and are answered, on the loop's thread, once they are durable. Nothing here knows of sockets, nor
which thread commits.

Every request gets an answer. Whatever fails while one is made, be it a bug, is that request's InternalServerError and
affects no other request. A lack of memory is a 503, which SDKs retry. Where the address space is limited, requests are
rejected before it ends: an allocation that fails inside of a library may end the process.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import lmdb

from sortkey.clock import monotonic
from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_json, to_pieces
from sortkey.engine.operations.fast_path import FastAnswer
from sortkey.engine.operations.policies import PolicyBook
from sortkey.engine.operations.rehearsal import CostlyWork, NotRehearsed
from sortkey.engine.operations.slices import Slices
from sortkey.engine.requests.pieces import BATCHES, PIECE_BYTES, decode_in_pieces
from sortkey.engine.tables.core import Answer
from sortkey.errors import DynamoDBError, InternalServerError, ThrottlingException, UnknownOperationException
from sortkey.http.connection import Defer, PendingAnswer
from sortkey.http.metrics import OK, RequestMetrics, Samples, render
from sortkey.http.pages import Pages
from sortkey.http.request_parser import BODY_BYTES, Request, RequestError
from sortkey.http.response import RETRY_AFTER
from sortkey.limits import MIB
from sortkey.storage import address_space_left
from sortkey.wire import messages, protocol
from sortkey.wire.authentication import NO_WEB_PAGES, Authentication, Caller
from sortkey.wire.commit_scheduler import CommitScheduler, PendingWrite
from sortkey.wire.costly_requests import (
    ITEM_BODY_BYTES,
    LARGE_BYTES,
    CostlyWrites,
    LargeRequests,
    PendingRead,
    SliceScheduler,
)
from sortkey.wire.messages import CoralError
from sortkey.wire.metrics import FAMILIES, EndpointMetrics
from sortkey.wire.protocol import TEXT, Responses, Route

QUEUED_WRITES: Final = 10_000
UNDER_WAY_BYTES: Final = 64 * MIB
"""Of the bodies of requests that are not answered yet. Decoded, text takes twice as much, tiny values 25 times."""
ROOM_FOR_SMALL: Final = 4
"""One part of this many is left for requests that are not large, so that a few large ones lock nobody out."""
ROOM_FOR_ITEMS: Final = 2
"""And one of this many for requests that a single item can have, so that batches do not lock them out."""
SPARE_BYTES: Final = 96 * MIB
"""Of a limited address space: for the answers of requests that are under way, and for threads."""
DECODED: Final = 25
"""How much more memory than its body a request of tiny values takes."""
COMPRESSED: Final = 10
"""How much longer a body may be than its compressed form; others are rejected later."""

NO_MEMORY: Final = (MemoryError, lmdb.MemoryError)
LACKS_MEMORY: Final = "The server lacks memory for this request, of which nothing was done; retry in a moment."
UNAVAILABLE: Final = "ServiceUnavailableException"

HEALTHY: Final = b"healthy: dynamodb.local\n"
UNKNOWN: Final = "Unknown"
"""The operation, in the metrics, of requests that name none of ours."""

_logger = logging.getLogger(__name__)


class Endpoint:
    def __init__(
        self,
        database: Database,
        authentication: Authentication,
        scheduler: CommitScheduler,
        slices: SliceScheduler,
        large: LargeRequests,
        responses: Responses,
        metrics: EndpointMetrics,
        scrape: Callable[[], Samples],
    ) -> None:
        """`scrape` returns the samples for `GET /metrics`."""
        # Else the first request would wait for it.
        requests.decoders()
        self._database = database
        self._authentication = authentication
        self._policies = PolicyBook(database)
        self._scheduler = scheduler
        self._slices = slices
        self._large = large
        self._costly = CostlyWrites(database, slices, scheduler.submit, self._fail)
        self._responses = responses
        self._scrape = scrape
        self.pages: Pages | None = None
        """Are shown to browsers."""
        short = not database.sees_every_request
        self._routes = {target: Route(operation, metrics, short) for target, operation in messages.TARGETS.items()}
        self._unknown = metrics.requests(UNKNOWN)
        if address_space_left() is not None:
            # An attribute: where there is no limit, nothing is asked for each request.
            self.begin = self._begin_if_memory  # type: ignore[method-assign]

    def body_limit(self, headers: dict[bytes, bytes]) -> int:
        """Only batches need more than the largest item. Others are rejected before they are received."""
        operation = messages.TARGETS.get(headers.get(b"x-amz-target", b""))
        return BODY_BYTES if operation in BATCHES else PIECE_BYTES

    def may_overlap(self, request: Request) -> bool:
        """Writes may: the write queue keeps their order."""
        route = self._routes.get(request.headers.get(b"x-amz-target", b""))
        return route is not None and route.writes

    def begin(self, request: Request, defer: Defer) -> bytes | None:
        """Return the answer; or None for a write, whose answer comes later."""
        started = monotonic()
        route = self._routes.get(request.headers.get(b"x-amz-target", b""))
        if route is None or request.method != b"POST":
            if self.pages is not None and self.pages.serves(request):
                return self.pages.begin(request, "", defer)
            return self._answer_other(request)
        try:
            caller = self._authentication.admit(request, self._policies)
            if b"content-encoding" in request.headers:
                request.body = protocol.content(request)
            body = request.body
            if len(body) > LARGE_BYTES:
                self._begin_large(route, request, caller, body, started, defer)
                return None
            if route.writes:
                self._require_room(route, len(body))
                write = self._plan(route, request, caller, body, started)
                # Decoded: the text is not needed any more.
                request.body = b""
                self._submit_planned(write, defer)
                return None
            if route.has_statements:
                return self._begin_statements(route, request, caller, body, started, defer)
            self._scheduler.reads += 1
            answer = route.fast_read(self._database, body) if route.fast_read is not None and caller is None else None
            if not isinstance(answer, FastAnswer):
                answer = self._read(route, request, _decode(route, caller, body), started, defer, answer)
            return None if answer is None else self._success(route, request, answer, started)
        except (DynamoDBError, CoralError) as error:
            return self._error(request, route.metrics, error, started)
        except NO_MEMORY:
            return self._error(request, route.metrics, no_memory(route), started)
        except Exception:
            _logger.exception("%s failed", route.operation)
            return self._error(request, route.metrics, internal_error(), started)

    def _begin_statements(
        self, route: Route, request: Request, caller: Caller | None, body: bytes, started: float, defer: Defer
    ) -> bytes | None:
        """As `begin`, for PartiQL: whether it writes is known when it is decoded."""
        shape = _decode(route, caller, body)
        route = route.for_request(shape)
        if route.writes:
            self._require_room(route, len(body))
            write = self._plan_decoded(route, request, shape, started, len(body))
            request.body = b""
            self._submit_planned(write, defer)
            return None
        self._scheduler.reads += 1
        answer = self._read(route, request, shape, started, defer, None)
        return None if answer is None else self._success(route, request, answer, started)

    def _begin_if_memory(self, request: Request, defer: Defer) -> bytes | None:
        """As `begin`, for a process whose address space is limited."""
        size = len(request.body)
        if b"content-encoding" in request.headers:
            size *= COMPRESSED
        route = self._routes.get(request.headers.get(b"x-amz-target", b""))
        if route is not None and self._lacks_memory(size):
            return self._error(request, route.metrics, CoralError(503, UNAVAILABLE, LACKS_MEMORY), monotonic())
        return Endpoint.begin(self, request, defer)

    def _lacks_memory(self, size: int) -> bool:
        """Whether there is too little for a request of this size beside those that are under way."""
        needed = SPARE_BYTES + (size + self._large.bytes) * DECODED
        if self._left() >= needed:
            return False
        if self._scheduler.queued or len(self._slices) or self._large.bytes:
            return True
        # Nothing is under way. What is free inside of the process does not show; it is enough for a small request.
        gc.collect()
        return size > LARGE_BYTES and self._left() < needed

    def _left(self) -> int:
        return address_space_left() or 0

    def reject(self, invalid: RequestError) -> bytes:
        """The answer to bytes that are not acceptable HTTP."""
        error = protocol.http_error(invalid)
        self._unknown.count(error.code, 0.0)
        headers = RETRY_AFTER if error.status == 503 else b""
        return self._responses.answer(None, error.status, messages.error_json(error), headers=headers)

    def _plan(self, route: Route, request: Request, caller: Caller | None, body: bytes, started: float) -> PendingWrite:
        """Decode and check a write. Runs on any thread."""
        work = route.fast_write(self._database, body) if route.fast_write is not None and caller is None else None
        if work is None:
            return self._plan_decoded(route, request, _decode(route, caller, body), started, len(body))
        return PendingWrite(self._scheduler, self._finish, work, route, request, started, len(body), True)

    def _plan_decoded(self, route: Route, request: Request, shape: Any, started: float, size: int) -> PendingWrite:
        hides_capacity = route.ask_for_capacity(shape)
        work = self._database.plan(route.operation, shape)
        return PendingWrite(self._scheduler, self._finish, work, route, request, started, size, hides_capacity)

    def _submit_planned(self, write: PendingWrite, defer: Defer) -> None:
        # Not `isinstance`, which takes a tenth of a microsecond for a function.
        if type(write.work) is CostlyWork:
            self._costly.begin(write.work, write, defer)
            return
        self._scheduler.submit(write)
        # From here on there will be an answer. It cannot come before the loop's next turn.
        write.pending = defer()

    def _fail(self, write: PendingWrite) -> None:
        write.pending.send(self._error(write.request, write.route.metrics, internal_error(), write.started))

    def _begin_large(
        self, route: Route, request: Request, caller: Caller | None, body: bytes, started: float, defer: Defer
    ) -> None:
        """Leave a request to the thread for large ones, up to its first slice or the writer's turn."""
        size = len(body)
        # It was compressed: the parser has rejected others by their heads.
        if size > PIECE_BYTES and route.operation not in BATCHES:
            raise CoralError(413, protocol.TOO_LARGE, f"The body of {route.operation} has {PIECE_BYTES} bytes at most.")
        self._require_room(route, size)
        request.body = b""
        pending = defer()
        pending.overlaps = False
        begin = self._plan if route.writes else self._begin_read
        self._large.begin(
            size,
            partial(begin, route, request, caller, body, started),
            partial(self._go_on, route, request, started, pending),
        )

    def _begin_read(
        self, route: Route, request: Request, caller: Caller | None, body: bytes, started: float
    ) -> PendingRead | PendingWrite | FastAnswer:
        """Decode and check a read, and do its first slice; or plan what statements write. Runs on any thread."""
        shape = _decode(route, caller, body)
        route = route.for_request(shape)
        if route.writes:
            return self._plan_decoded(route, request, shape, started, len(body))
        hides_capacity = route.ask_for_capacity(shape)
        if route.sliced_read is None:
            return _encoded(self._database.execute(route.operation, shape), hides_capacity)
        begin = partial(route.sliced_read, self._database, shape)
        read = PendingRead(begin, self._advance_read, route, request, started, len(body), hides_capacity)
        return _encoded(read.answer, read.hides_capacity) if read.run_slice() else read

    def _go_on(
        self,
        route: Route,
        request: Request,
        started: float,
        pending: PendingAnswer,
        begun: PendingWrite | PendingRead | FastAnswer | None,
        error: BaseException | None,
    ) -> None:
        """Go on with a large request, or answer it."""
        try:
            if error is not None:
                raise error
            if isinstance(begun, PendingRead):
                begun.pending = pending
                self._slices.add(begun)
                return
            if isinstance(begun, PendingWrite):
                # The client may have gone meanwhile.
                if not pending.abandoned:
                    self._submit_planned(begun, lambda: pending)
                return
            assert begun is not None
            encoded = self._success(route, request, begun, started)
        except (DynamoDBError, CoralError) as rejected:
            encoded = self._error(request, route.metrics, rejected, started)
        except NO_MEMORY:
            encoded = self._error(request, route.metrics, no_memory(route), started)
        except Exception:
            _logger.exception("%s failed", route.operation)
            encoded = self._error(request, route.metrics, internal_error(), started)
        _free_frames(error)
        pending.send(encoded)

    def _require_room(self, route: Route, size: int) -> None:
        """A single request always has room."""
        scheduler = self._scheduler
        if route.writes and scheduler.queued >= QUEUED_WRITES:
            raise ThrottlingException("Too many writes are waiting for the disk; retry with a longer pause.")
        used = scheduler.queued_bytes + self._slices.bytes + self._large.bytes
        if used and used + size > UNDER_WAY_BYTES // ROOM_FOR_ITEMS and used + size > _room_for(size):
            raise CoralError(503, UNAVAILABLE, "Too many bytes are under way; retry in a moment.")

    def _finish(self, write: PendingWrite) -> None:
        """Answer a write whose commit has ended, successfully or not."""
        if write.error is not None and self._is_rehearsed_again(write):
            return
        route = write.route
        try:
            error = self._database.settle(route.operation, write.error)
            if error is None:
                answer = write.result
                if type(answer) is not FastAnswer:
                    answer = _encoded(answer, write.hides_capacity)
                encoded = self._success(route, write.request, answer, write.started)
            else:
                encoded = self._failure(write, error)
        except Exception:
            _logger.exception("%s is committed, but its answer failed", route.operation)
            encoded = self._error(write.request, route.metrics, internal_error(), write.started)
        # Now: its client may send its next write while the other answers are made. (Sent together, they left the loop
        # waiting at 8 connections, three times as often.)
        write.pending.send_now(encoded)

    def _is_rehearsed_again(self, write: PendingWrite) -> bool:
        return isinstance(write.error, NotRehearsed) and self._costly.is_rehearsed_again(write)

    def _failure(self, write: PendingWrite, error: BaseException) -> bytes:
        """The answer to a write whose work was not committed."""
        if not isinstance(error, DynamoDBError | CoralError):
            if isinstance(error, NO_MEMORY):
                error = no_memory(write.route)
            else:
                _logger.error("%s failed", write.route.operation, exc_info=error)
                error = internal_error()
        _free_frames(write.error)
        return self._error(write.request, write.route.metrics, error, write.started)

    def _read(
        self,
        route: Route,
        request: Request,
        shape: Any,
        started: float,
        defer: Defer,
        begun: Slices[FastAnswer] | None,
    ) -> FastAnswer | None:
        """The answer of a general operation; None if it comes later. `begun` has done a slice on the fast path."""
        hides_capacity = route.ask_for_capacity(shape)
        if route.sliced_read is None:
            return _encoded(self._database.execute(route.operation, shape), hides_capacity)
        begin = partial(route.sliced_read, self._database, shape)
        read = PendingRead(begin, self._advance_read, route, request, started, len(request.body), hides_capacity)
        if begun is not None:
            read.go_on_with(begun)
        elif not len(self._slices) and read.run_slice():
            return _encoded(read.answer, read.hides_capacity)
        self._require_room(route, len(request.body))
        request.body = b""
        read.pending = defer()
        # What follows on the connection must not be seen by this read.
        read.pending.overlaps = False
        self._slices.add(read)
        return None

    def _advance_read(self, read: PendingRead) -> bool:
        """Run a slice, and answer after the last one; returns whether it was."""
        route = read.route
        try:
            if not read.run_slice():
                return False
            pieces = self._pieces(read)
        except DynamoDBError as error:
            pieces = [self._error(read.request, route.metrics, error, read.started)]
        except NO_MEMORY:
            pieces = [self._error(read.request, route.metrics, no_memory(route), read.started)]
        except Exception:
            _logger.exception("%s failed", route.operation)
            pieces = [self._error(read.request, route.metrics, internal_error(), read.started)]
        read.pending.send_in_pieces(pieces)
        return True

    def _pieces(self, read: PendingRead) -> list[bytes]:
        """The answer of a read that has ended, in several pieces if it is long."""
        answer = read.answer
        if not isinstance(answer, FastAnswer):
            units = _units_of(answer, read.hides_capacity)
            pieces = to_pieces(answer)
            if len(pieces) > 1:
                self._count(read.route, units, read.started)
                return self._responses.in_pieces(read.request, pieces)
            answer = FastAnswer(pieces[0], units)
        return [self._success(read.route, read.request, answer, read.started)]

    def _success(self, route: Route, request: Request, answer: FastAnswer, started: float) -> bytes:
        self._count(route, answer.units, started)
        return self._responses.success(request, answer.text)

    def _count(self, route: Route, units: dict[str, float], started: float) -> None:
        """Count a request that succeeded."""
        consumed = route.consumed
        for table, more in units.items():
            consumed[table] += more
        route.metrics.count(OK, monotonic() - started)

    def _error(
        self, request: Request, metrics: RequestMetrics, error: DynamoDBError | CoralError, started: float
    ) -> bytes:
        try:
            text = messages.error_json(error)
        except Exception:
            _logger.exception("the error %s cannot be sent", error.code)
            error = internal_error()
            text = messages.error_json(error)
        metrics.count(error.code, monotonic() - started)
        return self._responses.answer(request, error.status, text, headers=RETRY_AFTER if error.status == 503 else b"")

    def _answer_other(self, request: Request) -> bytes:
        """Requests that name no operation."""
        try:
            return self._page(request)
        except Exception:
            _logger.exception("%s failed", request.target.decode("latin-1"))
            return self._error(request, self._unknown, internal_error(), monotonic())

    def _page(self, request: Request) -> bytes:
        """Health, metrics, and errors."""
        path = request.target.partition(b"?")[0]
        if request.method in (b"GET", b"HEAD") and path in (b"/", b"/health"):
            # For any host: it shows nothing, and probes often send none.
            blockage = self._scheduler.blockage()
            text = HEALTHY if blockage is None else HEALTHY + blockage.encode() + b"\n"
            return self._responses.answer(request, 200, text, TEXT)
        try:
            self._authentication.check_host(request)
        except CoralError as rejected:
            return self._error(request, self._unknown, rejected, monotonic())
        if request.method == b"OPTIONS" and b"access-control-request-method" in request.headers:
            return self._preflight(request)
        if request.method in (b"GET", b"HEAD"):
            if path == b"/metrics":
                return self._responses.answer(request, 200, render(self._scrape(), FAMILIES), TEXT)
            missing = CoralError(404, "NotFound", "Not found. Operations are sent by POST to /.")
            return self._error(request, self._unknown, missing, monotonic())
        if request.method != b"POST":
            error = CoralError(405, "MethodNotAllowed", "Operations are sent by POST.")
            allow = b"Allow: GET, HEAD, POST\r\n"
            return self._responses.answer(request, 405, messages.error_json(error), headers=allow)
        unknown = UnknownOperationException("An unknown operation was requested.")
        return self._error(request, self._unknown, unknown, monotonic())

    def _preflight(self, request: Request) -> bytes:
        if self._authentication.allowed_origin(request.headers.get(b"origin", b"")) is not None:
            return self._responses.preflight(request)
        return self._error(request, self._unknown, CoralError(403, "AccessDeniedException", NO_WEB_PAGES), monotonic())


def _room_for(size: int) -> int:
    """How many bytes may be under way with a request of this size."""
    if size <= LARGE_BYTES:
        return UNDER_WAY_BYTES
    return UNDER_WAY_BYTES - UNDER_WAY_BYTES // (ROOM_FOR_SMALL if size <= ITEM_BODY_BYTES else ROOM_FOR_ITEMS)


def _decode(route: Route, caller: Caller | None, body: bytes) -> Any:
    shape = (decode_in_pieces if len(body) > LARGE_BYTES else requests.decode)(route.operation, body)
    if caller is not None:
        caller.check(route.operation, shape)
    return shape


def _encoded(answer: Answer | FastAnswer, hides_capacity: bool) -> FastAnswer:
    if isinstance(answer, FastAnswer):
        return answer
    units = _units_of(answer, hides_capacity)
    return FastAnswer(to_json(answer), units)


def _units_of(answer: Answer, hides_capacity: bool) -> dict[str, float]:
    """Capacity units by table, which the answer shows unless they are to be hidden."""
    consumed: Any = answer.pop("ConsumedCapacity", ()) if hides_capacity else answer.get("ConsumedCapacity", ())
    units: dict[str, float] = {}
    for part in (consumed,) if isinstance(consumed, dict) else consumed:
        table = part.get("TableName")
        if table is None:
            # A vector search's, which is measured in bytes.
            continue
        units[table] = units.get(table, 0.0) + part["CapacityUnits"]
    return units


def _free_frames(error: BaseException | None) -> None:
    """Free what the frames of an answered error hold: a request's values, which can take 50 MB.

    The frames hold the error, too, so without this they stay until the collector runs. It rarely does: it counts
    containers, and values are not.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def no_memory(route: Route) -> CoralError:
    """The error of a request for which an allocation failed."""
    _logger.error("%s failed for lack of memory", route.operation)
    return CoralError(503, UNAVAILABLE, LACKS_MEMORY)


def internal_error() -> InternalServerError:
    return InternalServerError("Internal server error")
