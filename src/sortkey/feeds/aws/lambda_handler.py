"""`sk.feeds.lambda_handler`: a change feed as an AWS Lambda function.

Lambda keeps the position in the stream, repeats what failed, and knows the destination of what fails for good. So the
handler has neither leases nor dead letters. It tells Lambda the first change that was not handled; Lambda delivers that
one and all after it again.

`LambdaLoop` is the event loop and the session of a function, which stand still between two events.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.delivery import RecordEntry, entry_of
from sortkey.feeds.changes.home_region import check_home
from sortkey.feeds.shards.outages import Verdict
from sortkey.model.errors import DeclarationError
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect

T = TypeVar("T")

ANSWER_SECONDS: Final = 1.0
"""Left for the answer when the function's time is nearly over."""

_logger = logging.getLogger(__name__)


def lambda_handler(
    feed: ChangeFeed[Any] | Callable[[AsyncSession], ChangeFeed[Any]],
    store: str | os.PathLike[str] | None = None,
    *,
    tables: Iterable[type[Item] | Table] = (),
) -> LambdaHandler:
    """The handler of a Lambda function whose event source is the stream of the feed's table.

        handler = sk.feeds.lambda_handler(sk.feeds.ChangeFeed("order-printer", Order, on_changes))

    A feed that needs a session is made by a function; the session is opened with the first event, and kept:

        def feed(db: sk.AsyncSession) -> sk.feeds.ChangeFeed[Order]:
            return sk.feeds.ChangeFeed("order-copies", Order, Copies(db).on_changes)

        handler = sk.feeds.lambda_handler(feed, "dynamodb://eu-west-1", tables=[SHOP])

    The event source mapping needs `ReportBatchItemFailures`. Of the feed, `name`, `of` and `on_changes` count. The
    changes have their `shard` only if the mapping has a tumbling window. Of a table with replicas, the stream of
    another region than its `home` raises `sk.WrongRegion`.
    """
    if isinstance(feed, ChangeFeed) == (store is not None):
        raise DeclarationError(
            "sk.feeds.lambda_handler takes a change feed alone, or a function that makes one of a session and the "
            "store's URL"
        )
    return LambdaHandler(feed, store, tuple(tables))


class LambdaHandler:
    """Calls the feed with the changes of each event."""

    def __init__(
        self,
        feed: ChangeFeed[Any] | Callable[[AsyncSession], ChangeFeed[Any]],
        store: str | os.PathLike[str] | None,
        tables: Sequence[type[Item] | Table],
    ) -> None:
        self._feed = feed if isinstance(feed, ChangeFeed) else None
        self._make = feed
        self._loop = LambdaLoop(store, tables)
        self._is_home = False
        """Whether the stream is known to be of the region that follows the table."""

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return self._loop.run(self._handle(event, seconds_left(context)))

    def close(self) -> None:
        """Close the session and the event loop, in tests: Lambda ends functions without notice."""
        self._loop.close()

    async def _handle(self, event: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        feed = self._feed = self._feed or await self._opened()
        records = event["Records"]
        if not self._is_home and records:
            check_home(feed, str(records[0]["awsRegion"]))
            self._is_home = True
        batch = _Batch(feed, records, str(event.get("shardId", "")))
        try:
            async with asyncio.timeout(seconds):
                await batch.handle()
        except TimeoutError:
            _logger.warning("%s: %d of %d changes in time", feed.name, batch.handled, len(records))
        failed = records[batch.handled : batch.handled + 1]
        answer: dict[str, Any] = {
            "batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]} for record in failed]
        }
        if "window" in event:
            # An answer without the window's state counts as an error.
            answer["state"] = event.get("state", {})
        return answer

    async def _opened(self) -> ChangeFeed[Any]:
        assert not isinstance(self._make, ChangeFeed)
        return self._make(await self._loop.session())


class _Batch:
    def __init__(self, feed: ChangeFeed[Any], records: Sequence[dict[str, Any]], shard: str) -> None:
        self.handled = 0
        """How many of the records are done: the first ones."""
        self._feed = feed
        self._entries = [entry_of(feed, record, shard, low_level=False) for record in records]

    async def handle(self) -> None:
        """Up to the first change that raises, which is found by dividing, or the first record that cannot be read."""
        unreadable = (at for at, entry in enumerate(self._entries) if entry is not None and entry.change is None)
        end = next(unreadable, len(self._entries))
        if await self._handle(end) and end < len(self._entries):
            entry = self._entries[end]
            _logger.error("%s: a record cannot be read: %s", self._feed.name, "" if entry is None else entry.reason)

    async def _handle(self, end: int) -> bool:
        """From the first that is not done up to `end`. False if a change raised."""
        error = await self._try([entry for entry in self._entries[self.handled : end] if entry is not None])
        if error is None:
            self.handled = end
            return True
        if self._feed.rule.verdict(error) is Verdict.OUTAGE or end - self.handled == 1:
            # In a moment it may succeed; Lambda delivers it again.
            return False
        middle = (self.handled + end) // 2
        return await self._handle(middle) and await self._handle(end)

    async def _try(self, entries: Sequence[RecordEntry]) -> Exception | None:
        if not entries:
            return None
        try:
            await self._feed.on_changes([entry.change for entry in entries if entry.change is not None])
        except Exception as error:
            # Lambda delivers again what was not handled, whatever the reason.
            _logger.warning("%s: %d changes raised", self._feed.name, len(entries), exc_info=True)
            return error
        return None


class LambdaLoop:
    def __init__(self, store: str | os.PathLike[str] | None, tables: Sequence[type[Item] | Table]) -> None:
        self._store = store
        self._tables = tables
        self._session: AsyncSession | None = None
        self._runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    async def session(self) -> AsyncSession:
        """Opened when it is first asked for, and kept."""
        if self._session is None:
            assert self._store is not None
            self._session = await async_connect(self._store, tables=self._tables)
        return self._session

    def close(self) -> None:
        if self._session is not None:
            self._runner.run(self._session.close())
        self._runner.close()


def seconds_left(context: Any) -> float | None:
    """None if the context does not tell, as in tests."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return None if remaining is None else max(0.0, remaining() / 1000 - ANSWER_SECONDS)
