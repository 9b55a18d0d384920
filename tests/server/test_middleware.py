"""Request ids, limits, errors and metrics, for all sorts of routes alike."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from litestar import get, post
from litestar.exceptions import ImproperlyConfiguredException
from litestar.params import FromPath, FromQuery, JSONBody

import sortkey as sk
from sortkey.server.app import app_of
from sortkey.server.errors import INTERNAL
from sortkey.server.middleware import Middleware
from tests.server.calling import Ask, call
from tests.server.conftest import WithApp
from tests.server.notes import Note, Notes

SEARCHES = ("/notes/s/search", "/notes/s/slow-search")
"""By the fast path and by Litestar's general path."""


# The fast path must differ from the general path only in time.
@pytest.mark.parametrize(
    "body",
    [
        {"names": ["a"]},
        {"names": ["a", "b", "none"], "limit": 1},
        {"names": []},
        {"names": ["a", 3]},
        {"names": "a"},
        {"limit": 3},
        {"names": ["a"], "limit": 0},
        [],
        b"{",
        b'{"names": ["\xff"]}',
        b"nonsense",
    ],
    ids=str,
)
def test_the_fast_path_answers_as_the_general_path(with_app: WithApp, body: object) -> None:
    async def use(middleware: Middleware) -> None:
        for name in "ab":
            assert (await call(middleware, "PUT", f"/notes/s/{name}", {"text": f"text of {name}"})).status == 200
        fast, slow = [await call(middleware, "POST", path, body) for path in SEARCHES]
        assert (fast.status, fast.json()) == (slow.status, slow.json())
        assert fast.headers.keys() == slow.headers.keys()

    with_app(use)


# How deep the decoder goes depends on the version of Python; the answer does not.
@pytest.mark.parametrize("path", SEARCHES)
@pytest.mark.parametrize(
    "deep", [b"[" * 300, b"[" * 5000, b'{"a":' * 300, b'["[",' * 300, b"[" * 50_000 + b"]" * 50_000]
)
def test_a_body_that_is_nested_too_deeply(with_app: WithApp, path: str, deep: bytes) -> None:
    async def use(middleware: Middleware) -> None:
        answer = await call(middleware, "POST", path, b'{"unknown": ' + deep)
        assert (answer.status, answer.error["code"]) == (400, "malformed_json")
        assert answer.error["message"] == "The body is nested too deeply: at most 256 levels."

    with_app(use)


# A text may have any brackets.
@pytest.mark.parametrize("path", SEARCHES)
def test_brackets_in_a_text_are_no_levels(with_app: WithApp, path: str) -> None:
    async def use(middleware: Middleware) -> None:
        answer = await call(middleware, "POST", path, b'{"names": ["' + b"[" * 1000 + b'\\"["], "limit": ')
        assert answer.error["message"] == "The body is not JSON: Input data was truncated"

    with_app(use)


@pytest.mark.parametrize("path", SEARCHES)
@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b'{"names": [', "malformed_json", None),
        (b'{"other": ' * 2000, "malformed_json", None),
        (b'{"names": ["a", 3]}', "invalid_request", "names[1]"),
        (b'{"names": []}', "invalid_request", "names"),
        (b'{"limit": 3}', "invalid_request", None),
        (b"[]", "invalid_request", None),
    ],
)
def test_the_error_of_an_invalid_body_names_the_field(
    with_app: WithApp, path: str, body: bytes, code: str, field: str | None
) -> None:
    async def use(middleware: Middleware) -> None:
        answer = await call(middleware, "POST", path, body)
        assert answer.status == 400
        assert answer.error["code"] == code
        assert [detail.get("field") for detail in answer.error["details"]] == ([] if "json" in code else [field])

    with_app(use)


@pytest.mark.parametrize("path", SEARCHES)
def test_a_missing_body(with_app: WithApp, path: str) -> None:
    async def use(middleware: Middleware) -> None:
        assert (await call(middleware, "POST", path)).status == 400

    with_app(use)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/nothing/here", 404, "not_found"),
        ("GET", "/notes/s/unheard-of", 404, "not_found"),
        ("PATCH", "/notes/s/search", 405, "method_not_allowed"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("DELETE", "/notes/s/throttled", 503, "overloaded"),
        ("DELETE", "/notes/s/limited", 503, "overloaded"),
        ("DELETE", "/notes/s/late", 503, "overloaded"),
        ("DELETE", "/notes/s/away", 503, "store_unavailable"),
        ("DELETE", "/notes/s/full", 503, "store_unavailable"),
        ("DELETE", "/notes/s/fenced", 503, "store_unavailable"),
        ("DELETE", "/notes/s/moved", 503, "store_unavailable"),
        ("DELETE", "/notes/s/cursor", 400, "invalid_request"),
        ("DELETE", "/notes/s/conflict", 409, "shelf_full"),
        ("DELETE", "/notes/s/rejected", 500, "internal"),
        ("DELETE", "/notes/s/unexpected", 500, "internal"),
        ("GET", "/notes-raw-broken", 500, "internal"),
        # The part that it had sent is dropped.
        ("GET", "/notes-raw-half", 500, "internal"),
    ],
)
def test_every_error_has_the_same_shape(with_app: WithApp, method: str, path: str, status: int, code: str) -> None:
    async def use(middleware: Middleware) -> None:
        answer = await call(middleware, method, path)
        assert (answer.status, answer.error["code"]) == (status, code)
        # SDKs and proxies wait as long as Retry-After says, and hammer otherwise.
        assert ("retry-after" in answer.headers) is (status == 503)
        assert ("allow" in answer.headers) is (status == 405)
        assert "x-request-id" in answer.headers

    with_app(use)


