"""Catalog entries: what the catalog keeps of a table, stored as JSON."""

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
    """While the index is being filled: the row key of the last table row done, in hex; "" before the first."""
    settings: dict[str, Any] = {}
    """As in `TableEntry`."""
    more_partition: list[str] = []
    """The partition key's attributes after the first; only a global index has any."""
    more_sort: list[str] = []
    ordered_by_table_key: bool = False
    """Whether rows with equal index keys are in the order of the table's sort key: those of a local index, unless it is
    older than this."""

    @property
    def status(self) -> str:
        return "ACTIVE" if self.backfilled_to is None else "CREATING"


class ShardEntry(msgspec.Struct, frozen=True):
    """A slice of the hash space, `low <= hash <= high` (the first 8 bytes as a number), and a range of sequence
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


class InsightsEntry(msgspec.Struct, frozen=True):
    """Contributor insights of a table or an index, once they were switched."""

    enabled: bool
    mode: str
    updated: float


class PolicyEntry(msgspec.Struct, frozen=True):
    text: str
    revision: int
    """Milliseconds since the epoch, or one more than the revision before it."""


class StreamEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    space: int
    label: str
    view_type: str
    created: float
    shards: list[ShardEntry]
    disabled: float | None = None
    policy: PolicyEntry | None = None


class DestinationEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Kinesis stream that gets a copy of the table's changes."""

    arn: str
    precision: str
    stream: StreamEntry | None = None
    """The changes that it has not got yet; None if it is disabled."""


class TableEntry(msgspec.Struct, frozen=True, omit_defaults=True):
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
    """The prefix of the table's expiry entries; a new number each time that TTL is enabled."""
    ttl_indexed_to: str | None = None
    """While items older than the TTL setting are being indexed: the row key of the last table row done, in hex;
    "" before the first.
    """
    deletion_protection: bool = False
    table_class: str | None = None
    tags: dict[str, str] = {}
    settings: dict[str, Any] = {}
    """Settings that are kept and shown but have no effect, such as SSESpecification, by name."""
    policy: PolicyEntry | None = None
    insights: dict[str, InsightsEntry] = {}
    """By index; those of the table itself by the empty name."""
    global_since: float | None = None
    """When the table became a global table, of this region alone."""
    destinations: list[DestinationEntry] = []

    @property
    def all_streams(self) -> list[StreamEntry]:
        """The table's own streams, and those that destinations get their changes from."""
        return [*self.streams, *(each.stream for each in self.destinations if each.stream is not None)]
