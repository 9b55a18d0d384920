"""The map of the store: what the first four bytes of a key mean.

    space 0        the catalog and single values            text
    space 1        counts                                    space(4)                        → items(8) bytes(8)
    space 2        expiry index                              number(4) second(8) row(…)      → nothing
    space 3        idempotency tokens                        blake2b-128 of the token        → second(8) digest(16)
    space 4        released spaces, to be emptied            space(4)                        → nothing
    space 16 …     one per table, index and stream, numbered in order of creation, never reused

A table's or index's rows:

    table row      space(4) partition(16) sort(…)            → size and flags(4) item as DynamoDB JSON
    index row      space(4) partition(16) sort(…) owner(16)  → size and flags(4) projected item as DynamoDB JSON
    stream record  space(4) shard(4) sequence(8)             → millisecond and flag(8) record as DynamoDB Streams JSON
    trim mark      space(4) shard(4) 0(8)                    → the last sequence number removed from the shard(8)

Every value but the format version ends in its seal(8), the checksums of `storage/sealed.py`; it is left out above.

`partition` is the blake2b-128 of the partition key, so a partition is one contiguous range, a Scan walks in hash
order as DynamoDB's does, and parallel segments and stream shards are slices of the hash space. `sort` is order-
preserving and self-delimiting (`values/key_bytes.py`), so the attributes of a multi-attribute key follow one another,
and an index row can end in its `owner`: the blake2b-128 of its table row's partition and sort bytes, which keeps rows
with equal index keys apart. The flag of a stream record, as of an item, is the top bit: whether it holds binary.
An expiry entry ends in its item's row key without the space. Its number is a new space number for each time that TTL is
switched on for a table, so entries of an earlier time differ from present ones.
"""

from __future__ import annotations

from typing import Final

CATALOG: Final = b"\0\0\0\0"
COUNTS: Final = b"\0\0\0\1"
EXPIRY: Final = b"\0\0\0\2"
TOKENS: Final = b"\0\0\0\3"
GARBAGE: Final = b"\0\0\0\4"
FIRST_FREE: Final = 16

CATALOG_VERSION: Final = CATALOG + b"version"
NEXT_SPACE: Final = CATALOG + b"next-space"
LAST_SEQUENCE: Final = CATALOG + b"last-sequence"
TABLE_PREFIX: Final = CATALOG + b"table/"
TABLE_END: Final = TABLE_PREFIX + b"\xff"

OWN: Final = {
    CATALOG: "the catalog",
    COUNTS: "the counts",
    EXPIRY: "the expiry index",
    TOKENS: "the idempotency tokens",
    GARBAGE: "the released spaces",
}
"""The spaces that belong to no table."""

PARTITION_BYTES: Final = 16
OWNER_BYTES: Final = 16
SPACE_BYTES: Final = 4
PARTITION_END: Final = SPACE_BYTES + PARTITION_BYTES
"""Row keys of one partition have so many bytes in common."""


def space_bytes(number: int) -> bytes:
    return number.to_bytes(SPACE_BYTES, "big")
