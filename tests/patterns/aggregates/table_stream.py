"""The stream of the favourites, read without a feed: what was delivered is remembered in the program."""

from __future__ import annotations

from typing import Any

import sortkey as sk
from tests.patterns.aggregates.favourites import FAVOURITES, Favourite


class TableStream:
    def __init__(self, db: sk.AsyncSession) -> None:
        self._db = db
        self._last: dict[str, str] = {}

    async def changes(self) -> list[sk.Change[Favourite]]:
        """Those since the last call, shard by shard."""
        client = self._db.client
        arn = (await client.describe_table(TableName=FAVOURITES.name))["Table"]["LatestStreamArn"]
        found = []
        for shard in (await client.describe_stream(StreamArn=arn))["StreamDescription"]["Shards"]:
            name = shard["ShardId"]
            position: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
            if name in self._last:
                position = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._last[name]}
            answer = await client.get_shard_iterator(StreamArn=arn, ShardId=name, **position)
            records = (await client.get_records(ShardIterator=answer["ShardIterator"]))["Records"]
            if records:
                self._last[name] = records[-1]["dynamodb"]["SequenceNumber"]
            found += [sk.feeds.read_record(record, Favourite, shard=name) for record in records]
        return found

    async def deliver_to(self, aggregator: sk.patterns.Aggregator) -> None:
        """Applies everything that has come, in batches."""
        changes = await self.changes()
        for start in range(0, len(changes), 4):
            await aggregator.on_changes(changes[start : start + 4])

    @property
    def handled(self) -> dict[str, str]:
        """How far each shard is, as a feed's checkpoints are."""
        return {shard: last.zfill(40) for shard, last in self._last.items()}
