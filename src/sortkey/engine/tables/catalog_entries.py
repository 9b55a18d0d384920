"""What the catalog keeps of a table: plain data, stored as JSON."""

from __future__ import annotations

from typing import Any

import msgspec


class ThroughputEntry(msgspec.Struct, frozen=True):
    read: int = 0
    write: int = 0
    increased: float | None = None
    decreased: float | None = None
    decreases_today: int = 0


class IndexEntry(msgspec.Struct, frozen=True):
    name: str
    space: int
    local: bool
    partition: str
    sort: str | None
    projection: str
    included: list[str] = []
    throughput: ThroughputEntry = ThroughputEntry()
    backfilled_to: str | None = None
    """While the index is being filled: the last table row done, in hex; "" before the first."""
    settings: dict[str, Any] = {}
    """As the table's."""
    more_partition: list[str] = []
    """The partition key's attributes behind the first; only a global index has any."""
    more_sort: list[str] = []

    @property
    def status(self) -> str:
        return "ACTIVE" if self.backfilled_to is None else "CREATING"


class ShardEntry(msgspec.Struct, frozen=True):
    """One slice `low <= hash <= high` of the hash space (its first 8 bytes as a number), over a span of sequence
    numbers.
    """

    number: int
    id: str
    parent: str | None
    low: int
    high: int
    first_sequence: int
    last_sequence: int | None = None
    closed: float | None = None


class StreamEntry(msgspec.Struct, frozen=True):
    space: int
    label: str
    view_type: str
    created: float
    shards: list[ShardEntry]
    disabled: float | None = None


class TableEntry(msgspec.Struct, frozen=True):
    name: str
    space: int
    id: str
    created: float
    attributes: dict[str, str]
    partition: str
    sort: str | None
    indexes: list[IndexEntry] = []
    billing_mode: str = "PROVISIONED"
    on_demand_since: float | None = None
    throughput: ThroughputEntry = ThroughputEntry()
    streams: list[StreamEntry] = []
    """Oldest first; only the last can be enabled. Disabled ones stay readable for a day."""
    ttl_attribute: str | None = None
    ttl_number: int = 0
    """What the table's expiry entries begin with; a new one each time that TTL is switched on."""
    ttl_indexed_to: str | None = None
    """While the items that were there before TTL are being indexed: the last table row done, in hex; "" before the
    first.
    """
    deletion_protection: bool = False
    table_class: str | None = None
    tags: dict[str, str] = {}
    settings: dict[str, Any] = {}
    """Settings that are kept and shown but change nothing here, such as SSESpecification, by their own names."""
