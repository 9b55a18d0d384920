"""Reads the records of one shard, in order, from a position on.

An iterator that expired is replaced by one after the last record that was read. Records that the stream has trimmed
are gone: reading continues with the oldest that are left, with a warning and a metric.
"""

from __future__ import annotations

import logging
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.interface import AsyncClient
from sortkey.client.stores import (
    DYNAMODB_LOCAL,
    EMBEDDED,
    EMBEDDED_REGIONS,
    SORTKEY,
    SORTKEY_REGIONS,
    Capabilities,
)
from sortkey.clock import WaitingClock
from sortkey.feeds.shards.leases import ShardKey
from sortkey.feeds.shards.metrics import ChangeFeedMetrics
from sortkey.limits import STREAM_RECORDS
from sortkey.model.calls.steps import code_of

Record = dict[str, Any]

_logger = logging.getLogger(__name__)


class ReadPace(NamedTuple):
    """How often a shard is read."""

    idle: float
    """Seconds between two reads of a shard that has no new records; 0 if the store tells when there are some."""
    least: float
    """Seconds between any two reads."""


_PACES: Final = {
    EMBEDDED: ReadPace(0.0, 0.0),
    **dict.fromkeys((EMBEDDED_REGIONS, SORTKEY, SORTKEY_REGIONS, DYNAMODB_LOCAL), ReadPace(0.1, 0.0)),
}
IN_PROCESS_RECORDS: Final = 100
"""Of one read of a store in the process, for which other tasks wait."""
_AWS_PACE: Final = ReadPace(0.5, 0.2)
"""AWS allows five reads a second of a shard, over all its readers."""


def pace_of(store: Capabilities) -> ReadPace:
    return _PACES.get(store, _AWS_PACE)


class ShardReader:
    def __init__(
        self,
        client: AsyncClient,
        key: ShardKey,
        pace: ReadPace,
        metrics: ChangeFeedMetrics,
        clock: WaitingClock,
        after: str,
        latest: bool,
    ) -> None:
        """Reads what comes `after` a sequence number; if it is empty, from the horizon, or what comes from now on if
        `latest`. The `clock` is the system's but in tests of the pace: the store's time does not stand still."""
        self.has_ended = False
        self.is_behind = False
        """Whether the last read has found as many records as it could, so that there may be more."""
        self._client = client
        self._key = key
        self._pace = pace
        self._metrics = metrics
        self._clock = clock
        self._after = after
        self._latest = latest
        self._iterator: str | None = None
        self._last_read = 0.0

    async def open(self) -> None:
        """Find the position now. Otherwise the first `read` does."""
        members: dict[str, str] = {"ShardIteratorType": "LATEST" if self._latest else "TRIM_HORIZON"}
        if self._after:
            members = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._after}
        answer = await self._client.get_shard_iterator(StreamArn=self._key.stream, ShardId=self._key.shard, **members)
        self._iterator = answer["ShardIterator"]

    async def read(self, most: int) -> list[Record]:
        """The next records; none at the end and if there are no more yet. Raises the errors of the store."""
        await self._keep_pace()
        while not self.has_ended:
            try:
                if self._iterator is None:
                    await self.open()
                limit = min(most, STREAM_RECORDS if self._pace.idle else IN_PROCESS_RECORDS)
                answer = await self._client.get_records(ShardIterator=self._iterator, Limit=limit)
            except ClientError as error:
                self._reposition(error)
                continue
            records: list[Record] = answer["Records"]
            if records:
                self._after = records[-1]["dynamodb"]["SequenceNumber"]
            self._iterator = answer.get("NextShardIterator")
            self.has_ended = self._iterator is None
            self.is_behind = len(records) == limit and not self.has_ended
            return records
        self.is_behind = False
        return []

    async def wait(self, seconds: float) -> None:
        """Wait for records: on an embedded store until there are some, elsewhere for a while; `seconds` at most."""
        if self._iterator is None:
            return
        if self._pace.idle:
            await self._clock.sleep(min(seconds, self._pace.idle))
            return
        try:
            await self._client.wait_for_records(ShardIterator=self._iterator, Timeout=seconds)
        except ClientError as error:
            self._reposition(error)

    async def _keep_pace(self) -> None:
        if self._pace.least:
            pause = self._last_read + self._pace.least - self._clock.monotonic()
            if pause > 0:
                await self._clock.sleep(pause)
            self._last_read = self._clock.monotonic()

    def _reposition(self, error: ClientError) -> None:
        """After an error about the position. Raises any other."""
        match code_of(error):
            case "ExpiredIteratorException":
                # An iterator lives for 15 minutes.
                self._iterator = None
            case "TrimmedDataAccessException":
                _logger.warning(
                    "%s has trimmed changes after %s before they were handled; they are lost",
                    self._key.shard,
                    self._after or "the start",
                )
                self._metrics.trimmed += 1
                self._iterator, self._after, self._latest = None, "", False
            case "ResourceNotFoundException":
                # A shard leaves its stream a day after it was closed; a table may have been deleted.
                _logger.warning("%s is no longer in its stream; what was not handled of it is lost", self._key.shard)
                self._metrics.trimmed += 1
                self.has_ended = True
            case _:
                raise error
