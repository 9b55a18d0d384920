"""`Idempotency-Key`: a request that is sent again gets the answer of the first, and changes nothing more.

    POST /pricing/changes
    Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324

A key belongs to its caller (the token's name), method and path. Its row, in the table `sortkey-requests`, is written
before the handler runs, so that of several requests with one key, one runs; the others wait for its answer. The answer
is written when the handler is done, and the table's TTL deletes it after a day.

What the row guarantees, and what not:

- An answer below 400 is kept. An error is not: after one that says that nothing was done (4xx) the key is free, and
  after another one (5xx) the next request runs at once, as a further attempt of the same operation.
- A server that is killed between the work and its answer leaves a row that is no longer renewed. A request that has
  seen it unchanged for `LEASE_SECONDS`, by its own monotonic clock, takes it over, and the handler runs again. A
  service whose work would then be done twice notes the operation with the work: see `sk.services.Operation`.
- All writes are conditional on the attempt that has the row, so one that was frozen, and overtaken, changes no answer.

Requests without the header cost nothing, and neither do methods other than POST and PATCH, which may all be repeated.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import uuid4

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from sortkey.clock import SystemClock, WaitingClock
from sortkey.limits import MIB
from sortkey.model.changes.typed_field import F
from sortkey.model.errors import ConditionFailed, ModelError
from sortkey.model.items.access_path import AccessPath
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.server.errors import ApiError, ErrorAnswer, api_error
from sortkey.server.exchange import Exchange
from sortkey.server.kept_requests import AnswerPart, KeptRequest
from sortkey.server.litestar_errors import request_error
from sortkey.services.operation import OPERATION, REQUESTS, Operation

REPLAYED: Final = (b"idempotency-replayed", b"true")
KEPT: Final = timedelta(days=1)
LEASE_SECONDS: Final = 10.0
WAIT_SECONDS: Final = 15.0
"""For the answer of another request with the same key: longer than the lease, so that one request is enough to take a
row over."""
PAUSES: Final = (0.02, 0.5)
"""Between two looks at such a row: the first one, then twice as long each time, up to the last."""
PART_BYTES: Final = 300_000
"""An item has 400 KB at most; a longer answer is kept in parts."""
HASHED_AT_ONCE: Final = MIB
NOBODY: Final = ""

REUSED: Final = "idempotency_key_reused"
IN_PROGRESS: Final = "in_progress"

_KEY: Final = re.compile(rb"[\x21-\x7e]{1,255}")
_STORE_ERRORS: Final = (ModelError, ClientError, BotoCoreError)
_logger = logging.getLogger(__name__)


class Idempotency:
    """The requests with keys of one store; any number of servers share them."""

    def __init__(self, session: AsyncSession, clock: WaitingClock | None = None) -> None:
        self._session = session
        self._clock = clock or SystemClock()

    async def start(self) -> None:
        """Create the table unless it exists."""
        await self._session.create_tables(REQUESTS)

    async def answer(self, exchange: Exchange, run: Callable[[], Awaitable[None]]) -> None:
        """Answer the exchange by `run`, or as it was answered before. The token must be checked already. Raises
        ApiError, and what `run` raises."""
        row = await self._taken(await self._asked(exchange))
        if row.status is not None:
            await self._repeat(row, exchange)
            return
        # Its notes outlive the row: an attempt may begin when the row is nearly over.
        operation = Operation(row.operation, self._session, self._expiry() + KEPT)
        token = OPERATION.set(operation)
        renewing = asyncio.create_task(self._renew(row))
        try:
            await run()
        except Exception as error:
            await self._release(row, request_error(error, exchange.id).status)
            raise
        finally:
            OPERATION.reset(token)
            renewing.cancel()
        status = operation.failure or exchange.status
        if status >= 400:
            await self._release(row, status)
        else:
            await self._keep(row, exchange)

    async def _asked(self, exchange: Exchange) -> KeptRequest:
        given = exchange.idempotency_key
        if given is None or not _KEY.fullmatch(given):
            raise api_error(400, "Idempotency-Key: must be 1 to 255 visible ASCII characters.")
        named = [exchange.token or "", exchange.method, exchange.path, given.decode("ascii")]
        content = sha256(b"%d?" % len(exchange.query) + exchange.query)
        for start in range(0, len(exchange.sent), HASHED_AT_ONCE):
            content.update(exchange.sent[start : start + HASHED_AT_ONCE])
            if start:
                await asyncio.sleep(0)
        return KeptRequest(
            request=sha256(msgspec.json.encode(named)).hexdigest(),
            content=content.hexdigest(),
            operation=uuid4().hex,
            owner=uuid4().hex,
            expires=self._expiry(),
        )

    async def _taken(self, asked: KeptRequest) -> KeptRequest:
        """The request's row: for this attempt to run, or with its answer."""
        if await self._session.put(asked, if_absent=True):
            return asked
        began = changed = self._clock.monotonic()
        seen: tuple[str, int] | None = None
        pause, longest = PAUSES
        while True:
            known = await self._session.get(asked.key, consistent=True)
            now = self._clock.monotonic()
            if known is not None and known.expires > datetime.fromtimestamp(self._clock.now(), UTC):
                if known.content != asked.content:
                    raise ApiError(_reused())
                if known.status is not None or known.owner == asked.owner:
                    # Ours, if the store's answer to the write was lost, and its client has sent the write again.
                    return known
                if seen != (known.owner, known.counter):
                    seen, changed = (known.owner, known.counter), now
                is_free = known.owner == NOBODY or now - changed >= LEASE_SECONDS
                taken = await self._taken_over(known, asked) if is_free else None
            else:
                taken = await self._begun(known, asked)
            if taken is not None:
                return taken
            if now - began >= WAIT_SECONDS:
                raise ApiError(_in_progress())
            await self._clock.sleep(pause)
            pause = min(pause * 2, longest)

    async def _begun(self, expired: KeptRequest | None, asked: KeptRequest) -> KeptRequest | None:
        """Since there is no row, or the store has not deleted it yet. None if another request was quicker."""
        if expired is None:
            return asked if await self._session.put(asked, if_absent=True) else None
        try:
            await self._session.put(asked, where={"operation": expired.operation, "counter": expired.counter})
        except ConditionFailed:
            return None
        return asked

    async def _taken_over(self, known: KeptRequest, asked: KeptRequest) -> KeptRequest | None:
        try:
            return await self._session.update(
                known.key,
                [
                    F(KeptRequest.counter).add(1),
                    F(KeptRequest.attempts).add(1),
                    {"owner": asked.owner, "expires": asked.expires},
                ],
                where={"owner": known.owner, "counter": known.counter},
            )
        except ConditionFailed:
            return None

    async def _renew(self, row: KeptRequest) -> None:
        while True:
            await self._clock.sleep(LEASE_SECONDS / 3)
            try:
                await self._session.update(row.key, F(KeptRequest.counter).add(1), where={"owner": row.owner})
            except ConditionFailed:
                return
            except _STORE_ERRORS as error:
                _logger.warning("the row of a request with an Idempotency-Key was not renewed: %s", error)

    async def _keep(self, row: KeptRequest, exchange: Exchange) -> None:
        """The answer stands even if it cannot be kept: the work is done."""
        body, expires = exchange.answer_body, self._expiry()
        parts = [
            AnswerPart(
                request=row.request,
                owner=row.owner,
                number=number,
                body=body[start : start + PART_BYTES],
                # After the row, so that a row that is there has its parts.
                expires=expires + KEPT,
            )
            for number, start in enumerate(range(0, len(body), PART_BYTES))
        ]
        is_long = len(parts) > 1
        try:
            if is_long:
                await self._session.put_many(parts)
            await self._session.update(
                row.key,
                {
                    "status": exchange.status,
                    "headers": [
                        [name.decode("latin-1"), value.decode("latin-1")] for name, value in exchange.answer_headers
                    ],
                    "body": b"" if is_long else body,
                    "parts": len(parts) if is_long else 0,
                    "expires": expires,
                },
                where={"owner": row.owner},
            )
        except ConditionFailed:
            _logger.warning("request %s took so long that another attempt with its key has begun", exchange.id)
        except _STORE_ERRORS as error:
            _logger.error("the answer of request %s is not kept for its Idempotency-Key: %s", exchange.id, error)

    async def _release(self, row: KeptRequest, status: int) -> None:
        """After an error. What says that nothing was done frees the key, unless an earlier attempt may have done it."""
        try:
            if status < 500 and row.attempts == 1:
                await self._session.delete(row.key, where={"owner": row.owner})
            else:
                await self._session.update(row.key, {"owner": NOBODY}, where={"owner": row.owner})
        except _STORE_ERRORS as error:
            # Others take it over when it is not renewed.
            _logger.warning("the row of a request with an Idempotency-Key was not given up: %s", error)

    async def _repeat(self, row: KeptRequest, exchange: Exchange) -> None:
        body = row.body
        if row.parts:
            path: AccessPath[AnswerPart] = AnswerPart.key(request=row.request, owner=row.owner)
            found = [part.body async for part in self._session.iterate(path, consistent=True)]
            if len(found) != row.parts:
                raise RuntimeError(f"the kept answer has {len(found)} of {row.parts} parts")
            body = b"".join(found)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in row.headers]
        exchange.answer(row.status or 200, body, [*headers, REPLAYED])

    def _expiry(self) -> datetime:
        return datetime.fromtimestamp(int(self._clock.now()), UTC) + KEPT


async def answered_once(
    idempotency: Idempotency | None, exchange: Exchange, run: Callable[[], Awaitable[None]]
) -> None:
    """Answer an exchange with a key."""
    if idempotency is None:
        raise api_error(400, "Idempotency-Key: this server keeps no answers, so it cannot take keys.")
    await idempotency.answer(exchange, run)


def _reused() -> ErrorAnswer:
    return ErrorAnswer(
        409,
        REUSED,
        "Idempotency-Key: was used for another body or query of this path; use a new key for a new request.",
    )


def _in_progress() -> ErrorAnswer:
    return ErrorAnswer(
        409,
        IN_PROGRESS,
        "Idempotency-Key: a request with this key is still under way; repeat it later for its answer.",
        headers=(("retry-after", "5"),),
    )
