"""Which rows a request to a service reads.

The services are made a second time, on a session whose client records its calls, and the request is sent to these. So
requests to the others pay nothing for it, and their calls are not in the record. Requests are traced one after the
other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import msgspec
import orjson

from sortkey.client.boto3_shapes import Unparsed
from sortkey.client.interface import AsyncClient
from sortkey.client.stores import Capabilities
from sortkey.engine.database import Database
from sortkey.engine.operations import WRITES
from sortkey.http.request_parser import Request, RequestError
from sortkey.model.costs.explain import read_dollars_per_million, write_dollars_per_million
from sortkey.model.costs.meter import Meter, units_of
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import TIMEOUT, context_of
from sortkey.model.sessions.runners import AsyncRunner
from sortkey.server.app_server import exchange_for
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.routes import Body, Item, Key, Message, Route, Routes, forbidden, invalid
from sortkey.server.console.store import dynamodb_json
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import CONSOLE, Asked, Tokens

MakeApp = Callable[[AsyncSession, Tokens], Awaitable[Middleware]]
"""Makes the app of the services again, on another session and with other tokens."""

REQUESTS: Final = 10
CALLS: Final = 200
"""Of one request, that are shown."""
KEYS: Final = 200
"""Of one call."""
SECONDS: Final = 30.0
_MILLION: Final = 1_000_000


class TracedRequest(Body):
    method: str
    path: str
    body: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b""))


class TraceRequest(Body):
    requests: list[TracedRequest]


class CallShown(Message):
    operation: str
    table: str
    index: str | None
    path: str | None
    keys: list[Key]
    rows_read: int
    rows_returned: int
    units: float
    dollars: float
    seconds: float


class AnswerShown(Message):
    status: int
    body: msgspec.Raw
    seconds: float
    calls: list[CallShown]


class Traced(Message):
    answers: list[AnswerShown]


class RecordingClient(AsyncClient):
    """Another client, whose calls are listed while somebody wants them."""

    def __init__(self, client: AsyncClient, keys: Mapping[str, Sequence[str]]) -> None:
        """`keys` are the key attributes of each declared table."""
        self._client = client
        self._keys = keys
        self.meta = client.meta
        self.calls: list[CallShown] = []
        self.newest: CallShown | None = None

    @property
    def database(self) -> Database | None:
        """That of the client: patterns ask whether the store is here. Faster reads than requests are not offered."""
        return self._client.database

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        started = perf_counter()
        answer = await self._client._call(operation, members)
        self._record(operation, members, answer, perf_counter() - started)
        return answer

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        started = perf_counter()
        answer = await self._client._call_unparsed(operation, members, binary)
        self._record(operation, members, answer, perf_counter() - started)
        return answer

    def _record(self, operation: str, members: Mapping[str, Any], answer: Mapping[str, Any], seconds: float) -> None:
        call = call_of(operation, members, answer, seconds)
        if not call.keys:
            names = self._keys.get(call.table, ())
            rows = _found(answer)[:KEYS]
            call.keys = [{name: row[name] for name in names if name in row} for row in rows]
        self.newest = call
        if len(self.calls) < CALLS:
            self.calls.append(call)

    async def capabilities(self) -> Capabilities:
        return await self._client.capabilities()

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        return await self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    async def close(self) -> None:
        """The store is the other client's."""


class RecordingMeter(Meter):
    """Tells the calls their access paths, which only the session knows."""

    def __init__(self, client: RecordingClient) -> None:
        super().__init__()
        self._client = client

    def requested(
        self, path: str, operation: str, answer: Mapping[str, Any], seconds: float, consistent: bool = False
    ) -> float:
        # No other task has run since the client's call ended.
        if self._client.newest is not None:
            self._client.newest.path = path
        return super().requested(path, operation, answer, seconds, consistent)


class ViewerTokens:
    """In the place of tokens: what the viewer may do in the console, it may do by requests that are traced."""

    def __init__(self) -> None:
        self.viewer: Viewer | None = None

    def check_host(self, host: bytes) -> None:
        """The console has checked it."""

    def check(self, asked: Asked, scope: str) -> str | None:  # noqa: ARG002
        service, _, right = scope.partition(":")
        viewer = self.viewer
        if viewer is None or not (viewer.edits_service(service) if right == "write" else viewer.sees_service(service)):
            raise forbidden(f"You lack the scope {CONSOLE}:{right} for {service}.")
        return viewer.name

    def check_tenants(self, service: str, has_tenants: bool) -> None:
        """There are no scopes of tenants."""


