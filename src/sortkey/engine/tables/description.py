"""A table as DescribeTable shows it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from sortkey.engine.rows.catalog_entries import (
    IndexEntry,
    RestoredEntry,
    StreamEntry,
    TableEntry,
    ThroughputEntry,
    VectorIndexEntry,
)
from sortkey.engine.rows.records import space_bytes
from sortkey.engine.rows.write_batch import WriteBatch, read_count
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.definition import KeyNames
from sortkey.engine.tables.replicas import described, is_changing
from sortkey.engine.tables.settings import ENCRYPTION, ON_DEMAND_MAXIMUM, Settings, decreases_today, warm_units
from sortkey.storage import Transaction

Description = dict[str, Any]
Count = Callable[[bytes], tuple[int, int]]

SHOWN_AS_KEPT: Final = (ENCRYPTION, ON_DEMAND_MAXIMUM)


def describe(core: Core, transaction: Transaction, entry: TableEntry) -> Description:
    """The table as a snapshot has it."""
    count = partial(read_count, transaction)
    return _Describer(core.table_arn(entry.name), entry, core.clock.now(), count).table()


def describe_in_batch(core: Core, batch: WriteBatch, entry: TableEntry) -> Description:
    """The table inside a write batch, with the counts of the batch so far."""
    return _Describer(core.table_arn(entry.name), entry, batch.now, batch.count_of).table()


class _Describer(msgspec.Struct, frozen=True):
    arn: str
    entry: TableEntry
    now: float
    count: Count

    def table(self) -> Description:
        entry = self.entry
        items, size = self.count(space_bytes(entry.space))
        shown: Description = {
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": tag} for name, tag in entry.attributes.items()
            ],
            "TableName": entry.name,
            "KeySchema": key_schema(KeyNames(entry.partition, entry.sort)),
            "TableStatus": "CREATING" if not entry.is_filled else "UPDATING" if is_changing(entry) else "ACTIVE",
            "CreationDateTime": entry.created,
            "TableSizeBytes": size,
            "ItemCount": items,
            "TableArn": self.arn,
            "TableId": entry.id,
            "DeletionProtectionEnabled": entry.deletion_protection,
        }
        shown |= self._capacity(entry.throughput, entry.settings) | self._indexes() | self._options()
        return shown | described(entry)

    def _indexes(self) -> Description:
        """The lists of indexes; DynamoDB leaves out an empty list."""
        lists = {
            "LocalSecondaryIndexes": [self._index(index) for index in self.entry.indexes if index.local],
            "GlobalSecondaryIndexes": [self._global_index(index) for index in self.entry.indexes if not index.local],
        }
        lists["VectorIndexes"] = [self._vector_index(index) for index in self.entry.vector_indexes]
        return {name: indexes for name, indexes in lists.items() if indexes}

    def _vector_index(self, index: VectorIndexEntry) -> Description:
        items, size = self.count(space_bytes(index.space))
        shown = vector_index(index) | {
            "IndexStatus": index.status if self.entry.is_filled else "CREATING",
            "IndexSizeBytes": size,
            "ItemCount": items,
            "IndexArn": f"{self.arn}/index/{index.name}",
        }
        if index.backfilled_to is not None:
            shown["Backfilling"] = True
        return shown

    def _options(self) -> Description:
        entry = self.entry
        shown: Description = {}
        if entry.on_demand_since is not None:
            shown["BillingModeSummary"] = {
                "BillingMode": entry.billing_mode,
                "LastUpdateToPayPerRequestDateTime": entry.on_demand_since,
            }
        if entry.table_class is not None:
            shown["TableClassSummary"] = {"TableClass": entry.table_class}
        if entry.streams:
            shown |= _stream(self.arn, entry.streams[-1])
        if entry.restored is not None:
            shown["RestoreSummary"] = _restore_summary(entry.restored, entry.is_filled)
        return shown

    def _index(self, index: IndexEntry) -> Description:
        items, size = self.count(space_bytes(index.space))
        return {
            "IndexName": index.name,
            "KeySchema": key_schema(KeyNames.of(index)),
            "Projection": projection(index),
            "IndexSizeBytes": size,
            "ItemCount": items,
            "IndexArn": f"{self.arn}/index/{index.name}",
        }

    def _global_index(self, index: IndexEntry) -> Description:
        status = index.status if self.entry.is_filled else "CREATING"
        shown = self._index(index) | {"IndexStatus": status} | self._capacity(index.throughput, index.settings)
        if index.backfilled_to is not None:
            shown["Backfilling"] = True
        return shown

    def _capacity(self, throughput: ThroughputEntry, settings: Settings) -> Description:
        read, write = warm_units(settings, self.entry.billing_mode, throughput)
        return {
            "ProvisionedThroughput": _throughput(throughput, self.now),
            "WarmThroughput": {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, "Status": "ACTIVE"},
        } | {name: settings[name] for name in SHOWN_AS_KEPT if name in settings}


def vector_index(index: VectorIndexEntry) -> Description:
    """What defines a vector index."""
    shown: Description = {
        "IndexName": index.name,
        "VectorAttribute": {"AttributeName": index.attribute},
        "Projection": projection(index),
        "Dimensions": index.dimensions,
        "DistanceFunction": index.function,
    }
    if index.schema:
        roles = dict.fromkeys(index.filters, "INLINE_FILTER")
        shown["SearchSchema"] = [
            {"AttributeName": name, "SearchSchemaElementType": roles.get(name, "HASH")} for name in index.schema
        ]
    return shown


def key_schema(keys: KeyNames) -> list[Description]:
    partition = [{"AttributeName": name, "KeyType": "HASH"} for name in keys.partition_names]
    return partition + [{"AttributeName": name, "KeyType": "RANGE"} for name in keys.sort_names]


def projection(index: IndexEntry | VectorIndexEntry) -> Description:
    shown: Description = {"ProjectionType": index.projection}
    return shown | {"NonKeyAttributes": index.included} if index.included else shown


def _throughput(entry: ThroughputEntry, now: float) -> Description:
    shown: Description = {
        "NumberOfDecreasesToday": decreases_today(entry, now),
        "ReadCapacityUnits": entry.read,
        "WriteCapacityUnits": entry.write,
    }
    if entry.increased is not None:
        shown["LastIncreaseDateTime"] = entry.increased
    if entry.decreased is not None:
        shown["LastDecreaseDateTime"] = entry.decreased
    return shown


def _restore_summary(restored: RestoredEntry, is_filled: bool) -> Description:
    shown: Description = {
        "SourceTableArn": restored.table_arn,
        "RestoreDateTime": restored.time,
        "RestoreInProgress": not is_filled,
    }
    return shown if restored.backup_arn is None else {"SourceBackupArn": restored.backup_arn} | shown


def _stream(table_arn: str, stream: StreamEntry) -> Description:
    """A disabled stream has no StreamSpecification, but it is still the latest stream."""
    shown: Description = {
        "LatestStreamLabel": stream.label,
        "LatestStreamArn": f"{table_arn}/stream/{stream.label}",
    }
    if stream.disabled is None:
        shown["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream.view_type}
    return shown
