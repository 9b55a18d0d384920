"""Reading streams: shards, iterators, records, and waiting for them."""
