"""Which replicas a table has, and what they share. Each replica lists the others; this makes the lists agree.

    a region lists a replica that is not there yet         the table is made there, or an empty one of its name joins
    a replica is there, lists us, and we do not list it    it was added elsewhere: we list it, and send it all our rows
    a listed replica was there and is gone                 it is listed no more
    a listed replica is to be deleted, or to leave         that is done there first

Only one side changes in each step, and each step can be repeated, so a process may end between any two of them.

Replicas share their indexes, TTL, billing mode and encryption. Whoever changed them last, by the time of the change and
its region, wins.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from sortkey.engine.operations.tables import new_entry, remove_table, spaces_of, with_spaces
from sortkey.engine.replication.transfer import is_of_group
from sortkey.engine.rows.catalog_entries import IndexEntry, TableEntry, VectorIndexEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams.stream_writer import new_stream
from sortkey.engine.tables import expiry_index
from sortkey.engine.tables.core import Core, new_space, release_space
from sortkey.engine.tables.definition import NO_SPACE_YET, KeyNames, TableDefinition
from sortkey.engine.tables.replicas import (
    ACTIVE,
    CREATING,
    DELETING,
    IMAGES,
    LEAVING,
    added_elsewhere,
    begin,
    end,
    replica_in,
    why_not_join,
    with_replica,
    without_replica,
)
from sortkey.engine.tables.table import Table

AnyIndex = TypeVar("AnyIndex", IndexEntry, VectorIndexEntry)

_logger = logging.getLogger(__name__)


def align(source: Core, target: Core, name: str) -> bool:
    """Make what a table of one region says about its replica in another one true; whether there was anything to do."""
    with source.read() as snapshot:
        here = source.catalog.find(snapshot, name)
    with target.read() as snapshot:
        there = target.catalog.find(snapshot, name)
    if here is None or here.entry.replication is None:
        return False
    region = target.settings.region
    replica = replica_in(here.entry, region)
    is_replica = is_of_group(there, here.entry)
    if replica is None:
        if there is None or not is_replica or replica_in(there.entry, source.settings.region) is None:
            return False
        return _change(source, here, lambda batch, entry: added_elsewhere(batch, entry, region))
    if replica.status in (DELETING, LEAVING):
        if there is not None and is_replica:
            _leave(target, there, replica.status)
        return _change(source, here, lambda batch, entry: without_replica(batch, entry, region))
    if there is None and not replica.table_id:
        table_id = str(uuid.uuid4())
        return target.store.write(lambda batch: _create(target, batch, here.entry, table_id))
    if there is None or not is_replica:
        if there is not None and not replica.table_id and _may_join(target, there, here.entry):
            return _change(target, there, lambda batch, entry: _joined(target, batch, entry, here.entry))
        return _change(source, here, lambda batch, entry: without_replica(batch, entry, region))
    if there.entry.id != replica.table_id:
        known = msgspec.structs.replace(replica, table_id=there.entry.id)
        if replica.table_id:
            # It was deleted and made anew.
            known = msgspec.structs.replace(known, queued_to="", status=CREATING)
        return _change(source, here, lambda _, entry: with_replica(entry, known))
    return _share_settings(target, here, there)


def _change(core: Core, table: Table, change: Callable[[WriteBatch, TableEntry], TableEntry]) -> bool:
    """Change a table that is still as it was found."""

    def work(batch: WriteBatch) -> bool:
        found = core.catalog.find(batch.transaction, table.name)
        if found is None or found.entry != table.entry:
            return False
        core.catalog.save(batch, change(batch, found.entry))
        return True

    return core.store.write(work)


def _leave(target: Core, there: Table, status: str) -> None:
    def work(batch: WriteBatch) -> None:
        found = target.catalog.find(batch.transaction, there.name)
        if found is None or found.entry.id != there.entry.id or found.entry.replication is None:
            return
        if status == DELETING:
            remove_table(target, batch, found.entry)
        else:
            target.catalog.save(batch, msgspec.structs.replace(end(batch, found.entry), global_since=None))

    target.store.write(work)


def _regions(entry: TableEntry, but: str) -> list[str]:
    """Those of all replicas but one."""
    assert entry.replication is not None
    staying = [each.region for each in entry.replication.replicas if each.status in (ACTIVE, CREATING)]
    return [each for each in (entry.replication.region, *staying) if each != but]


def _create(target: Core, batch: WriteBatch, of: TableEntry, table_id: str) -> bool:
    """The table of a new replica, still empty."""
    if target.catalog.find(batch.transaction, of.name) is not None or of.replication is None:
        return False
    keys = KeyNames(of.partition, of.sort)
    indexes = [_empty(each) for each in of.indexes]
    definition = TableDefinition(of.attributes, keys, indexes, of.billing_mode, of.throughput)
    region = target.settings.region
    entry = msgspec.structs.replace(
        new_entry(batch, of.name, table_id, definition),
        vector_indexes=[with_spaces(batch, _empty(each)) for each in of.vector_indexes],
        streams=[new_stream(batch, target.settings, IMAGES)],
        table_class=of.table_class,
        settings=of.settings,
        global_since=of.global_since,
    )
    if of.ttl_attribute is not None:
        entry = expiry_index.enable(batch, entry, of.ttl_attribute)
    target.catalog.save(batch, _as_replica(batch, entry, of, region))
    return True


def _empty(index: AnyIndex) -> AnyIndex:
    """The same index without rows, of a table without any."""
    if isinstance(index, VectorIndexEntry):
        return msgspec.structs.replace(index, space=NO_SPACE_YET, log=NO_SPACE_YET, backfilled_to=None)
    return msgspec.structs.replace(index, space=NO_SPACE_YET, backfilled_to=None)


def _as_replica(batch: WriteBatch, entry: TableEntry, of: TableEntry, region: str) -> TableEntry:
    assert of.replication is not None
    joined = begin(batch, entry, of.replication.group, region, _regions(of, region))
    assert joined.replication is not None
    replication = msgspec.structs.replace(joined.replication, settings=of.replication.settings)
    return msgspec.structs.replace(joined, replication=replication)


def _may_join(target: Core, table: Table, of: TableEntry) -> bool:
    with target.read() as snapshot:
        problem = why_not_join(snapshot, table, of)
    if problem is not None:
        _logger.warning("table %s in %s is no replica: it %s", of.name, target.settings.region, problem)
    return problem is None


def _joined(target: Core, batch: WriteBatch, entry: TableEntry, of: TableEntry) -> TableEntry:
    entry = msgspec.structs.replace(entry, global_since=of.global_since)
    return _as_replica(batch, entry, of, target.settings.region)


def _share_settings(target: Core, here: Table, there: Table) -> bool:
    ours, theirs = here.entry.replication, there.entry.replication
    assert ours is not None
    assert theirs is not None
    if ours.settings <= theirs.settings:
        return False
    return _change(target, there, lambda batch, entry: _with_settings(batch, entry, here.entry))


def _with_settings(batch: WriteBatch, entry: TableEntry, of: TableEntry) -> TableEntry:
    """A replica with the shared settings of another one."""
    assert entry.replication is not None
    assert of.replication is not None
    local = [each for each in entry.indexes if each.local]
    own = [each for each in entry.indexes if not each.local]
    others = [each for each in of.indexes if not each.local]
    indexes = [
        each if each.space else msgspec.structs.replace(each, space=new_space(batch))
        for each in _changed_indexes(batch, own, others)
    ]
    vectors = _changed_indexes(batch, entry.vector_indexes, of.vector_indexes)
    changed = msgspec.structs.replace(
        entry,
        attributes=of.attributes,
        indexes=[*local, *indexes],
        vector_indexes=[with_spaces(batch, each) for each in vectors],
        billing_mode=of.billing_mode,
        on_demand_since=of.on_demand_since,
        throughput=of.throughput,
        settings=of.settings,
        replication=msgspec.structs.replace(entry.replication, settings=of.replication.settings),
    )
    if entry.ttl_attribute != of.ttl_attribute:
        changed = expiry_index.disable(changed) if entry.ttl_attribute is not None else changed
        if of.ttl_attribute is not None:
            changed = expiry_index.enable(batch, changed, of.ttl_attribute)
    batch.saw_write_time(of.replication.settings[0])
    return changed


def _changed_indexes(batch: WriteBatch, own: Sequence[AnyIndex], others: Sequence[AnyIndex]) -> list[AnyIndex]:
    """The indexes of another replica, with the spaces of those that are here; new ones have none, to be filled."""
    present: dict[str, AnyIndex] = {each.name: each for each in own}
    changed: list[AnyIndex] = []
    for other in others:
        mine = present.get(other.name)
        if mine is not None and _empty(_as(mine, other)) == _empty(other):
            changed.append(_as(mine, other))
            present.pop(other.name)
        else:
            changed.append(msgspec.structs.replace(_empty(other), backfilled_to=""))
    for space in spaces_of([*present.values()]):
        release_space(batch, space)
    return changed


def _as(mine: AnyIndex, other: AnyIndex) -> AnyIndex:
    """With the throughput of the other one, which is no part of what an index is."""
    if isinstance(other, VectorIndexEntry):
        return mine
    return msgspec.structs.replace(mine, throughput=other.throughput, settings=other.settings)
