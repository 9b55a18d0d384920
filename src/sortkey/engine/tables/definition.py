"""A new table as CreateTable describes it, with all checks that do not need the store: keys, attributes and indexes.

UpdateTable defines new indexes by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sortkey import limits
from sortkey.engine.requests.shapes import INVALID, detected, violation
from sortkey.engine.requests.tables import (
    AttributeDefinition,
    CreateTable,
    GlobalSecondaryIndex,
    KeySchemaElement,
    LocalSecondaryIndex,
    Projection,
    StreamSpecification,
)
from sortkey.engine.rows.catalog_entries import IndexEntry, ThroughputEntry, VectorIndexEntry
from sortkey.engine.tables.settings import ON_DEMAND, PROVISIONED, index_settings, read_table_throughput, read_units
from sortkey.errors import ValidationException

KEY_ELEMENTS: Final = 2
"""Of every key but those of global indexes. The service model has no bound since those may have more."""

NO_SPACE_YET: Final = 0
"""The space of a new index until a transaction assigns one."""


class KeyNames(NamedTuple):
    """The key attributes of a table or index."""

    partition: str
    sort: str | None
    more_partition: tuple[str, ...] = ()
    """The attributes after the first in a multi-attribute key, which only global indexes have."""
    more_sort: tuple[str, ...] = ()

    @classmethod
    def of(cls, index: IndexEntry) -> KeyNames:
        return cls(index.partition, index.sort, tuple(index.more_partition), tuple(index.more_sort))

    @property
    def partition_names(self) -> list[str]:
        return [self.partition, *self.more_partition]

    @property
    def sort_names(self) -> list[str]:
        return [] if self.sort is None else [self.sort, *self.more_sort]

    @property
    def names(self) -> list[str]:
        return self.partition_names + self.sort_names


def read_key_schema(elements: list[KeySchemaElement], path: str = "keySchema") -> KeyNames:
    """The key of a table or local index, or of a global index with one attribute in each part; `path` is where the
    request has it."""
    if len(elements) > KEY_ELEMENTS:
        shown = ", ".join(
            f"KeySchemaElement(attributeName={each.attribute_name}, keyType={each.key_type})" for each in elements
        )
        too_long = f"Member must have length less than or equal to {KEY_ELEMENTS}"
        raise ValidationException(detected([violation(f"[{shown}]", path, too_long)]))
    partition = elements[0]
    if partition.key_type != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(elements) == 1:
        return KeyNames(partition.attribute_name, None)
    sort = elements[1]
    if partition.attribute_name == sort.attribute_name:
        raise ValidationException("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    if sort.key_type != "RANGE":
        raise ValidationException("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    return KeyNames(partition.attribute_name, sort.attribute_name)


def read_index_key_schema(elements: list[KeySchemaElement], index: str) -> KeyNames:
    """A global index's key: up to four HASH elements, then up to four RANGE elements. AWS's messages for invalid
    multi-attribute keys are not known, so these are our own.
    """
    key_types = [element.key_type for element in elements]
    partitions = key_types.count("HASH")
    if partitions <= 1 and len(elements) - partitions <= 1:
        return read_key_schema(elements)
    for key_type in ("HASH", "RANGE"):
        if key_types.count(key_type) > limits.INDEX_KEY_ATTRIBUTES:
            raise _invalid(f"at most {limits.INDEX_KEY_ATTRIBUTES} {key_type} elements are allowed", index)
    if key_types != sorted(key_types):
        raise _invalid("all HASH elements must come before the RANGE elements", index)
    names = [element.attribute_name for element in elements]
    if partitions == 0:
        raise _invalid("the first element must be of type HASH", index)
    if len(set(names)) < len(names):
        raise _invalid(f"an attribute may be named only once: {listed(names)}", index)
    sorts = names[partitions:]
    return KeyNames(names[0], sorts[0] if sorts else None, tuple(names[1:partitions]), tuple(sorts[1:]))


def _invalid(rule: str, index: str) -> ValidationException:
    return ValidationException(f"Invalid KeySchema: {rule}, index: {index}")


def read_attributes(definitions: Iterable[AttributeDefinition]) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for definition in definitions:
        name = definition.attribute_name
        if name in attributes:
            raise ValidationException(f"{INVALID}Duplicate AttributeName in AttributeDefinitions: {name}")
        attributes[name] = definition.attribute_type
    return attributes


def check_defined(keys: KeyNames, attributes: Mapping[str, str]) -> None:
    if all(name in attributes for name in keys.names):
        return
    # AWS has two messages for this. The first is known from requests with fewer definitions than key attributes.
    if len(attributes) < len(keys.names):
        raise ValidationException("Invalid KeySchema: Some index key attribute have no definition")
    raise ValidationException(
        f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: {listed(keys.names)}, AttributeDefinitions: {listed(attributes)}"
    )


def listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


def define_local_index(
    index: LocalSecondaryIndex, table: KeyNames, attributes: Mapping[str, str], path: str
) -> IndexEntry:
    """`path` is where the request has the index."""
    name = index.index_name
    keys = read_key_schema(index.key_schema, f"{path}.keySchema")
    check_defined(keys, attributes)
    if keys.sort is None:
        raise ValidationException(f"{INVALID}Index KeySchema does not have a range key for index: {name}")
    if keys.partition != table.partition:
        raise ValidationException(
            f"{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {keys.partition}, table hash key: {table.partition}"
        )
    projection, included = read_projection(index.projection)
    return IndexEntry(
        name, NO_SPACE_YET, True, keys.partition, keys.sort, projection, included, ordered_by_table_key=True
    )


def define_global_index(
    index: GlobalSecondaryIndex, attributes: Mapping[str, str], billing_mode: str, throughput: ThroughputEntry
) -> IndexEntry:
    keys = read_index_key_schema(index.key_schema, index.index_name)
    check_defined(keys, attributes)
    projection, included = read_projection(index.projection)
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


def read_projection(projection: Projection) -> tuple[str, list[str]]:
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


def check_distinct_names(indexes: Iterable[IndexEntry | VectorIndexEntry]) -> None:
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


class TableDefinition(NamedTuple):
    attributes: dict[str, str]
    keys: KeyNames
    indexes: list[IndexEntry]
    """Local ones first; a transaction assigns their spaces later."""
    billing_mode: str
    throughput: ThroughputEntry


def define_table(request: CreateTable) -> TableDefinition:
    """The table with its local and global indexes."""
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
    searched = [
        element.attribute_name for index in request.vector_indexes or [] for element in index.search_schema or []
    ]
    _check_all_used(keys, indexes, searched, attributes)
    return TableDefinition(attributes, keys, indexes, billing_mode, throughput)


def check_stream(specification: StreamSpecification | None, of_new_table: bool = False) -> None:
    if specification is None:
        return
    if specification.stream_enabled and specification.stream_view_type is None:
        raise ValidationException(
            f"{INVALID}Invalid StreamViewType: Stream ViewType must not be null or empty when enabling streams."
        )
    if not specification.stream_enabled and specification.stream_view_type is not None:
        if of_new_table:
            raise ValidationException(
                f"{INVALID}Table is being created with a stream disabled, UpdateViewType should not be specified"
            )
        raise ValidationException(
            f"{INVALID}Invalid StreamViewType: Stream StreamEnabled was false but a StreamViewType was present."
        )


def used_attributes(keys: KeyNames, indexes: list[IndexEntry], searched: Iterable[str] = ()) -> set[str]:
    """`searched` are those of the search schemas of vector indexes."""
    used = {*keys.names, *searched}
    for index in indexes:
        used.update(KeyNames.of(index).names)
    return used


def _check_all_used(
    keys: KeyNames, indexes: list[IndexEntry], searched: Sequence[str], attributes: Mapping[str, str]
) -> None:
    """Definitions are for keys and search schemas only: DynamoDB has no schema for other attributes."""
    used = used_attributes(keys, indexes, searched)
    if used >= attributes.keys():
        return
    if not indexes and not searched:
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
    defined = [
        define_local_index(index, keys, attributes, f"localSecondaryIndexes.{position}.member")
        for position, index in enumerate(requested, 1)
    ]
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
