"""Streams: writing and reading records, shards, shard iterators, and waiting for records."""
