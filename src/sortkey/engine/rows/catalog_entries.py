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


class VectorIndexEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    space: int
    log: int
    """The space of its change log."""
    attribute: str
    dimensions: int
    function: str
    projection: str
    included: list[str] = []
    partition: str | None = None
    """The HASH attribute of its search schema."""
    filters: list[str] = []
    backfilled_to: str | None = None
    """As in `IndexEntry`."""

    @property
    def status(self) -> str:
        return "ACTIVE" if self.backfilled_to is None else "CREATING"

    @property
    def schema(self) -> list[str]:
        """The attributes of its search schema."""
        return self.filters if self.partition is None else [self.partition, *self.filters]


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


class RecoveryEntry(msgspec.Struct, frozen=True):
    """Point-in-time recovery."""

    since: int
    """The moment from which on any state can be restored."""
    days: int
    """How many days back at most."""


class RestoredEntry(msgspec.Struct, frozen=True):
    """What a table was restored from."""

    table_arn: str
    time: float
    """The moment whose state it has."""
    backup_arn: str | None = None


class DestinationEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Kinesis stream that gets a copy of the table's changes."""

    arn: str
    precision: str
    stream: StreamEntry | None = None
    """The changes that it has not got yet; None if it is disabled."""


class ReplicaEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A replica of a table in another region, as one replica knows it."""

    region: str
    queue: int
    """The space of the changes that it has not got yet."""
    table_id: str = ""
    """Of its table there; empty before it was seen."""
    queued_to: str | None = ""
    """While all rows are put into the queue of a new replica: the row key of the last one, without its space, in hex.
    None when all are."""
    filled_at: int = 0
    """The last number of the queue when all rows were in it; the replica is complete when that is delivered."""
    status: str = "CREATING"


class ReplicationEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What makes a table a replica of a global table."""

    group: str
    """The same for all replicas."""
    region: str
    """Its own."""
    versions: int
    """The space of the times of its rows' last writes (`tables/row_versions`)."""
    deleted: int
    """The space of the list of deleted rows."""
    replicas: list[ReplicaEntry] = []
    """Those in other regions."""
    settings: tuple[int, str] = (0, "")
    """When and in which region the settings that all replicas share were last changed."""


class TableEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    space: int
    id: str
    created: float
    attributes: dict[str, str]
    partition: str
    sort: str | None
    indexes: list[IndexEntry] = []
    vector_indexes: list[VectorIndexEntry] = []
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
    """When CreateGlobalTable made the table a global table, if it did."""
    replication: ReplicationEntry | None = None
    """None if the table has no replicas elsewhere."""
    is_filled: bool = True
    """False while the table is being restored or imported: it has only some of its items, and nobody may use it."""
    log: int = 0
    """The space of the change log; 0 if the table needs none."""
    recovery: RecoveryEntry | None = None
    restored: RestoredEntry | None = None
    destinations: list[DestinationEntry] = []

    @property
    def all_streams(self) -> list[StreamEntry]:
        """The table's own streams, and those that destinations get their changes from."""
        return [*self.streams, *(each.stream for each in self.destinations if each.stream is not None)]

    @property
    def replication_spaces(self) -> list[int]:
        found = self.replication
        return [] if found is None else [found.versions, found.deleted, *(each.queue for each in found.replicas)]


class Source(msgspec.Struct, frozen=True):
    """A table at one moment, which may be read until whoever refers to it is done, even if the table is deleted."""

    table: TableEntry
    """As it was at the moment, with the spaces of its rows and of its change log."""
    moment: int
    """In nanoseconds: changes after it are not seen."""

    @property
    def spaces(self) -> set[int]:
        return {self.table.space, self.table.log} - {0}


class BackupEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    name: str
    type: str
    source: Source
    space: int
    """Of its blocks."""
    items: int
    bytes: int
    expires: float | None = None
    blocks: int = 0
    """How many are written."""
    position: str | None = ""
    """What the last block ends with: the row key without its space, in hex. None if the backup is whole."""

    @property
    def created(self) -> float:
        return self.source.moment / 1_000_000_000


class RestoreEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table that is being restored, from a backup or from another table."""

    name: str
    table_id: str
    backup_id: str | None = None
    source: Source | None = None
    position: str = ""
    """Of a backup, how many blocks are done; of a table, the last row key without its space, in hex."""


class ExportedFile(msgspec.Struct, frozen=True):
    key: str
    items: int
    md5: str
    """As S3 sends it: base64."""
    etag: str


class ExportEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    asked: dict[str, Any]
    """The members of the request, by AWS's names."""
    source: Source
    started: float
    since: int | None = None
    """Of an incremental export: only rows that have changed after this moment are exported."""
    files: list[ExportedFile] = []
    bytes: int = 0
    """Of the items."""
    position: str | None = ""
    """As in a `BackupEntry`. None if the export has ended."""
    ended: float | None = None
    failure: tuple[str, str] | None = None
    """A code and a message."""

    @property
    def status(self) -> str:
        if self.failure is not None:
            return "FAILED"
        return "IN_PROGRESS" if self.ended is None else "COMPLETED"

    @property
    def items(self) -> int:
        return sum(file.items for file in self.files)


class ImportEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    asked: dict[str, Any]
    """The members of the request, by AWS's names."""
    name: str
    """Of the table."""
    table_id: str
    started: float
    status: str = "IN_PROGRESS"
    done: str = ""
    """The key of the last object that is done; objects are taken in the order of their keys."""
    record: int = 0
    """How many lines or rows of the next one are done."""
    processed: int = 0
    imported: int = 0
    errors: int = 0
    bytes: int = 0
    ended: float | None = None
    failure: tuple[str, str] | None = None
    """A code and a message."""
