"""A new table as CreateTable describes it, with all checks that do not need the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sortkey import limits
from sortkey.engine.requests.tables import CreateTable, GlobalSecondaryIndex, StreamSpecification
from sortkey.engine.tables.catalog_entries import IndexEntry, ThroughputEntry
from sortkey.engine.tables.index_definition import (
    check_distinct_names,
    check_projected_total,
    define_global_index,
    define_local_index,
)
from sortkey.engine.tables.key_schema import INVALID, KeyNames, check_defined, listed, read_attributes, read_key_schema
from sortkey.engine.tables.throughput import ON_DEMAND, PROVISIONED, read_table_throughput, read_units
from sortkey.errors import ValidationException


class TableDefinition(NamedTuple):
    attributes: dict[str, str]
    keys: KeyNames
    indexes: list[IndexEntry]
    """Local ones first; a transaction assigns their spaces later."""
    billing_mode: str
    throughput: ThroughputEntry


def define_table(request: CreateTable) -> TableDefinition:
    billing_mode = request.billing_mode or PROVISIONED
    throughput = read_table_throughput(request.provisioned_throughput, billing_mode)
    if not request.key_schema:
        raise ValidationException(f"{INVALID}KeySchema is required")
    attributes = read_attributes(request.attribute_definitions or [])
    keys = read_key_schema(request.key_schema)
    check_defined(keys, attributes)
    indexes = [*_local_indexes(request, keys, attributes), *_global_indexes(request, attributes, billing_mode)]
    check_distinct_names(indexes)
    check_projected_total(indexes)
    _check_all_used(keys, indexes, attributes)
    return TableDefinition(attributes, keys, indexes, billing_mode, throughput)


def check_stream(specification: StreamSpecification | None) -> None:
    if specification is None:
        return
    if specification.stream_enabled and specification.stream_view_type is None:
        raise ValidationException(
            f"{INVALID}Invalid StreamViewType: Stream ViewType must not be null or empty when enabling streams."
        )
    if not specification.stream_enabled and specification.stream_view_type is not None:
        raise ValidationException(
            f"{INVALID}Invalid StreamViewType: Stream StreamEnabled was false but a StreamViewType was present."
        )


def used_attributes(keys: KeyNames, indexes: list[IndexEntry]) -> set[str]:
    used = set(keys.names)
    for index in indexes:
        used.update(KeyNames.of(index).names)
    return used


def _check_all_used(keys: KeyNames, indexes: list[IndexEntry], attributes: Mapping[str, str]) -> None:
    """Definitions are for keys only: DynamoDB has no schema for other attributes."""
    used = used_attributes(keys, indexes)
    if used == attributes.keys():
        return
    if not indexes:
        raise ValidationException(
            f"{INVALID}Number of attributes in KeySchema does not exactly match "
            "number of attributes defined in AttributeDefinitions"
        )
    raise ValidationException(
        f"{INVALID}Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: {listed(attributes)}, keys used: {listed(name for name in attributes if name in used)}"
    )


def _local_indexes(request: CreateTable, keys: KeyNames, attributes: Mapping[str, str]) -> list[IndexEntry]:
    requested = request.local_secondary_indexes
    if requested is None:
        return []
    if not requested:
        raise ValidationException(f"{INVALID}List of LocalSecondaryIndexes is empty")
    if keys.sort is None:
        raise ValidationException(
            f"{INVALID}Table KeySchema does not have a range key, "
            "which is required when specifying a LocalSecondaryIndex"
        )
    defined = [define_local_index(index, keys, attributes) for index in requested]
    if len(defined) > limits.LOCAL_INDEXES:
        raise ValidationException(
            f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of {limits.LOCAL_INDEXES}"
        )
    return defined


def _global_indexes(request: CreateTable, attributes: Mapping[str, str], billing_mode: str) -> list[IndexEntry]:
    requested = request.global_secondary_indexes
    if requested is None:
        return []
    if not requested:
        raise ValidationException(f"{INVALID}List of GlobalSecondaryIndexes is empty")
    defined = [
        define_global_index(index, attributes, billing_mode, _index_throughput(index, billing_mode))
        for index in requested
    ]
    if len(defined) > limits.GLOBAL_INDEXES:
        raise ValidationException(
            f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of {limits.GLOBAL_INDEXES}"
        )
    return defined


def _index_throughput(index: GlobalSecondaryIndex, billing_mode: str) -> ThroughputEntry:
    """AWS's messages differ from those for an index that UpdateTable adds."""
    name, requested = index.index_name, index.provisioned_throughput
    if billing_mode == ON_DEMAND:
        if requested is not None:
            raise ValidationException(
                f"{INVALID}ProvisionedThroughput should not be specified for index: {name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        return ThroughputEntry()
    if requested is None:
        raise ValidationException(f"{INVALID}ProvisionedThroughput is not specified for index: {name}")
    return read_units(requested, name)
