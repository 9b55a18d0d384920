"""The app as an AWS Lambda function: events of a function URL, or of an HTTP API, to the middleware, and its answers.

Both send events in the payload format 2.0. A function URL leaves the path as the client sent it. An HTTP API decodes
it, so that ids with a slash, a question mark or a percent sign do not arrive as they were; what is not valid in an
encoded path is encoded again here, and nothing else, which suits both.

Who may do what is decided by tokens, if there are any, as elsewhere. Without tokens, IAM must have authenticated the
caller: the event then has its ARN, which no client can send.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from sortkey.feeds.aws.lambda_handler import LambdaLoop, seconds_left
from sortkey.http.request_parser import Request, RequestError
from sortkey.server.access_log import AccessLog
from sortkey.server.app import app_of
from sortkey.server.app_server import exchange_for
from sortkey.server.errors import CODES, UNAVAILABLE, ErrorAnswer, api_error, overloaded
from sortkey.server.exchange import JSON_TYPE, Exchange
from sortkey.server.idempotency import Idempotency
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import Asked, Tokens
from sortkey.services.interface import ServiceDefinition

ANSWER_BYTES: Final = 6_000_000
"""Lambda returns no larger answer."""
TOO_LARGE: Final = ErrorAnswer(413, CODES[413], "The answer is larger than Lambda returns, 6 MB; ask for fewer items.")
NOT_IN_TIME: Final = overloaded("The answer was not ready in time; a write may have happened.", UNAVAILABLE)

_CALLER: Final = b"x-sortkey-iam-caller"
_NOT_IN_PATHS: Final = re.compile(r"[^A-Za-z0-9._~!$&'()*+,;=:@/%-]|%(?![0-9A-Fa-f]{2})")
_TEXTS: Final = (b"application/json", b"text/", b"application/javascript", b"application/graphql")


class IamCallers:
    """Every caller that IAM has authenticated; what each may call is IAM's to decide."""

    def check_host(self, host: bytes) -> None:
        """Any: the event came through AWS."""

    def check(self, asked: Asked, scope: str) -> str | None:
        caller = asked.headers.get(_CALLER)
        if caller is None:
            raise api_error(
                403, f"{scope} needs a caller that IAM has authenticated: set AuthType AWS_IAM, or give tokens."
            )
        return caller.decode()

    def check_tenants(self, service: str, has_tenants: bool) -> None:
        """There are no scopes."""


class LambdaApp:
    """The handler. Opens the store and starts the service with the first event."""

    def __init__(
        self, definition: ServiceDefinition, settings: Mapping[str, Any], store: str, tokens: Tokens, log: AccessLog
    ) -> None:
        self._definition = definition
        self._settings = settings
        self._tokens = tokens
        self._log = log
        self._loop = LambdaLoop(store, definition.tables(settings))
        self._app: Middleware | None = None
        self._starting: asyncio.Future[Middleware] | None = None

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return self._loop.run(self._handle(event, seconds_left(context)))

    def close(self) -> None:
        """In tests: Lambda ends functions without notice."""
        self._loop.close()
        self._log.close()

    async def _handle(self, event: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        request = request_of(event)
        client = event["requestContext"]["http"]["sourceIp"]
        try:
            exchange = exchange_for(request, client)
        except RequestError as error:
            refused = ErrorAnswer(error.status, CODES[error.status], error.message)
            return _answer(refused.json(), refused.status, [JSON_TYPE])
        try:
            async with asyncio.timeout(seconds):
                app = self._app or await self._started()
                await app.answer(exchange)
        except TimeoutError:
            exchange.answer_error(NOT_IN_TIME)
        return _answer_of(exchange)

    async def _started(self) -> Middleware:
        """An event without time left does not end the start, which the next event awaits: half a start may have made
        half a table."""
        starting = self._starting = self._starting or asyncio.ensure_future(self._start())
        try:
            self._app = await asyncio.shield(starting)
        finally:
            if starting.done():
                self._starting = None
        return self._app

    async def _start(self) -> Middleware:
        session = await self._loop.session()
        service = self._definition.service(session, self._settings)
        idempotency = Idempotency(session)
        await idempotency.start()
        await service.start()
        return app_of([service], tokens=self._tokens, log=self._log, idempotency=idempotency)


def request_of(event: Mapping[str, Any]) -> Request:
    """The request that an event of the payload format 2.0 describes."""
    context = event["requestContext"]
    path: str = event["rawPath"]
    stage = context.get("stage", "$default")
    if stage != "$default" and path.startswith(f"/{stage}/"):
        path = path.removeprefix(f"/{stage}")
    target = _NOT_IN_PATHS.sub(lambda found: quote(found[0], safe=""), path)
    if event.get("rawQueryString"):
        target = f"{target}?{event['rawQueryString']}"
    headers = {name.lower().encode(): value.encode() for name, value in event.get("headers", {}).items()}
    headers.pop(_CALLER, None)
    iam = (context.get("authorizer") or {}).get("iam")
    if iam:
        headers[_CALLER] = iam["userArn"].encode()
    body = event.get("body") or ""
    sent = b64decode(body) if event.get("isBase64Encoded") else body.encode()
    return Request(context["http"]["method"].encode(), target.encode(), headers, sent, keep_alive=False)


def _answer_of(exchange: Exchange) -> dict[str, Any]:
    if len(exchange.answer_body) > ANSWER_BYTES:
        exchange.answer_error(TOO_LARGE)
    headers = [*exchange.answer_headers, (b"x-request-id", exchange.id.encode())]
    body = b"" if exchange.method == "HEAD" else exchange.answer_body
    return _answer(body, exchange.status, headers)


def _answer(body: bytes, status: int, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    named = {name.decode().lower(): value.decode() for name, value in headers}
    is_text = named.get("content-type", "text/").encode().startswith(_TEXTS)
    return {
        "statusCode": status,
        "headers": named,
        "body": body.decode() if is_text else b64encode(body).decode(),
        "isBase64Encoded": not is_text,
    }
