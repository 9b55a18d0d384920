"""`Idempotency-Key`: a request that is sent again gets the same answer, and changes nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from botocore.exceptions import ClientError
from litestar import asgi, post
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

import sortkey as sk
from sortkey.clock import SystemClock
from sortkey.server import idempotency, tokens
from sortkey.server.app import app_of
from sortkey.server.idempotency import Idempotency
from sortkey.server.kept_requests import KeptRequest
from sortkey.server.tokens import KnownTokens
from sortkey.services.operation import REQUESTS
from tests.passing_time import while_time_passes
from tests.server.calling import Answer, call
from tests.server.notes import Note, Notes
from tests.server.serving import Process

PATHS = ["/fast", "/general", "/raw"]
SECONDS = 60.0

Body = dict[str, Any]


class Done(msgspec.Struct):
    times: int
    text: str = ""


class Counter:
    """Counts how often its work was done, behind every sort of route."""

    name = "counter"
    feeds: Sequence[sk.feeds.ChangeFeed[Any]] = ()

    def __init__(self) -> None:
        self.times = 0
        self.operations: list[str | None] = []
        self.errors: list[Exception] = []
        """What the next requests end with, after their work."""
        self.begun = asyncio.Event()
        self.end = asyncio.Event()
        self.end.set()
        self.text = ""

    async def start(self) -> None:
        pass

    async def work(self) -> Done:
        operation = sk.services.current_operation()
        self.operations.append(None if operation is None else operation.id)
        self.begun.set()
        await self.end.wait()
        self.times += 1
        if self.errors:
            raise self.errors.pop(0)
        return Done(self.times, self.text)

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        @post("/fast", status_code=202, fast=True)
        async def fast(data: JSONBody[Body]) -> Done:  # noqa: ARG001
            return await self.work()

        @post("/general", status_code=202)
        async def general(data: JSONBody[Body], by: FromQuery[str | None] = None) -> Done:  # noqa: ARG001
            return await self.work()

        @post("/of/{name:str}", status_code=202, fast=True)
        async def named(name: FromPath[str]) -> Done:  # noqa: ARG001
            return await self.work()

        @asgi("/raw", copy_scope=False)
        async def raw(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
            body = msgspec.json.encode(await self.work())
            headers = [(b"content-type", b"application/json"), (b"x-own", b"kept")]
            await send({"type": "http.response.start", "status": 202, "headers": headers})
            await send({"type": "http.response.body", "body": body, "more_body": False})

        return [fast, general, named, raw]


class RenewalClock(sk.testing.ManualClock):
    """Knows when a row is next renewed: a test that moves the clock waits until somebody waits by it."""

    def __init__(self) -> None:
        super().__init__(SystemClock().now())
        self.renewals = asyncio.Queue[None]()

    async def sleep(self, seconds: float) -> None:
        if seconds == idempotency.LEASE_SECONDS / 3:
            self.renewals.put_nowait(None)
        await super().sleep(seconds)


class Served:
    """The counter behind an app, on a store in memory."""

    def __init__(self, session: sk.AsyncSession, tokens: KnownTokens | None) -> None:
        self.session = session
        self.counter = Counter()
        # Of the servers; the store goes by the machine's, so that it deletes nothing when this one is a day ahead.
        self.clock = RenewalClock()
        self.idempotency = Idempotency(session, self.clock)
        self.app = app_of([self.counter], tokens=tokens, idempotency=self.idempotency)

    async def post(self, path: str = "/fast", body: object = None, key: str | None = "k-1", **headers: str) -> Answer:
        if key is not None:
            headers["idempotency_key"] = key
        return await call(self.app, "POST", path, {"a": 1} if body is None else body, **headers)

    async def rows(self) -> list[KeptRequest]:
        return [row async for row in self.session.scan(KeptRequest)]


def run(use: Callable[[Served], Coroutine[Any, Any, None]], tokens: KnownTokens | None = None) -> None:
    async def whole() -> None:
        async with sk.async_connect("memory:") as session:
            served = Served(session, tokens)
            await served.idempotency.start()
            async with asyncio.timeout(SECONDS):
                await use(served)

    asyncio.run(whole())


@pytest.mark.parametrize("path", PATHS)
def test_the_same_request_gets_the_same_answer(path: str) -> None:
    async def use(served: Served) -> None:
        first = await served.post(path)
        assert (first.status, first.json()["times"]) == (202, 1)
        assert "idempotency-replayed" not in first.headers
        again = await served.post(path)
        assert (again.status, again.body) == (first.status, first.body)
        assert again.headers["idempotency-replayed"] == "true"
        own = {
            name: value for name, value in again.headers.items() if name not in ("idempotency-replayed", "x-request-id")
        }
        assert own == {name: value for name, value in first.headers.items() if name != "x-request-id"}
        assert served.counter.times == 1

    run(use)


# What would make a repeat another request: the byte for byte same one is the only repeat.
@pytest.mark.parametrize(
    ("path", "body"), [("/general", {"a": 2}), ("/general?by=ada", None), ("/general", b'{"a": 1 }')]
)
def test_a_key_with_another_body_or_query_is_refused(path: str, body: object) -> None:
    async def use(served: Served) -> None:
        await served.post("/general")
        refused = await served.post(path, body)
        assert (refused.status, refused.error["code"]) == (409, "idempotency_key_reused")
        assert served.counter.times == 1

    run(use)


def test_other_keys_paths_and_requests_without_a_key_are_requests_of_their_own() -> None:
    async def use(served: Served) -> None:
        for path, key in [("/of/a", "k"), ("/of/b", "k"), ("/of/a", "K"), ("/of/a", None), ("/of/a", None)]:
            await served.post(path, key=key)
        assert served.counter.times == 5
        assert served.counter.operations[3:] == [None, None]

    run(use)


def test_callers_do_not_share_keys(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    made = {name: tokens.create(name, ["counter:write"]) for name in ("ada", "bob")}
    file.write_text("\n".join(entry for _, entry in made.values()))
    file.chmod(0o600)
    known = tokens.load(file, ["counter"])

    async def use(served: Served) -> None:
        for name in ("ada", "bob", "ada", "bob"):
            await served.post(authorization=f"Bearer {made[name][0]}")
        assert served.counter.times == 2
        # Without a token, a key gets nothing.
        assert (await served.post()).status == 401

    run(use, known)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é", "\t"])
def test_a_key_that_is_none(path: str, key: str) -> None:
    async def use(served: Served) -> None:
        refused = await served.post(path, key=key)
        assert (refused.status, refused.error["code"]) == (400, "invalid_request")
        assert "1 to 255 visible ASCII" in refused.error["message"]
        assert served.counter.times == 0

    run(use)


def test_the_longest_key() -> None:
    async def use(served: Served) -> None:
        for _ in range(2):
            assert (await served.post(key="~" * 255)).json()["times"] == 1

    run(use)


# The one that came first runs; the others wait for its answer, whichever server they came to.
def test_requests_at_once_are_one() -> None:
    async def use(served: Served) -> None:
        other = app_of([served.counter], idempotency=Idempotency(served.session, served.clock))
        served.counter.end.clear()
        first = asyncio.create_task(served.post())
        await served.counter.begun.wait()
        others = [asyncio.create_task(served.post()) for _ in range(3)]
        others += [asyncio.create_task(call(other, "POST", "/fast", {"a": 1}, idempotency_key="k-1"))]
        await asyncio.sleep(0)
        served.counter.end.set()
        answers = await while_time_passes(served.clock, asyncio.gather(first, *others))
        assert {answer.body for answer in answers} == {b'{"times":1,"text":""}'}

    run(use)


# Nobody waits for ever; and as long as the row is renewed, nobody takes it over.
def test_a_request_that_takes_long_is_not_begun_again() -> None:
    async def use(served: Served) -> None:
        served.counter.end.clear()
        first = asyncio.create_task(served.post())
        await served.counter.begun.wait()
        second = asyncio.create_task(served.post())
        while not second.done():
            # One renewal after the other, however slow the machine is.
            await served.clock.renewals.get()
            served.clock.advance(idempotency.LEASE_SECONDS / 2.5)
            await asyncio.sleep(0.001)
        answer = second.result()
        assert (answer.status, answer.error["code"]) == (409, "in_progress")
        assert answer.headers["retry-after"] == "5"
        served.counter.end.set()
        assert (await first).json()["times"] == 1
        assert (await served.post()).json()["times"] == 1

    run(use)


# A killed server writes nothing more: neither an answer, nor that there was none.
def test_after_a_kill_the_next_request_takes_over_the_operation() -> None:
    async def use(served: Served) -> None:
        served.counter.end.clear()
        killed = asyncio.create_task(served.post())
        await served.counter.begun.wait()
        row = (await served.rows())[0]
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
        (inner,) = [task for task in asyncio.all_tasks() if "_answer" in repr(task.get_coro())]
        inner.cancel()
        await asyncio.gather(inner, return_exceptions=True)
        assert await served.rows() == [row]

        served.counter.end.set()
        answer = await while_time_passes(served.clock, served.post())
        assert answer.json()["times"] == 1
        first, second = served.counter.operations
        assert first == second == row.operation
        assert (await served.post()).body == answer.body

    run(use)


# A client of the store repeats a write whose answer was lost, and then its condition is not met.
def test_a_row_whose_answer_was_lost_is_its_request_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(served: Served) -> None:
        put = sk.AsyncSession.put

        async def lost(session: sk.AsyncSession, item: sk.Item, **options: Any) -> bool:
            await put(session, item, **options)
            return await put(session, item, **options)

        monkeypatch.setattr(sk.AsyncSession, "put", lost)
        # The clock stands still, so that waiting for a lease would never end.
        assert (await served.post()).json()["times"] == 1

    run(use)


# An attempt that was frozen, and overtaken, must not replace the answer that others have seen.
def test_the_answer_of_an_overtaken_attempt_is_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    async def use(served: Served) -> None:
        served.counter.end.clear()
        frozen = asyncio.create_task(served.post())
        await served.counter.begun.wait()
        (row,) = await served.rows()
        await served.session.update(row.key, {"owner": "another", "status": 202, "body": b"theirs"})
        served.counter.end.set()
        await frozen
        assert (await served.post()).body == b"theirs"

    run(use)
    assert "another attempt with its key has begun" in caplog.text


# A request that was wrong may be mended and sent under its key: nothing was done.
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "error",
    [sk.services.BadRequest("wrong"), sk.services.NotFound("nowhere"), sk.services.Conflict("busy", code="busy")],
)
def test_an_error_of_the_request_frees_the_key(path: str, error: Exception) -> None:
    async def use(served: Served) -> None:
        served.counter.errors = [error]
        assert (await served.post(path)).status in (400, 404, 409)
        assert await served.rows() == []
        assert (await served.post(path, {"a": 2})).status == 202

    run(use)


def test_a_body_that_does_not_fit_frees_the_key() -> None:
    async def use(served: Served) -> None:
        assert (await served.post(body=[1])).status == 400
        assert (await served.post(body=b"{", path="/general")).status == 400
        assert (await served.post()).status == 202

    run(use)


# The work may be done, or half of it: the next request is a further attempt at the same.
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("a mistake"),
        ClientError({"Error": {"Code": "InternalServerError", "Message": "on purpose"}}, "PutItem"),
        sk.DeadlineExceeded("not done within 30 s"),
    ],
)
def test_an_error_of_the_server_is_not_kept(path: str, error: Exception) -> None:
    async def use(served: Served) -> None:
        served.counter.errors = [error]
        assert (await served.post(path)).status in (500, 503)
        assert (await served.post(path, {"a": 2})).error["code"] == "idempotency_key_reused"
        again = await served.post(path)
        assert again.json()["times"] == 2
        assert len(set(served.counter.operations)) == 1
        assert (await served.post(path)).body == again.body

    run(use)


# The first attempt may have done it before it failed, so that the second finds it forbidden.
def test_the_operation_outlives_an_error_of_a_further_attempt() -> None:
    async def use(served: Served) -> None:
        served.counter.errors = [RuntimeError("a mistake"), sk.services.Conflict("it is there already")]
        assert [(await served.post()).status for _ in range(3)] == [500, 409, 202]
        assert len(set(served.counter.operations)) == 1

    run(use)


def test_keys_are_kept_for_a_day_also_if_the_store_has_deleted_nothing() -> None:
    async def use(served: Served) -> None:
        await served.post()
        served.clock.advance(24 * 3600 - 1)
        assert (await served.post()).json()["times"] == 1
        served.clock.advance(1)
        assert (await served.post(body={"a": 2})).json()["times"] == 2
        assert (await served.post(body={"a": 2})).json()["times"] == 2
        first, second = served.counter.operations
        assert first != second

    run(use)


# An item of DynamoDB has 400 KB.
@pytest.mark.parametrize("characters", [299_000, 300_000, 1_000_000])
def test_a_long_answer_is_kept_whole(characters: int) -> None:
    async def use(served: Served) -> None:
        served.counter.text = "x" * (characters - 1) + "y"
        first = await served.post()
        again = await served.post()
        assert again.body == first.body
        assert served.counter.times == 1

    run(use)


@pytest.mark.parametrize("path", PATHS)
def test_a_store_that_is_away(path: str) -> None:
    async def use(served: Served) -> None:
        await served.session.drop_tables(REQUESTS, dry_run=False)
        answer = await served.post(path)
        assert (answer.status, answer.error["code"]) == (503, "store_unavailable")
        assert served.counter.times == 0
        # Only those with a key need it.
        assert (await served.post(path, key=None)).status == 202

    run(use)


# The work is done: to say otherwise would have it done again.
def test_a_store_that_goes_away_before_the_answer_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    async def use(served: Served) -> None:
        served.counter.end.clear()
        asked = asyncio.create_task(served.post())
        await served.counter.begun.wait()
        await served.session.drop_tables(REQUESTS, dry_run=False)
        served.counter.end.set()
        assert (await asked).status == 202

    run(use)
    assert "is not kept" in caplog.text


def test_requests_without_a_key_touch_no_row() -> None:
    async def use(served: Served) -> None:
        before = served.session.meter.readings()
        await served.post(key=None)
        assert served.session.meter.readings() == before

    run(use)


def test_an_app_without_a_table_of_requests_takes_no_keys() -> None:
    counter = Counter()
    answer = asyncio.run(call(app_of([counter]), "POST", "/fast", {}, idempotency_key="k"))
    assert (answer.status, counter.times) == (400, 0)


# GET and HEAD change nothing; PUT and DELETE may be repeated.
def test_other_methods_take_no_notice_of_it() -> None:
    async def whole() -> None:
        async with sk.async_connect("memory:", tables=[Note]) as session:
            notes = Notes(session, {})
            await notes.start()
            app = app_of([notes], idempotency=Idempotency(session))
            for text in ("one", "two"):
                answer = await call(app, "PUT", "/notes/s/a", {"text": text}, idempotency_key="k")
                assert answer.json() == {"text": text}
            assert (await call(app, "GET", "/notes/s/a", idempotency_key="k")).json() == {"text": "two"}

    asyncio.run(whole())


class TestOperation:
    def test_the_note_of_an_attempt_is_seen_by_the_next(self) -> None:
        async def use(served: Served) -> None:
            made: list[sk.services.Operation] = []

            async def work() -> Done:
                operation = sk.services.current_operation()
                assert operation is not None
                made.append(operation)
                parts = [operation.part(), operation.part()]
                assert len({operation.id, *(part.id for part in parts)}) == 3
                if len(made) == 1:
                    assert await parts[1].done() is None
                    assert await served.session.put(parts[1].note({"n": 7}), if_absent=True)
                    raise RuntimeError("killed")
                assert await parts[0].done() is None
                assert not await served.session.put(parts[1].note({"n": 8}), if_absent=True)
                return Done(1, repr(await parts[1].done()))

            served.counter.work = work  # type: ignore[method-assign]
            assert (await served.post()).status == 500
            assert (await served.post()).json()["text"] == "{'n': 7}"

        run(use)

    def test_there_is_none_outside_of_requests(self) -> None:
        assert sk.services.current_operation() is None


def test_the_documentation_names_the_header() -> None:
    async def use(served: Served) -> None:
        described = (await call(served.app, "GET", "/openapi.json")).json()
        (header,) = [each for each in described["paths"]["/fast"]["post"]["parameters"] if each["in"] == "header"]
        assert header["name"] == "Idempotency-Key"
        assert "parameters" not in described["paths"]["/health"]["get"]

    run(use)


# What was answered is kept, also by a server that was killed right after it.
@pytest.mark.slow
def test_another_process_repeats_the_answer(tmp_path: Path) -> None:
    answers: list[tuple[bytes, str | None]] = []
    for _ in range(2):
        server = Process("serve", "notes", "--store", tmp_path / "data")
        try:
            with closing(server.client()) as client:
                headers = {"content-type": "application/json", "idempotency-key": "k"}
                client.request("POST", "/notes/s/search", '{"names": ["a"]}', headers)
                response = client.getresponse()
                assert response.status == 200
                answers.append((response.read(), response.getheader("idempotency-replayed")))
        finally:
            server.end()
    assert answers == [(b'{"texts":[]}', None), (b'{"texts":[]}', "true")]
