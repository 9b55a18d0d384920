"""Checkpoints go when their shards are gone, and not before."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.model.calls.steps import Pacing
from sortkey.patterns.aggregates.checkpoints import ROUND, CheckpointPruner
from tests.patterns.aggregates.favourites import COUNTED, COUNTS, FAVOURITES, START, Favourite, change, row_of

GONE = "shardId-00000000000000000001-0000000a"
ITEM = {"m:1-0000000a": {"S": "A1"}, "m:2-0000000b": {"S": "A1"}, "count": {"N": "2"}}
NEW = "shardId-00000000000000000002-0000000b"


@pytest.fixture
def pruner() -> CheckpointPruner:
    return CheckpointPruner("m", Pacing())


def test_a_checkpoint_is_dead_after_two_more_lists_without_its_shard(pruner: CheckpointPruner) -> None:
    for _ in range(2):
        pruner.begin_round([NEW])
        pruner.examine(("nopi",), ITEM)
        assert pruner.removable(("nopi",)) == ()
    pruner.begin_round([NEW])
    pruner.examine(("nopi",), ITEM)
    assert pruner.removable(("nopi",)) == ("m:1-0000000a",)
    pruner.removed(("nopi",))
    assert pruner.removable(("nopi",)) == ()


# Another process reads a shard that is younger than our list of shards.
def test_a_shard_that_is_newer_than_the_list_keeps_its_checkpoint(pruner: CheckpointPruner) -> None:
    pruner.begin_round([GONE])
    pruner.examine(("nopi",), ITEM)
    for _ in range(5):
        pruner.begin_round([GONE, NEW])
        pruner.examine(("nopi",), ITEM)
        assert pruner.removable(("nopi",)) == ()


def test_each_item_is_looked_at_once_in_a_round(pruner: CheckpointPruner) -> None:
    assert not pruner.wants(("nopi",))
    pruner.begin_round([NEW])
    assert pruner.wants(("nopi",))
    pruner.examine(("nopi",), ITEM)
    assert not pruner.wants(("nopi",))
    assert pruner.wants(("honey",))


def favourite(n: int) -> Favourite:
    return Favourite(user=f"u{n}", restaurant="nopi", since=START)


# The shards of the real stream are listed; GONE is not one of them.
def test_dead_checkpoints_are_removed_by_writes(store: str, runner: asyncio.Runner) -> None:
    clock = ManualClock()

    async def play() -> None:
        async with sk.async_connect(store, tables=[FAVOURITES, COUNTS], pacing=Pacing(monotonic=clock.monotonic)) as db:
            await db.create_tables()
            await db.put(favourite(0))
            table = (await db.client.describe_table(TableName=FAVOURITES.name))["Table"]
            stream = await db.client.describe_stream(StreamArn=table["LatestStreamArn"])
            listed = stream["StreamDescription"]["Shards"][0]["ShardId"]
            aggregator = COUNTED.aggregator(db)
            await aggregator.on_changes([change(1, None, favourite(1), GONE)])
            clock.advance(ROUND)
            checkpoints = []
            for n in range(2, 8):
                await aggregator.on_changes([change(n, None, favourite(n), listed)])
                row = await row_of(db, "nopi", "ALL_TIME")
                checkpoints.append(sum(name.startswith("m:") for name in row))
                clock.advance(ROUND)
            # The first list comes after the first change of a listed shard. The checkpoint is seen, missing in two more
            # lists, seen again, and removed.
            assert checkpoints == [2, 2, 2, 2, 1, 1]
            assert row["count"] == {"N": "7"}

    runner.run(play())


# The checkpoint of this change may have been pruned, so nobody knows whether it was counted.
def test_a_change_of_a_shard_that_is_gone_is_rejected(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    fresh = change(1, None, favourite(1), GONE)
    old = fresh._replace(at=fresh.at - timedelta(hours=25))
    with pytest.raises(ValueError, match=f"no longer has the shard {GONE}"):
        runner.run(COUNTED.aggregator(db).on_changes([old]))


# A list without the shard that was just read is not to be trusted.
def test_a_list_without_the_present_shard_prunes_nothing(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        clock = ManualClock()
        aggregator = COUNTED.aggregator(db)
        aggregator._pruner = pruner = CheckpointPruner("m", Pacing(monotonic=clock.monotonic))
        for n in range(1, 8):
            await aggregator.on_changes([change(n, None, favourite(n), GONE)])
            clock.advance(ROUND)
        assert not pruner.wants(("nopi", "ALL_TIME"))
        assert (await row_of(db, "nopi", "ALL_TIME"))["count"] == {"N": "7"}

    runner.run(play())


# The rights to list a stream may be missing; the counts do not suffer.
def test_shards_that_cannot_be_listed_prune_nothing(
    db: sk.AsyncSession, runner: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    session: Any = db
    session._runner.client = NoStreams(db.client)

    async def play() -> None:
        await COUNTED.aggregator(db).on_changes([change(1, None, favourite(1))])
        assert (await row_of(db, "nopi", "ALL_TIME"))["count"] == {"N": "1"}

    runner.run(play())
    assert "the shards of aggregated-favourites cannot be listed" in caplog.text


class NoStreams:
    """A client that may not list streams."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def _call(self, operation: str, members: dict[str, Any]) -> Any:
        if operation == "ListStreams":
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, operation)
        return await self._client._call(operation, members)
