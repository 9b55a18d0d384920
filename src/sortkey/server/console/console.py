"""Requests of the console: the page, its files, the JSON API, and streams of events.

It stands beside the requests of services and SDKs, not among them: they pass only one comparison of their target. Its
own requests are few, each a task of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from time import perf_counter, time
from typing import Final

import msgspec

from sortkey.http.connection import Defer, PendingAnswer
from sortkey.http.pages import PREFIX
from sortkey.http.request_parser import Request
from sortkey.http.response import ResponseWriter, accepts_gzip, compress
from sortkey.model.errors import ModelError, NoAccessPath
from sortkey.server.access_log import AccessLog, Entry, TimeText
from sortkey.server.console.access import Access, Viewer, check_site
from sortkey.server.console.assets import SAFE_HEADERS, Asset, Assets
from sortkey.server.console.live.broadcast import Broadcast, LiveRequest
from sortkey.server.console.routes import ChangedError, Routes, invalid, missing
from sortkey.server.console.store import StoreError
from sortkey.server.errors import ApiError, ErrorAnswer, api_error, body_error, error_answer, overloaded
from sortkey.storage import FolderBusy

API: Final = "/console/api/"
FILES: Final = "/console/assets/"
OPEN: Final = "/console/api/open"
LIVE: Final = "live"
BODY_BYTES: Final = 4 * 1024 * 1024
"""Two items of the largest size and a condition on them."""
COMPRESS_BYTES: Final = 4096
"""Shorter answers are not compressed: most consoles are on the same machine."""
COMPRESS_MOST: Final = 256 * 1024
"""Nor are longer ones: the loop would wait for the compressor."""
IN_FLIGHT: Final = 32
"""Requests of all pages that are under way."""
FAREWELL: Final = b"event: bye\ndata: {}\n\n"

_HTML: Final = b"text/html"
_JSON: Final = b"application/json"
_NOT_BUILT: Final = "The console's page is not built in this checkout: run 'make console'."
_THROTTLED: Final = ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")

_logger = logging.getLogger(__name__)


class Open(msgspec.Struct, frozen=True):
    auth: str
    product: str = "sortkey"


class Console:
    """Pages for a server, as `sortkey.http.pages` has them."""

    def __init__(
        self,
        access: Access,
        routes: Routes,
        broadcast: Broadcast,
        log: AccessLog | None = None,
        assets: Assets | None = None,
        *,
        browsers_only: bool = False,
    ) -> None:
        """With `browsers_only`, a `GET /` of a program is left to the server."""
        self._access = access
        self._routes = routes
        self._broadcast = broadcast
        self._log = log
        self._assets = assets or Assets()
        self._browsers_only = browsers_only
        self._encode = msgspec.json.Encoder().encode
        self._decoders = {name: msgspec.json.Decoder(route.body) for name, route in routes.items()}
        self._live = msgspec.json.Decoder(LiveRequest)
        self._responses = ResponseWriter(time())
        self._tasks: set[asyncio.Task[None]] = set()
        self._time = TimeText()
        self._identity = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    def serves(self, request: Request) -> bool:
        target = request.target
        if target.startswith(PREFIX):
            return True
        if target != b"/" or request.method not in (b"GET", b"HEAD"):
            return False
        return not self._browsers_only or _HTML in request.headers.get(b"accept", b"")

    def begin(self, request: Request, peer: str, defer: Defer) -> bytes | None:
        self._responses.tick(time())
        path = request.target.partition(b"?")[0].decode("latin-1")
        try:
            self._access.check_host(request)
            name = path.removeprefix(API)
            if name == path or path == OPEN:
                return self._get(request, path)
            self._check_call(request)
            if name == LIVE:
                self._begin_live(request, defer)
                return None
            if name not in self._routes:
                raise missing(f"There is no {path}.")
            if len(self._tasks) >= IN_FLIGHT:
                raise ApiError(overloaded("Too many requests of consoles are under way; try again."))
        except ApiError as error:
            return self._error(request, error.answer)
        pending = defer()
        pending.overlaps = False
        task = asyncio.create_task(self._answer(request, peer, name, pending))
        # The loop keeps no reference to it.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    async def close(self) -> None:
        """End what is under way."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _get(self, request: Request, path: str) -> bytes:
        """The page, a file of it, or how to log in."""
        if request.method not in (b"GET", b"HEAD"):
            raise api_error(405, f"{path} is read by GET.", allow="GET, HEAD")
        if path == OPEN:
            return self._json(request, self._encode(Open(self._access.auth)))
        if path == "/":
            if self._assets.page is None:
                raise missing(_NOT_BUILT)
            return self._file(request, self._assets.page)
        found = self._assets.file(path.removeprefix(FILES)) if path.startswith(FILES) else None
        if found is None:
            raise missing(f"There is no {path}.")
        return self._file(request, found)

    def _file(self, request: Request, asset: Asset) -> bytes:
        status, headers, body = asset.answer(request)
        return self._responses.whole(request, status, headers, body)

    def _check_call(self, request: Request) -> None:
        if request.method != b"POST":
            raise api_error(405, "The console's API is called by POST.", allow="POST")
        check_site(request)
        # A form of another page cannot send this type without asking first.
        if request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != _JSON:
            raise api_error(415, "The body must be JSON with 'Content-Type: application/json'.")
        if len(request.body) > BODY_BYTES:
            raise api_error(413, f"The body is too large; the limit is {BODY_BYTES:,} bytes.")

    def _begin_live(self, request: Request, defer: Defer) -> None:
        viewer = self._access.viewer(request)
        try:
            wanted = self._live.decode(request.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ApiError(body_error(error)) from None
        self._broadcast.require_room(viewer, wanted)
        head = b"%bContent-Type: text/event-stream\r\nCache-Control: no-store\r\n%bConnection: close\r\n\r\n" % (
            self._responses.start(200),
            SAFE_HEADERS,
        )
        self._broadcast.add(viewer, wanted, defer().begin_stream(head, FAREWELL))

    async def _answer(self, request: Request, peer: str, name: str, pending: PendingAnswer) -> None:
        started = perf_counter()
        request_id = f"console-{self._identity}-{next(self._numbers):x}"
        viewer: Viewer | None = None
        failed: ErrorAnswer | None = None
        try:
            viewer = self._access.viewer(request)
            body = self._decoders[name].decode(request.body)
            answer = self._json(request, self._encode(await self._routes[name].handle(viewer, body)))
        except ChangedError as changed:
            failed = changed.answer
            answer = self._whole(request, failed.status, b"", changed.json())
        except Exception as error:
            failed = _error_of(error, request_id)
            if failed.logged:
                _logger.exception("request %s (%s) failed", request_id, name)
            answer = self._error(request, failed)
        pending.send(answer)
        if self._log is not None:
            self._log.write(
                Entry(
                    self._time.at(time()),
                    request_id,
                    peer,
                    "POST",
                    f"{API}{name}",
                    200 if failed is None else failed.status,
                    round((perf_counter() - started) * 1000, 3),
                    None if failed is None else failed.code,
                    None if viewer is None else viewer.name,
                )
            )

    def _json(self, request: Request, body: bytes) -> bytes:
        headers = b""
        if COMPRESS_BYTES <= len(body) <= COMPRESS_MOST and accepts_gzip(request):
            headers, body = b"Content-Encoding: gzip\r\n", compress(body)
        return self._whole(request, 200, headers, body)

    def _whole(self, request: Request, status: int, headers: bytes, body: bytes) -> bytes:
        own = b"Content-Type: application/json\r\nCache-Control: no-store\r\n"
        return self._responses.whole(request, status, headers + own + SAFE_HEADERS, body)

    def _error(self, request: Request, answer: ErrorAnswer) -> bytes:
        lines = b"".join(b"%b: %b\r\n" % (name.encode(), value.encode()) for name, value in answer.headers)
        return self._whole(request, answer.status, lines, answer.json())


def _error_of(error: Exception, request_id: str) -> ErrorAnswer:
    match error:
        case msgspec.DecodeError() | UnicodeDecodeError():
            return body_error(error)
        case RecursionError():
            return invalid("The body is nested too deeply.").answer
        case StoreError():
            return _store_error(error)
        case FolderBusy():
            return overloaded("Another process writes to the folder; try again.")
        case NoAccessPath():
            return ErrorAnswer(400, "no_access_path", str(error))
        case ModelError():
            answer = error_answer(error, request_id)
            return invalid(str(error)).answer if answer.logged else answer
    return error_answer(error, request_id)


def _store_error(error: StoreError) -> ErrorAnswer:
    if error.code == "ResourceNotFoundException":
        return missing(error.message).answer
    if error.code in _THROTTLED:
        return overloaded(error.message)
    if error.code in ("InternalServerError", "ServiceUnavailableException"):
        return overloaded(error.message, "store_unavailable", logged=True)
    return invalid(f"{error.code}: {error.message}").answer
