"""A small service, for the server to serve: notes, each under a name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from botocore.exceptions import ClientError, EndpointConnectionError
from litestar import asgi, delete, get, post, put
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

import sortkey as sk
from sortkey.feeds.kafka.message import Message, Rejected
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.services.interface import BadRequest, BadSettings, NotFound, Progress, ServiceDefinition

DEMO = 10


NOTES = sk.Table("notes", stream="NEW_AND_OLD_IMAGES")


class Note(sk.Item, table=NOTES):
    shelf: str
    name: str
    text: str

    key = sk.Key("SHELF#{shelf}", "{name}")


class Copy(sk.Item, table="note-copies"):
    """Of a note, made by a change feed."""

    shelf: str
    name: str
    text: str
    sequence: str
    """Of the change; an older one that comes again, or late, changes nothing."""

    key = sk.Key("SHELF#{shelf}", "{name}")


class Text(msgspec.Struct):
    text: Annotated[str, msgspec.Meta(max_length=1000)]


class Search(msgspec.Struct):
    names: Annotated[list[str], msgspec.Meta(min_length=1, max_length=100)]
    limit: Annotated[int, msgspec.Meta(ge=1)] = 100


class Found(msgspec.Struct):
    texts: list[str]


class Notes:
    name = "notes"

    def __init__(self, session: AsyncSession, settings: Mapping[str, Any]) -> None:
        if settings.keys() - {"readOnly"}:
            raise BadSettings("notes: the only setting is readOnly")
        self._session = session
        self._read_only = bool(settings.get("readOnly"))
        self.loaded = 0

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        return routes(self)

    async def start(self) -> None:
        await self._session.create_tables(Note, Copy)

    async def load_demo(self, progress: Progress) -> None:
        if await self.get("demo", "0") is not None:
            return
        for number in range(DEMO):
            progress(number, DEMO)
            await self._session.put(Note(shelf="demo", name=str(number), text=f"note {number}"))
        progress(DEMO, DEMO)
        self.loaded += 1

    async def run_demo(self) -> None:
        await self._session.put(Note(shelf="demo", name="visitor", text="was here"))

    @asynccontextmanager
    async def maintenance(self) -> AsyncIterator[None]:
        # A copy, because changes of notes are counted.
        state = Copy(shelf="maintenance", name="state", text="running", sequence="")
        await self._session.put(state)
        yield
        await self._session.put(sk.replace(state, text="ended"))

    async def consume(self, messages: Sequence[Message]) -> Sequence[Rejected]:  # noqa: ARG002
        return ()

    @property
    def feeds(self) -> Sequence[sk.feeds.ChangeFeed[Any]]:
        return [sk.feeds.ChangeFeed("note-copies", Note, self.copy)]

    async def copy(self, changes: Sequence[sk.Change[Note]]) -> None:
        for change in changes:
            if change.new is not None:
                note = change.new
                copy = Copy(shelf=note.shelf, name=note.name, text=note.text, sequence=change.sequence)
                await self._session.put(copy, newer_by="sequence")

    async def get_copy(self, shelf: str, name: str) -> Copy | None:
        return await self._session.get(Copy.key(shelf=shelf, name=name))

    async def get(self, shelf: str, name: str) -> Note | None:
        return await self._session.get(Note.key(shelf=shelf, name=name))

    async def put(self, shelf: str, name: str, text: str) -> None:
        if self._read_only:
            raise BadRequest("notes are read-only here", ["readOnly is set in the configuration"])
        await self._session.put(Note(shelf=shelf, name=name, text=text))

    async def search(self, shelf: str, search: Search) -> Found:
        keys = [{"shelf": shelf, "name": name} for name in search.names]
        found = await self._session.lookup(Note.key, keys)
        return Found([note.text for note in found if note is not None][: search.limit])


def routes(notes: Notes) -> Sequence[ControllerRouterHandler]:
    @get("/notes/{shelf:str}/{name:str}")
    async def show(shelf: FromPath[str], name: FromPath[str]) -> Text:
        """One note."""
        found = await notes.get(shelf, name)
        if found is None:
            raise NotFound(f"there is no note {name!r}")
        return Text(found.text)

    @get("/notes/{shelf:str}/{name:str}/copy")
    async def show_copy(shelf: FromPath[str], name: FromPath[str]) -> Text:
        """The copy of one note."""
        found = await notes.get_copy(shelf, name)
        if found is None:
            raise NotFound(f"there is no copy of the note {name!r}")
        return Text(found.text)

    @put("/notes/{shelf:str}/{name:str}", fast=True)
    async def write(shelf: FromPath[str], name: FromPath[str], data: JSONBody[Text]) -> Text:
        """Write one note."""
        await notes.put(shelf, name, data.text)
        return data

    @post("/notes/{shelf:str}/search", status_code=200, fast=True, scope="read")
    async def search(shelf: FromPath[str], data: JSONBody[Search]) -> Found:
        """Some notes, by their names."""
        return await notes.search(shelf, data)

    @post("/notes/{shelf:str}/slow-search", status_code=200, scope="read")
    async def slow_search(shelf: FromPath[str], data: JSONBody[Search]) -> Found:
        """The same by the general path."""
        return await notes.search(shelf, data)

    @delete("/notes/{shelf:str}/{name:str}", status_code=200)
    async def fail(shelf: FromPath[str], name: FromPath[str]) -> None:
        """Raises the error that its name selects."""
        raise FAILURES[name](shelf)

    @asgi(["/notes-raw", "/notes-raw-broken", "/notes-raw-half"], copy_scope=False, scope="read")
    async def raw(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
        if scope["path"].endswith("broken"):
            raise RuntimeError("broken on purpose")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
        if scope["path"].endswith("half"):
            raise RuntimeError("broken on purpose")
        await send({"type": "http.response.body", "body": b"r", "more_body": True})
        await send({"type": "http.response.body", "body": b"aw", "more_body": False})

    return [show, show_copy, write, search, slow_search, fail, raw]


def _error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "on purpose"}}, "PutItem")


FAILURES: Mapping[str, Any] = {
    "unexpected": lambda _: RuntimeError("a secret"),
    "throttled": lambda _: _error("ProvisionedThroughputExceededException"),
    "limited": lambda _: _error("RequestLimitExceeded"),
    "full": lambda _: _error("InternalServerError"),
    "fenced": lambda _: _error("TableFencedException"),
    "moved": lambda _: _error("TableMovedException"),
    "rejected": lambda _: _error("ValidationException"),
    "late": lambda _: sk.DeadlineExceeded("not done within 30 s"),
    "away": lambda _: EndpointConnectionError(endpoint_url="http://store"),
    "conflict": lambda _: sk.services.Conflict("the shelf is full", code="shelf_full"),
    "cursor": lambda _: sk.CursorError("this cursor belongs to another question"),
}

DEFINITION = ServiceDefinition(
    "notes", "a service for the server's tests", lambda _: [Note, Copy], Notes, has_feeds=True
)
