"""New secondary indexes, as CreateTable and UpdateTable describe them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from sortkey import limits
from sortkey.engine.requests.tables import GlobalSecondaryIndex, LocalSecondaryIndex, Projection
from sortkey.engine.tables.catalog_entries import IndexEntry, ThroughputEntry
from sortkey.engine.tables.key_schema import INVALID, KeyNames, check_defined, read_index_key_schema, read_key_schema
from sortkey.engine.tables.settings import index_settings
from sortkey.errors import ValidationException

NO_SPACE_YET: Final = 0
"""The space of a new index until a transaction assigns one."""


def define_local_index(index: LocalSecondaryIndex, table: KeyNames, attributes: Mapping[str, str]) -> IndexEntry:
    name = index.index_name
    keys = read_key_schema(index.key_schema)
    check_defined(keys, attributes)
    if keys.sort is None:
        raise ValidationException(f"{INVALID}Index KeySchema does not have a range key for index: {name}")
    if keys.partition != table.partition:
        raise ValidationException(
            f"{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {keys.partition}, table hash key: {table.partition}"
        )
    projection, included = _read_projection(index.projection)
    return IndexEntry(name, NO_SPACE_YET, True, keys.partition, keys.sort, projection, included)


def define_global_index(
    index: GlobalSecondaryIndex, attributes: Mapping[str, str], billing_mode: str, throughput: ThroughputEntry
) -> IndexEntry:
    keys = read_index_key_schema(index.key_schema, index.index_name)
    check_defined(keys, attributes)
    projection, included = _read_projection(index.projection)
    return IndexEntry(
        index.index_name,
        NO_SPACE_YET,
        False,
        keys.partition,
        keys.sort,
        projection,
        included,
        throughput,
        settings=index_settings(index, billing_mode, throughput),
        more_partition=list(keys.more_partition),
        more_sort=list(keys.more_sort),
    )


def _read_projection(projection: Projection) -> tuple[str, list[str]]:
    projection_type, included = projection.projection_type, projection.non_key_attributes
    if projection_type is None:
        raise ValidationException(f"{INVALID}Unknown ProjectionType: null")
    if projection_type == "INCLUDE" and included is None:
        raise ValidationException(f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if projection_type != "INCLUDE" and included is not None:
        raise ValidationException(f"{INVALID}ProjectionType is {projection_type}, but NonKeyAttributes is specified")
    if included is not None and len(set(included)) < len(included):
        raise ValidationException(f"{INVALID}Duplicate attribute in NonKeyAttributes: [{', '.join(included)}]")
    return projection_type, included or []


def check_distinct_names(indexes: Iterable[IndexEntry]) -> None:
    seen: set[str] = set()
    for index in indexes:
        if index.name in seen:
            raise ValidationException(f"{INVALID}Duplicate index name: {index.name}")
        seen.add(index.name)


def check_projected_total(indexes: Iterable[IndexEntry]) -> None:
    """An attribute counts once for each index that includes it."""
    total = sum(len(index.included) for index in indexes)
    if total > limits.PROJECTED_ATTRIBUTES:
        raise ValidationException(
            f"{INVALID}Number of NonKeyAttributes over all indexes exceeds "
            f"the per-table limit of {limits.PROJECTED_ATTRIBUTES}"
        )
