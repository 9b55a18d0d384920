"""What a request to a service reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import sortkey as sk
from sortkey.clock import SystemClock
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.server.app import app_of
from sortkey.server.console.access import Access
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.opened import open_console
from sortkey.server.console.sources import RunningService, Sources
from sortkey.server.console.trace import Tracer
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import Tokens
from tests.server.console.consoles import OPEN_ACCESS, Page
from tests.server.notes import NOTES, Copy, Note, Notes


async def make_app(session: AsyncSession, tokens: Tokens) -> Middleware:
    return app_of([Notes(session, {})], tokens=tokens)


class Reader:
    """Sees everything and edits nothing."""

    auth = OPEN_ACCESS.auth
    check_host = OPEN_ACCESS.check_host

    def viewer(self, request: object) -> object:  # noqa: ARG002
        viewer = OpenViewer()
        viewer.write = []
        return viewer


class OpenViewer:
    name = "reader"
    read = "all"
    write: object = "all"

    def sees_service(self, _: object) -> bool:
        return True

    def edits_service(self, _: object) -> bool:
        return False


def run(use: Callable[[Page, AsyncSession], Awaitable[None]], access: object = OPEN_ACCESS) -> None:
    def access_of(_: Declared) -> Access:
        return access  # type: ignore[return-value]

    async def whole() -> None:
        async with sk.async_connect("memory:", tables=[Note, Copy]) as session:
            await session.create_tables(Note, Copy)
            await session.put(Note(shelf="s", name="a", text="first"))
            services = [RunningService("notes", "notes", [NOTES])]
            sources = Sources("serve", SystemClock(), "memory:", session.client.database, session, services)

            def further(declared: Declared) -> list[Tracer]:
                return [Tracer(session, make_app, declared)]

            async with open_console(sources, access_of, further=further) as console:
                await use(Page(console), session)

    asyncio.run(whole())


def test_the_keys_of_a_request_are_shown() -> None:
    async def use(page: Page, session: AsyncSession) -> None:
        search = {"method": "POST", "path": "/notes/s/search", "body": {"names": ["a", "b"]}}
        show = {"method": "GET", "path": "/notes/s/a"}
        found, shown = (await page.call("trace", requests=[search, show]))["answers"]
        assert (found["status"], found["body"]) == (200, {"texts": ["first"]})
        (lookup,) = found["calls"]
        assert (lookup["operation"], lookup["table"], lookup["path"]) == ("BatchGetItem", "notes", "Note.key")
        assert [key["sk"]["S"] for key in lookup["keys"]] == ["a", "b"]
        assert (lookup["rowsReturned"], lookup["units"]) == (1, 1.0)
        (get,) = shown["calls"]
        assert get["keys"] == [{"pk": {"S": "SHELF#s"}, "sk": {"S": "a"}}]
        # Nothing of it is in the services' own meter.
        assert session.meter.reading("Note.key").calls == 0

    run(use)


def test_an_error_of_the_service_is_its_answer() -> None:
    async def use(page: Page, _: AsyncSession) -> None:
        (answer,) = (await page.call("trace", requests=[{"method": "GET", "path": "/notes/s/none"}]))["answers"]
        assert (answer["status"], answer["body"]["error"]["code"]) == (404, "not_found")
        for wrong in ([], [{"method": "GET", "path": "no-slash"}]):
            assert (await page.post("trace", {"requests": wrong})).status == 400

    run(use)


# Tracing sends real requests, so who may not edit may not write by them.
def test_a_reader_traces_reads_alone() -> None:
    async def use(page: Page, session: AsyncSession) -> None:
        write = {"method": "PUT", "path": "/notes/s/a", "body": {"text": "changed"}}
        read = {"method": "GET", "path": "/notes/s/a"}
        written, got = (await page.call("trace", requests=[write, read]))["answers"]
        assert (written["status"], got["status"]) == (403, 200)
        note = await session.get(Note.key(shelf="s", name="a"))
        assert note is not None
        assert note.text == "first"

    run(use, Reader())
