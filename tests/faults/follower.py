"""A follower of a stream: it reads to the end, again and again, and keeps the table that the changes lead to."""

from __future__ import annotations

from typing import Any

from sortkey.client import Client

Item = dict[str, Any]


class Follower:
    """Of a table whose partition key is `id`, and whose stream has both images.

    A change that is missing, comes twice or comes out of order does not fit to the item of before.
    """

    def __init__(self, table: str) -> None:
        self.table = table
        self.items: dict[str, Item] = {}
        self.changes = 0
        self.seen: set[str] = set()
        """The ids of all items that ever were."""
        self._last: dict[str, str] = {}
        """The last sequence number of each shard. It is valid after restarts, too."""

    def follow(self, client: Client) -> None:
        """Read what is new."""
        arn = client.describe_table(TableName=self.table)["Table"]["LatestStreamArn"]
        for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            self._follow_shard(client, {"StreamArn": arn, "ShardId": shard["ShardId"]})

    def _follow_shard(self, client: Client, shard: dict[str, str]) -> None:
        last = self._last.get(shard["ShardId"])
        place = {"ShardIteratorType": "TRIM_HORIZON"}
        if last is not None:
            place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}
        iterator = client.get_shard_iterator(**shard, **place)["ShardIterator"]
        while (page := client.get_records(ShardIterator=iterator))["Records"]:
            for record in page["Records"]:
                self._take(shard["ShardId"], record["dynamodb"])
            if "NextShardIterator" not in page:
                break
            iterator = page["NextShardIterator"]

    def _take(self, shard: str, change: dict[str, Any]) -> None:
        number = change["SequenceNumber"]
        assert int(number) > int(self._last.get(shard, "0")), f"{number} comes after {self._last[shard]}"
        self._last[shard] = number
        name = change["Keys"]["id"]["S"]
        before, after = self.items.get(name), change.get("NewImage")
        assert change.get("OldImage") == before, f"{self.table}: the change {number} of {name} does not fit to {before}"
        assert before != after, f"{self.table}: the change {number} of {name} changes nothing"
        if after is None:
            del self.items[name]
        else:
            self.items[name] = after
        self.seen.add(name)
        self.changes += 1
