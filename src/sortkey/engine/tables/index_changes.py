"""GlobalSecondaryIndexUpdates: indexes that UpdateTable creates, changes and drops. Pure: entries in, entries out."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from sortkey import limits
from sortkey.engine.requests.tables import (
    CreateGlobalSecondaryIndexAction,
    DeleteGlobalSecondaryIndexAction,
    GlobalSecondaryIndexUpdate,
    ProvisionedThroughput,
    UpdateGlobalSecondaryIndexAction,
)
from sortkey.engine.tables.catalog_entries import IndexEntry, TableEntry, ThroughputEntry
from sortkey.engine.tables.definition import used_attributes
from sortkey.engine.tables.index_definition import check_projected_total, define_global_index
from sortkey.engine.tables.key_schema import INVALID, KeyNames, listed
from sortkey.engine.tables.settings import index_settings
from sortkey.engine.tables.throughput import ON_DEMAND, change_throughput, read_units
from sortkey.errors import LimitExceededException, ResourceNotFoundException, ValidationException

NOTHING_DONE: Final = ""
"""`backfilled_to` of a new index."""

Action = CreateGlobalSecondaryIndexAction | UpdateGlobalSecondaryIndexAction | DeleteGlobalSecondaryIndexAction


class IndexChanges(NamedTuple):
    entry: TableEntry
    """New indexes have no space yet."""
    dropped: list[IndexEntry]


def change_indexes(
    entry: TableEntry, updates: list[GlobalSecondaryIndexUpdate], definitions: dict[str, str], now: float
) -> IndexChanges:
    """The table entry after the updates, with its AttributeDefinitions; raises AWS's errors."""
    actions = [_action(update) for update in updates]
    _check_one_per_index(actions)
    _check_one_online(entry, actions)
    _check_same_types(entry, definitions)
    indexes = {index.name: index for index in entry.indexes}
    dropped: list[IndexEntry] = []
    for action in actions:
        if isinstance(action, DeleteGlobalSecondaryIndexAction):
            dropped.append(_drop(indexes, action))
        elif isinstance(action, CreateGlobalSecondaryIndexAction):
            indexes[action.index_name] = _create(entry, indexes, action, definitions)
        else:
            indexes[action.index_name] = _update(entry, indexes, action, now)
    after = list(indexes.values())
    check_projected_total(after)
    return IndexChanges(_with_attributes(entry, after, definitions), dropped)


def _action(update: GlobalSecondaryIndexUpdate) -> Action:
    actions = [action for action in (update.update, update.create, update.delete) if action is not None]
    if len(actions) != 1:
        raise ValidationException(f"{INVALID}A GlobalSecondaryIndexUpdate has exactly one of Update, Create and Delete")
    return actions[0]


def _check_one_per_index(actions: list[Action]) -> None:
    seen: set[str] = set()
    for action in actions:
        if action.index_name in seen:
            raise ValidationException(
                f"{INVALID}Only one global secondary index update per index is allowed simultaneously. "
                f"Index: {action.index_name}"
            )
        seen.add(action.index_name)


def _check_one_online(entry: TableEntry, actions: list[Action]) -> None:
    """While an index is being filled, it may be dropped, but no other index may be created or dropped."""
    changed_online = {
        action.index_name for action in actions if not isinstance(action, UpdateGlobalSecondaryIndexAction)
    }
    if not changed_online:
        return
    filling = {index.name for index in entry.indexes if index.backfilled_to is not None}
    if len(changed_online | filling) > 1:
        raise LimitExceededException(
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
        )


def _check_same_types(entry: TableEntry, definitions: dict[str, str]) -> None:
    for name, tag in definitions.items():
        if entry.attributes.get(name, tag) != tag:
            raise ValidationException(
                f"{INVALID}AttributeDefinitions redefine {name} as {tag}, "
                f"which is {entry.attributes[name]} in the table"
            )


def _drop(indexes: dict[str, IndexEntry], action: DeleteGlobalSecondaryIndexAction) -> IndexEntry:
    index = indexes.get(action.index_name)
    if index is None or index.local:
        raise ResourceNotFoundException("Requested resource not found")
    return indexes.pop(action.index_name)


def _create(
    entry: TableEntry,
    indexes: dict[str, IndexEntry],
    action: CreateGlobalSecondaryIndexAction,
    definitions: dict[str, str],
) -> IndexEntry:
    if action.index_name in indexes:
        raise ValidationException("Attempting to create an index which already exists")
    if sum(not index.local for index in indexes.values()) >= limits.GLOBAL_INDEXES:
        raise LimitExceededException(
            "Subscriber limit exceeded: Number of global secondary indexes exceeds "
            f"per-table limit of {limits.GLOBAL_INDEXES}"
        )
    throughput = _throughput(entry, action.index_name, action.provisioned_throughput)
    index = define_global_index(action, definitions, entry.billing_mode, throughput)
    return msgspec.structs.replace(index, backfilled_to=NOTHING_DONE)


def _update(
    entry: TableEntry, indexes: dict[str, IndexEntry], action: UpdateGlobalSecondaryIndexAction, now: float
) -> IndexEntry:
    index = indexes.get(action.index_name)
    if index is None or index.local:
        raise ResourceNotFoundException("Requested resource not found")
    throughput = index.throughput
    if action.provisioned_throughput is not None or (action.on_demand_throughput or action.warm_throughput) is None:
        requested = _throughput(entry, index.name, action.provisioned_throughput)
        throughput = change_throughput(index.throughput, requested, now, index.name)
    settings = index_settings(action, entry.billing_mode, throughput, index.settings)
    return msgspec.structs.replace(index, throughput=throughput, settings=settings)


def _throughput(entry: TableEntry, name: str, requested: ProvisionedThroughput | None) -> ThroughputEntry:
    if entry.billing_mode == ON_DEMAND:
        if requested is not None:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        return ThroughputEntry()
    if requested is None:
        raise ValidationException(
            f"{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}"
        )
    return read_units(requested, name)


def _with_attributes(entry: TableEntry, indexes: list[IndexEntry], definitions: dict[str, str]) -> TableEntry:
    """Removes definitions that no key uses any more; a new definition that no key uses is an error."""
    used = used_attributes(KeyNames(entry.partition, entry.sort), indexes)
    known = entry.attributes | definitions
    if any(name not in used and name not in entry.attributes for name in definitions):
        raise ValidationException(
            f"{INVALID}Some AttributeDefinitions are not used. "
            f"AttributeDefinitions: {listed(definitions)}, keys used: {listed(name for name in known if name in used)}"
        )
    attributes = {name: tag for name, tag in known.items() if name in used}
    return msgspec.structs.replace(entry, indexes=indexes, attributes=attributes)
