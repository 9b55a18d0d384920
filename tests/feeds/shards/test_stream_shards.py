"""Which shards may be followed: parents before children, old streams before new ones."""

from __future__ import annotations

from sortkey.feeds.shards.leases import ShardKey, StreamShard, may_start


def shard(name: str, parent: str | None = None, stream: str = "old") -> StreamShard:
    return StreamShard(ShardKey(stream, name), parent, is_closed=False)


#      a ── b ── d
#      └─── c
FAMILY = [shard("a"), shard("b", "a"), shard("c", "a"), shard("d", "b")]


def names(streams: list[list[StreamShard]], ended: str) -> str:
    keys = {each.key for stream in streams for each in stream if each.key.shard in ended}
    return "".join(each.key.shard for each in may_start(streams, keys))


def test_children_start_when_their_parent_has_ended() -> None:
    assert names([FAMILY], "") == "a"
    assert names([FAMILY], "a") == "bc"
    assert names([FAMILY], "ab") == "cd"
    assert names([FAMILY], "ac") == "b"
    assert names([FAMILY], "abcd") == ""


# A shard leaves the stream a day after it was closed.
def test_a_parent_that_is_no_longer_listed_counts_as_ended() -> None:
    assert names([FAMILY[1:]], "") == "bc"


# Disabling a stream and enabling it again makes another one; both have changes of the same items.
def test_an_older_stream_is_followed_to_its_end_first() -> None:
    streams = [FAMILY, [shard("x", stream="new"), shard("y", stream="new")]]
    assert names(streams, "abc") == "d"
    assert names(streams, "abcd") == "xy"
    assert names(streams, "abcdx") == "y"
