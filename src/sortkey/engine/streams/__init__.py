"""Streams: shards, writing and reading records, shard iterators, and waiting for records."""
