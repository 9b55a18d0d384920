"""UpdateTable's ReplicaUpdates: replicas of a table in other regions are added and removed, one at a time.

The request is answered when the change is noted; the replicator carries it out. Until then the table is UPDATING.
"""

from __future__ import annotations

import msgspec

from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import CreateReplicationGroupMemberAction, UpdateTable
from sortkey.engine.rows.catalog_entries import TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams.stream_writer import new_stream
from sortkey.engine.tables import description, replicas
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.update import CHANGES
from sortkey.errors import ResourceInUseException, ValidationException


def update_replicas(core: Core, name: str, request: UpdateTable) -> Work:
    updates = request.replica_updates or []
    if any(each.disassociate is not None for each in updates):
        raise ValidationException(f"{INVALID}Disassociate is not supported here: delete the replica, or its table")
    if any(getattr(request, field) not in (None, []) for field in CHANGES):
        raise ValidationException(f"{INVALID}ReplicaUpdates cannot be combined with other changes of a table")
    if len(updates) != 1:
        raise ValidationException(f"{INVALID}ReplicaUpdates must have one update: replicas change one at a time")
    update = updates[0]
    actions = [each for each in (update.create, update.update, update.delete) if each is not None]
    if len(actions) != 1:
        raise ValidationException(f"{INVALID}A replica update has exactly one of Create, Update and Delete")
    action = actions[0]
    region = action.region_name
    if region == core.settings.region:
        raise ValidationException(
            "Cannot add, delete, or update the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or "
            "UpdateTable as required."
        )
    if action is update.update:
        raise ValidationException(f"{INVALID}The settings of a replica here are those of its table: change that one")
    if isinstance(action, CreateReplicationGroupMemberAction):
        _check_no_overrides(action)

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_active(batch.transaction, name).entry
        if replicas.is_changing(entry):
            raise ResourceInUseException(
                f"Attempt to change a resource which is still in use: Table is being updated: {name}"
            )
        if update.delete is None:
            changed = _with_new_replica(core, batch, entry, region)
        else:
            if replicas.replica_in(entry, region) is None:
                raise ValidationException(
                    f"Replica specified in the Replica Update or Replica Delete action of the request was not found: "
                    f"{region}"
                )
            changed = replicas.remove_replica(batch, entry, region, replicas.DELETING)
        core.catalog.save(batch, changed)
        return {"TableDescription": description.describe_in_batch(core, batch, changed)}

    return work


def _check_no_overrides(action: CreateReplicationGroupMemberAction) -> None:
    for field in action.__struct_fields__:
        if field != "region_name" and getattr(action, field) is not None:
            raise ValidationException(f"{INVALID}A replica has the settings of its table here: leave out {field!r}")


def _with_new_replica(core: Core, batch: WriteBatch, entry: TableEntry, region: str) -> TableEntry:
    replicas.check_region(core, region)
    there = core.peers[region]
    with there.read() as snapshot:
        exists = there.catalog.find(snapshot, entry.name) is not None
    if exists or replicas.replica_in(entry, region) is not None:
        raise ValidationException(
            f"Failed to create a the new replica of table with name: '{entry.name}' because one or more replicas "
            "already existed as tables."
        )
    if not replicas.needed_stream(entry):
        stream = new_stream(batch, core.settings, replicas.IMAGES, entry.streams)
        entry = msgspec.structs.replace(entry, streams=[*entry.streams, stream])
    return replicas.add_replicas(core, batch, entry, [region])