# The client gets only the request id; the trace goes to the log.
@pytest.mark.parametrize("path", ["/notes/s/unexpected", "/notes-raw-broken"])
def test_an_unexpected_error_is_logged_and_not_shown(
    with_app: WithApp, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(middleware: Middleware) -> None:
        answer = await call(middleware, "DELETE", path, x_request_id="mine-1")
        assert b"secret" not in answer.body
        assert b"purpose" not in answer.body
        assert "mine-1" in answer.error["message"]

    with caplog.at_level(logging.ERROR):
        with_app(use)
    (record,) = caplog.records
    assert "mine-1" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is RuntimeError


# The request would wait for ever, and so would those behind it on its connection.
def test_a_failure_around_the_answer_is_an_internal_error(
    with_app: WithApp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> str:
        raise OSError("no space left")

    async def use(middleware: Middleware) -> None:
        monkeypatch.setattr("sortkey.server.middleware._route_name", broken)
        answer = await call(middleware, "GET", "/nowhere")
        assert (answer.status, answer.error["code"]) == (500, INTERNAL)
        assert answer.headers["x-request-id"] in answer.error["message"]

    with_app(use)
    assert "no space left" in caplog.text


def test_an_error_of_the_service_has_its_details(with_app: WithApp) -> None:
    async def use(_: Middleware) -> None:
        notes = Notes.__new__(Notes)
        notes._read_only = True
        answer = await call(app_of([notes]), "PUT", "/notes/s/a", {"text": "x"})
        assert answer.status == 400
        assert answer.error["message"] == "notes are read-only here"
        assert answer.error["details"] == [{"message": "readOnly is set in the configuration"}]

    with_app(use)


@pytest.mark.parametrize("path", ["/notes/s/search", "/health", "/notes-raw", "/nothing"])
@pytest.mark.parametrize(
    ("given", "kept"), [("abc-1:2/3", True), ("", False), ("a b", False), ('a"b', False), ("x" * 129, False)]
)
def test_a_request_keeps_its_id_or_gets_one(ask: Ask, path: str, given: str, kept: bool) -> None:
    first, second = [ask("GET", path, x_request_id=given) for _ in range(2)]
    if kept:
        assert first.headers["x-request-id"] == given
    else:
        assert len({first.headers["x-request-id"], second.headers["x-request-id"], given}) == 3


@pytest.mark.parametrize("path", ["/health", "/notes-raw"])
def test_head_is_answered_as_get_is(with_app: WithApp, path: str) -> None:
    async def use(middleware: Middleware) -> None:
        assert (await call(middleware, "HEAD", path)).status == 200

    with_app(use)


class TestBodies:
    @pytest.mark.parametrize("path", SEARCHES)
    def test_one_that_is_too_large_is_rejected(self, with_app: WithApp, path: str) -> None:
        async def use(middleware: Middleware) -> None:
            answer = await call(middleware, "POST", path, b"x" * 101)
            assert (answer.status, answer.error["code"]) == (413, "too_large")
            assert (await call(middleware, "POST", path, b'{"names": ["a"]}'.ljust(100))).status == 200

        with_app(use, body_bytes=100)

    @pytest.mark.parametrize("path", SEARCHES)
    @pytest.mark.parametrize(
        ("name", "value", "status"),
        [
            ("content_type", "application/json", 200),
            ("content_type", "application/json; charset=utf-8", 200),
            ("content_type", "application/vnd.notes+json", 200),
            ("content_type", "application/x-www-form-urlencoded", 200),  # curl -d, by default
            ("content_type", "text/plain", 415),
            ("content_type", "multipart/form-data; boundary=x", 415),
            ("content_encoding", "gzip", 415),
        ],
    )
    def test_only_json_will_do(self, with_app: WithApp, path: str, name: str, value: str, status: int) -> None:
        async def use(middleware: Middleware) -> None:
            answer = await call(middleware, "POST", path, {"names": ["a"]}, **{name: value})
            assert answer.status == status

        with_app(use)


# Beyond the limit, queueing would only make all answers later.
def test_too_many_at_once_are_rejected(with_app: WithApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(middleware: Middleware) -> None:
        begun, end = asyncio.Event(), asyncio.Event()

        async def slow(*_: object) -> None:
            begun.set()
            await end.wait()

        monkeypatch.setattr(Notes, "put", slow)
        waiting = asyncio.create_task(call(middleware, "PUT", "/notes/s/a", {"text": "x"}))
        await begun.wait()
        for path in ("/health", "/notes/s/search", "/notes-raw"):
            rejected = await call(middleware, "GET", path)
            assert (rejected.status, rejected.error["code"]) == (503, "overloaded")
            assert rejected.headers["retry-after"] == "1"
        end.set()
        assert (await waiting).status == 200
        assert (await call(middleware, "GET", "/health")).status == 200

    with_app(use, in_flight=1)


class MeasuredNotes(Notes):
    families: Mapping[str, tuple[str, str]] = {"notes_shelves": ("gauge", "Shelves with notes.")}
    away = False

    async def samples(self) -> dict[str, float]:
        if self.away:
            raise EndpointConnectionError(endpoint_url="http://store")
        return {"notes_shelves": 7}


def test_a_service_may_have_metrics_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    async def whole() -> None:
        async with sk.async_connect("memory:", tables=[Note]) as session:
            notes = MeasuredNotes(session, {})
            middleware = app_of([notes])
            answer = await call(middleware, "GET", "/metrics")
            assert b"# TYPE notes_shelves gauge\nnotes_shelves 7\n" in answer.body
            # A store that is away must not take all other metrics away.
            notes.away = True
            answer = await call(middleware, "GET", "/metrics")
            assert answer.status == 200
            assert b"sortkey_http_requests_in_flight 1" in answer.body

    asyncio.run(whole())
    assert "there are no metrics of notes" in caplog.text


def test_metrics_cover_every_sort_of_route(with_app: WithApp) -> None:
    async def use(middleware: Middleware) -> None:
        await call(middleware, "PUT", "/notes/s/a", {"text": "x"})
        await call(middleware, "POST", "/notes/s/search", {"names": ["a", "b"]})
        await call(middleware, "POST", "/notes/s/slow-search", {"names": 3})
        await call(middleware, "GET", "/notes-raw")
        await call(middleware, "GET", "/nothing/1")
        await call(middleware, "GET", "/nothing/2")
        answer = await call(middleware, "GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = answer.body.decode().splitlines()
        requests = "sortkey_http_requests_total"
        assert f'{requests}{{route="PUT /notes/{{shelf}}/{{name}}",outcome="ok"}} 1' in lines
        assert f'{requests}{{route="POST /notes/{{shelf}}/slow-search",outcome="invalid_request"}} 1' in lines
        assert f'{requests}{{route="GET /notes-raw",outcome="ok"}} 1' in lines
        # Paths without a route must not become series, or clients could fill the memory.
        assert f'{requests}{{route="none",outcome="not_found"}} 2' in lines
        assert 'sortkey_http_request_seconds_count{route="POST /notes/{shelf}/search"} 1' in lines
        assert "sortkey_http_requests_in_flight 1" in lines
        assert 'sortkey_path_rows_returned_total{path="Note.key"} 1' in lines
        assert 'sortkey_path_read_amplification{path="Note.key"} 1' in lines

    with_app(use)


class TestOrigins:
    """Without tokens, pages in a browser on this machine could reach the server."""

    @pytest.mark.parametrize("path", [*SEARCHES, "/notes-raw"])
    def test_pages_of_other_origins_are_rejected(self, with_app: WithApp, path: str) -> None:
        async def use(middleware: Middleware) -> None:
            answer = await call(
                middleware, "POST", path, {"names": ["a"]}, host="localhost:8080", origin="https://evil.test"
            )
            assert (answer.status, answer.error["code"]) == (403, "forbidden")

        with_app(use)

    @pytest.mark.parametrize("path", SEARCHES)
    def test_our_own_page_is_not(self, with_app: WithApp, path: str) -> None:
        async def use(middleware: Middleware) -> None:
            headers = {"host": "localhost:8080", "origin": "http://localhost:8080"}
            assert (await call(middleware, "POST", path, {"names": ["a"]}, **headers)).status == 200

        with_app(use)


class Odd:
    """A service with one route."""

    name = "odd"

    def __init__(self, route: Any) -> None:
        self.routes = [route]


def odd_routes() -> list[Any]:
    @get("/odd/{number:int}", fast=True)
    async def number(number: FromPath[int]) -> dict[str, int]:
        return {"number": number}

    @get("/odd", fast=True)
    async def query(limit: FromQuery[float] = 3) -> dict[str, float]:
        return {"limit": limit}

    @post("/odd", fast=True, sync_to_thread=False)
    def blocking(data: JSONBody[dict[str, int]]) -> dict[str, int]:
        return data

    return [number, query, blocking]


# Such a mark is a mistake in the service, and raises when the app is created.
@pytest.mark.parametrize("route", odd_routes(), ids=lambda route: route.fn.__name__)
def test_a_handler_that_needs_the_general_path_cannot_be_fast(route: Any) -> None:
    odd: Any = Odd(route)
    with pytest.raises(ImproperlyConfiguredException, match="fast handler"):
        app_of([odd])
