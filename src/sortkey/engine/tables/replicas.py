"""What a table says about its replicas in other regions: the list, and requests that change it.

A change is answered when it is in the list. `replication/` then makes it true in the other regions.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.rows.catalog_entries import ReplicaEntry, ReplicationEntry, StreamEntry, TableEntry
from sortkey.engine.rows.records import space_bytes
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Core, new_space, release_space
from sortkey.engine.tables.table import Table
from sortkey.errors import ValidationException
from sortkey.storage import Transaction, after_prefix, ascending

ACTIVE: Final = "ACTIVE"
CREATING: Final = "CREATING"
DELETING: Final = "DELETING"
LEAVING: Final = "LEAVING"
"""As DELETING, but the table stays, with its rows, and is a replica no more."""
IMAGES: Final = "NEW_AND_OLD_IMAGES"
"""What the stream of a table with replicas has."""
VERSION: Final = "2019.11.21"
NEEDS_REGIONS: Final = (
    "replicas need other regions, and this store has one: start the endpoint by "
    "`sortkey db --regions eu-west-1,us-east-1`"
)


def begin(batch: WriteBatch, entry: TableEntry, group: str, region: str, others: Sequence[str]) -> TableEntry:
    """A table as a replica in its region, which lists others."""
    replication = ReplicationEntry(
        group=group,
        region=region,
        versions=new_space(batch),
        deleted=new_space(batch),
        replicas=[_new_replica(batch, each) for each in others],
    )
    return msgspec.structs.replace(entry, replication=replication)


def end(batch: WriteBatch, entry: TableEntry) -> TableEntry:
    """A table that is a replica no more."""
    for space in entry.replication_spaces:
        release_space(batch, space)
    return msgspec.structs.replace(entry, replication=None)


def _new_replica(batch: WriteBatch, region: str) -> ReplicaEntry:
    replica = ReplicaEntry(region, new_space(batch))
    # Wakes the replicator.
    batch.streams_written.add(space_bytes(replica.queue))
    return replica


def replica_in(entry: TableEntry, region: str) -> ReplicaEntry | None:
    """What a table says about its replica in another region."""
    if entry.replication is None:
        return None
    return next((each for each in entry.replication.replicas if each.region == region), None)


def with_replica(entry: TableEntry, replica: ReplicaEntry) -> TableEntry:
    """The table with a replica in its list, in the place of an earlier one of its region."""
    assert entry.replication is not None
    others = [each for each in entry.replication.replicas if each.region != replica.region]
    replication = msgspec.structs.replace(entry.replication, replicas=[*others, replica])
    return msgspec.structs.replace(entry, replication=replication)


def without_replica(batch: WriteBatch, entry: TableEntry, region: str) -> TableEntry:
    """Without the one of a region; without any, the table is no replica itself."""
    replica, replication = replica_in(entry, region), entry.replication
    assert replica is not None
    assert replication is not None
    left = [each for each in replication.replicas if each.region != region]
    if not left:
        return end(batch, entry)
    release_space(batch, replica.queue)
    return msgspec.structs.replace(entry, replication=msgspec.structs.replace(replication, replicas=left))


def add_replicas(core: Core, batch: WriteBatch, entry: TableEntry, regions: Sequence[str]) -> TableEntry:
    """The table with replicas that are to be made."""
    for region in regions:
        check_region(core, region)
    if entry.replication is None:
        return begin(batch, entry, str(uuid.uuid4()), core.settings.region, regions)
    for region in regions:
        entry = with_replica(entry, _new_replica(batch, region))
    return entry


def added_elsewhere(batch: WriteBatch, entry: TableEntry, region: str) -> TableEntry:
    """The table with a replica that another one has listed."""
    return with_replica(entry, _new_replica(batch, region))


def remove_replica(batch: WriteBatch, entry: TableEntry, region: str, status: str) -> TableEntry:
    """The table with a replica that is to be deleted, or to leave."""
    replica = replica_in(entry, region)
    assert replica is not None
    batch.streams_written.add(space_bytes(replica.queue))
    return with_replica(entry, msgspec.structs.replace(replica, status=status))


def check_region(core: Core, region: str) -> None:
    """Whether the store's regions have this one; raises ValidationException."""
    if region in core.peers:
        return
    if not core.peers:
        raise ValidationException(f"{INVALID}A replica in the region {region!r} cannot be kept: {NEEDS_REGIONS}")
    raise ValidationException(
        f"{INVALID}A replica in the region {region!r} cannot be kept: the regions here are {', '.join(core.peers)}"
    )


def why_not_join(snapshot: Transaction, table: Table, of: TableEntry) -> str | None:
    """What keeps a table of another region from becoming a replica; None if nothing does."""
    key = [(each.name, each.type) for each in table.attributes]
    if key != [(name, of.attributes[name]) for name in (of.partition, of.sort) if name is not None]:
        return "has another key"
    if table.stream is None or table.stream.view_type != IMAGES:
        return f"must have a stream with the view {IMAGES}"
    if table.entry.replication is not None:
        return "is a replica already"
    if next(ascending(snapshot, table.space, after_prefix(table.space)), None) is not None:
        return "must be empty"
    return None


def needed_stream(entry: TableEntry) -> bool:
    """Whether the table has the stream that replicas need; raises ValidationException if it has another one."""
    stream: StreamEntry | None = entry.streams[-1] if entry.streams else None
    if stream is None or stream.disabled is not None:
        return False
    if stream.view_type != IMAGES:
        raise ValidationException(
            f"{INVALID}Table {entry.name} must have a stream with the view {IMAGES}, not {stream.view_type}"
        )
    return True


def settings_changed(batch: WriteBatch, entry: TableEntry) -> TableEntry:
    """The table after a change of settings that all replicas share."""
    if entry.replication is None:
        return entry
    changed = (batch.next_write_time(), entry.replication.region)
    for replica in entry.replication.replicas:
        batch.streams_written.add(space_bytes(replica.queue))
    return msgspec.structs.replace(entry, replication=msgspec.structs.replace(entry.replication, settings=changed))


def described(entry: TableEntry) -> dict[str, Any]:
    """The members of DescribeTable about replicas: those in other regions."""
    if entry.replication is None:
        return {}
    replicas = [
        {"RegionName": each.region, "ReplicaStatus": DELETING if each.status == LEAVING else each.status}
        for each in entry.replication.replicas
    ]
    return {"GlobalTableVersion": VERSION, "Replicas": replicas, "MultiRegionConsistency": "EVENTUAL"}


def is_changing(entry: TableEntry) -> bool:
    """Whether a replica is being made or removed."""
    return entry.replication is not None and any(each.status != ACTIVE for each in entry.replication.replicas)
