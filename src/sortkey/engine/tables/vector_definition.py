"""Vector indexes as CreateTable and UpdateTable define them, with all checks that do not need the store.

AWS's messages are used where they are known; `docs/compatibility.md` says which are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from sortkey import limits
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import (
    CreateVectorIndexAction,
    DeleteVectorIndexAction,
    SearchSchemaElement,
    VectorIndex,
    VectorIndexUpdate,
)
from sortkey.engine.rows.catalog_entries import IndexEntry, TableEntry, VectorIndexEntry
from sortkey.engine.tables.definition import NO_SPACE_YET, KeyNames, read_projection
from sortkey.engine.tables.settings import ON_DEMAND
from sortkey.errors import LimitExceededException, ResourceNotFoundException, ValidationException

NOTHING_DONE: Final = ""
"""`backfilled_to` of a new index."""

Action = CreateVectorIndexAction | DeleteVectorIndexAction


def define_vector_indexes(
    requested: Sequence[VectorIndex], keys: KeyNames, attributes: Mapping[str, str], billing_mode: str
) -> list[VectorIndexEntry]:
    """Those of a new table."""
    if not requested:
        raise ValidationException(f"{INVALID}List of VectorIndexes is empty")
    check_on_demand(billing_mode)
    if len(requested) > limits.VECTOR_INDEXES:
        raise ValidationException(f"{INVALID}VectorIndex count exceeds the per-table limit of {limits.VECTOR_INDEXES}")
    defined = [_define(index, attributes) for index in requested]
    for index in defined:
        _check_vector_attribute(index, keys, attributes, attributes)
    check_same_dimensions(defined)
    return defined


def check_on_demand(billing_mode: str) -> None:
    if billing_mode != ON_DEMAND:
        raise ValidationException(f"{INVALID}Vector indexes are only supported for PAY_PER_REQUEST tables")


def _define(index: VectorIndex, attributes: Mapping[str, str]) -> VectorIndexEntry:
    """`attributes` are those that the same request defines."""
    name = index.index_name
    if index.dimensions > limits.VECTOR_DIMENSIONS:
        raise ValidationException(
            f"{INVALID}Dimensions must be between 1 and {limits.VECTOR_DIMENSIONS}, index: {name}"
        )
    partition, filters = _read_schema(index.search_schema or [], attributes, name)
    projection, included = read_projection(index.projection)
    if len(included) + 1 + len(filters) > limits.VECTOR_PROJECTED:
        raise ValidationException(
            f"{INVALID}Number of NonKeyAttributes, with the vector attribute and the inline filters, exceeds the limit "
            f"of {limits.VECTOR_PROJECTED}, index: {name}"
        )
    return VectorIndexEntry(
        name,
        NO_SPACE_YET,
        NO_SPACE_YET,
        index.vector_attribute.attribute_name,
        index.dimensions,
        index.distance_function,
        projection,
        included,
        partition,
        filters,
    )


def _read_schema(
    elements: Sequence[SearchSchemaElement], attributes: Mapping[str, str], index: str
) -> tuple[str | None, list[str]]:
    """The HASH attribute and the inline filters."""
    names = [element.attribute_name for element in elements]
    if any(name not in attributes for name in names):
        raise ValidationException(f"{INVALID}One element in SearchSchema is not defined in attribute definitions")
    if len(set(names)) < len(names):
        raise ValidationException(f"{INVALID}An attribute may be in SearchSchema only once, index: {index}")
    partitions = [each.attribute_name for each in elements if each.search_schema_element_type == "HASH"]
    if len(partitions) > 1:
        raise ValidationException(f"{INVALID}SearchSchema may have at most one HASH element, index: {index}")
    filters = [name for name in names if name not in partitions]
    if len(filters) > limits.VECTOR_FILTERS:
        raise ValidationException(
            f"{INVALID}Number of INLINE_FILTER elements exceeds the limit of {limits.VECTOR_FILTERS}, index: {index}"
        )
    return (partitions[0] if partitions else None), filters


def _check_vector_attribute(
    index: VectorIndexEntry, keys: KeyNames, defined: Mapping[str, str], types: Mapping[str, str]
) -> None:
    """A vector is no key, and has no definition. `defined` are the definitions of the request."""
    name = index.attribute
    if name in defined:
        raise ValidationException(
            f"{INVALID}Conflicting attribute definition for '{name}'. An attribute cannot be defined in "
            "AttributeDefinitions when used as a VectorAttribute."
        )
    if name in types:
        key_type = "RANGE" if name == keys.sort else "HASH"
        raise ValidationException(
            f"{INVALID}Attributes cannot be redefined. Please check that your attribute has the same type as "
            f"previously defined. Existing schema: Schema:[SchemaElement: key{{{name}:{types[name]}:{key_type}}}] "
            f"New schema: VectorIndexSchema:[VectorAttribute: key{{{name}:L:{index.dimensions}}}]"
        )


def check_same_dimensions(indexes: Iterable[VectorIndexEntry]) -> None:
    dimensions: dict[str, int] = {}
    for index in indexes:
        if dimensions.setdefault(index.attribute, index.dimensions) != index.dimensions:
            raise ValidationException(
                f"{INVALID}Vector indexes on the same attribute must use the same number of dimensions: "
                f"{index.attribute}"
            )


def used_by(indexes: Iterable[VectorIndexEntry]) -> set[str]:
    """The attributes that need a definition."""
    return {name for index in indexes for name in index.schema}


def actions_of(updates: Sequence[VectorIndexUpdate]) -> list[Action]:
    actions: list[Action] = []
    for update in updates:
        given = [action for action in (update.create, update.delete) if action is not None]
        if len(given) != 1:
            raise ValidationException(f"{INVALID}A VectorIndexUpdate has exactly one of Create and Delete")
        actions += given
    return actions


class VectorChanges(msgspec.Struct, frozen=True):
    indexes: list[VectorIndexEntry]
    """New ones have no spaces yet."""
    dropped: list[VectorIndexEntry]


def change_vector_indexes(
    entry: TableEntry, indexes: Sequence[IndexEntry], actions: Sequence[Action], definitions: Mapping[str, str]
) -> VectorChanges:
    """The vector indexes after VectorIndexUpdates. `indexes` are the other indexes, as the same request leaves them."""
    found = {index.name: index for index in entry.vector_indexes}
    dropped: list[VectorIndexEntry] = []
    for action in actions:
        name = action.index_name
        if isinstance(action, DeleteVectorIndexAction):
            if name not in found:
                raise ResourceNotFoundException("Requested resource not found")
            dropped.append(found.pop(name))
            continue
        if name in found or any(index.name == name for index in indexes):
            raise ValidationException("Attempting to create an index which already exists")
        if len(found) >= limits.VECTOR_INDEXES:
            raise LimitExceededException(
                "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of "
                f"{limits.VECTOR_INDEXES}"
            )
        check_on_demand(entry.billing_mode)
        index = _define(action, definitions)
        _check_vector_attribute(index, KeyNames(entry.partition, entry.sort), definitions, entry.attributes)
        found[name] = msgspec.structs.replace(index, backfilled_to=NOTHING_DONE)
    after = list(found.values())
    check_same_dimensions(after)
    return VectorChanges(after, dropped)