class Tracer:
    def __init__(self, session: AsyncSession, make_app: MakeApp, declared: Declared) -> None:
        self._session = session
        self._make_app = make_app
        self._tokens = ViewerTokens()
        keys = {
            name: [part.name for part in table.schemas[0].primary.attributes]
            for name, table in declared.tables.items()
            if table.schemas
        }
        self._client = RecordingClient(session.client, keys)
        self._app: Middleware | None = None
        self._one = asyncio.Lock()

    def routes(self) -> Routes:
        return {"trace": Route(TraceRequest, self.trace)}

    async def trace(self, viewer: Viewer, wanted: TraceRequest) -> Traced:
        if not 1 <= len(wanted.requests) <= REQUESTS:
            raise invalid(f"requests has from 1 to {REQUESTS} requests, not {len(wanted.requests)}.")
        async with self._one, asyncio.timeout(SECONDS):
            if self._app is None:
                context = context_of(self._session)
                recorded = replace(context, meter=RecordingMeter(self._client))
                session = AsyncSession(AsyncRunner(self._client, recorded, TIMEOUT), ())
                self._app = await self._make_app(session, self._tokens)
            self._tokens.viewer = viewer
            return Traced([await self._answer(self._app, each) for each in wanted.requests])

    async def _answer(self, app: Middleware, wanted: TracedRequest) -> AnswerShown:
        headers = {b"host": b"localhost", b"content-type": b"application/json"}
        body = bytes(wanted.body)
        try:
            request = Request(wanted.method.encode(), wanted.path.encode(), headers, body, keep_alive=True)
            exchange = exchange_for(request, "127.0.0.1")
        except RequestError as error:
            raise invalid(error.message) from None
        self._client.calls = []
        started = perf_counter()
        await app.answer(exchange)
        seconds = perf_counter() - started
        is_json = any(value.startswith(b"application/json") for name, value in exchange.answer_headers)
        shown = exchange.answer_body if is_json else msgspec.json.encode(exchange.answer_body.decode(errors="replace"))
        return AnswerShown(exchange.status, msgspec.Raw(shown), seconds, self._client.calls)


def call_of(operation: str, members: Mapping[str, Any], answer: Mapping[str, Any], seconds: float) -> CallShown:
    table, asked = _named(operation, members)
    found = _found(answer)
    units = units_of(answer.get("ConsumedCapacity"))
    price = write_dollars_per_million if operation in WRITES else read_dollars_per_million
    return CallShown(
        operation,
        table,
        members.get("IndexName"),
        None,
        asked[:KEYS],
        answer.get("ScannedCount", len(found)),
        len(found),
        units,
        price(units) / _MILLION,
        seconds,
    )


def _named(operation: str, members: Mapping[str, Any]) -> tuple[str, list[Key]]:
    """The tables that a request names, and its keys."""
    requested = members.get("RequestItems")
    if requested is not None:
        keys = [key for part in requested.values() if operation == "BatchGetItem" for key in part["Keys"]]
        return ", ".join(requested), dynamodb_json(keys)
    actions = [part for action in members.get("TransactItems", ()) for part in action.values()]
    if actions:
        keys = [part["Key"] for part in actions if "Key" in part]
        return ", ".join(dict.fromkeys(part["TableName"] for part in actions)), dynamodb_json(keys)
    key = members.get("Key")
    return members.get("TableName", ""), [] if key is None else [dynamodb_json(key)]


def _found(answer: Mapping[str, Any]) -> list[Item]:
    """The rows of an answer, as DynamoDB JSON."""
    if "Item" in answer:
        return [_parsed(answer["Item"])]
    if "Items" in answer:
        return list(_parsed(answer["Items"]))
    responses = answer.get("Responses")
    if isinstance(responses, list):
        # Of a transaction.
        return [_parsed(each["Item"]) for each in responses if "Item" in each]
    parts = [] if responses is None else [_parsed(each) for each in responses.values()]
    return [row for part in parts for row in part if row is not None]


def _parsed(items: Any) -> Any:
    return orjson.loads(items.text) if isinstance(items, Unparsed) else dynamodb_json(items)
