"""Work that processes share by shards: leases, dead letters, metrics."""
