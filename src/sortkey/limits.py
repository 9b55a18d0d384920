"""DynamoDB's documented limits."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

ITEM_BYTES: Final = 400 * KIB
PARTITION_KEY_BYTES: Final = 2048
SORT_KEY_BYTES: Final = 1024
ATTRIBUTE_NAME_BYTES: Final = 64 * KIB
KEY_ATTRIBUTE_NAME_BYTES: Final = 255
NESTING_DEPTH: Final = 32

NUMBER_DIGITS: Final = 38
NUMBER_MAX_EXPONENT: Final = 125
NUMBER_MIN_EXPONENT: Final = -130

PAGE_BYTES: Final = MIB
BATCH_GET_KEYS: Final = 100
BATCH_GET_BYTES: Final = 16 * MIB
BATCH_WRITE_REQUESTS: Final = 25
BATCH_STATEMENTS: Final = 25
STATEMENT_CHARACTERS: Final = 8192
TRANSACTION_ACTIONS: Final = 100
TRANSACTION_BYTES: Final = 4 * MIB
TRANSACTION_TOKEN_SECONDS: Final = 10 * 60

PARTITION_READ_UNITS: Final = 3000
PARTITION_WRITE_UNITS: Final = 1000
"""What one partition serves in a second; DynamoDB throttles what exceeds it."""

EXPRESSION_BYTES: Final = 4 * KIB
EXPRESSION_OPERATORS: Final = 300
EXPRESSION_IN_OPERANDS: Final = 100
PLACEHOLDER_BYTES: Final = 255
EXPRESSION_VALUES_BYTES: Final = 2 * MIB
"""Of all values of a request's expressions together, and of all names."""

GLOBAL_INDEXES: Final = 20
INDEX_KEY_ATTRIBUTES: Final = 4
"""The most attributes of a global index's partition key, and of its sort key."""
LOCAL_INDEXES: Final = 5
PROJECTED_ATTRIBUTES: Final = 100
VECTOR_INDEXES: Final = 5
VECTOR_DIMENSIONS: Final = 4096
VECTOR_FILTERS: Final = 18
"""The most inline filters of a vector index."""
VECTOR_PROJECTED: Final = 20
"""The most attributes that a vector index includes, with its vector and its inline filters."""
VECTOR_RESULTS: Final = 100
VECTOR_ANSWER_BYTES: Final = 16 * MIB
TAGS: Final = 50
RESOURCE_POLICY_BYTES: Final = 20 * 1024
SCAN_SEGMENTS: Final = 1_000_000

STREAM_RETENTION_SECONDS: Final = 24 * 3600
STREAM_ITERATOR_SECONDS: Final = 15 * 60
STREAM_RECORDS: Final = 1000
STREAM_PAGE_BYTES: Final = MIB

TTL_OLDEST_SECONDS: Final = 5 * 365 * 24 * 3600
"""An item whose expiry is further in the past than this never expires."""
