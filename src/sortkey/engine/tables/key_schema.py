"""KeySchema and AttributeDefinitions, checked as AWS checks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sortkey import limits
from sortkey.engine.requests.tables import AttributeDefinition, KeySchemaElement
from sortkey.engine.tables.catalog_entries import IndexEntry
from sortkey.errors import ValidationException

INVALID: Final = "One or more parameter values were invalid: "


class KeyNames(NamedTuple):
    """The attributes a table or index is ordered by."""

    partition: str
    sort: str | None
    more_partition: tuple[str, ...] = ()
    """What follows the first attribute in a multi-attribute key, which only global indexes have."""
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
    def used(self) -> list[str]:
        return self.partition_names + self.sort_names


def read_key_schema(elements: list[KeySchemaElement]) -> KeyNames:
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
    if len(elements) > 2:
        raise ValidationException("Invalid KeySchema: A KeySchema has one HASH and at most one RANGE element")
    return KeyNames(partition.attribute_name, sort.attribute_name)


def read_index_key_schema(elements: list[KeySchemaElement], index: str) -> KeyNames:
    """A global index's key: up to four HASH elements, then up to four RANGE elements. AWS's words for schemas that only
    multi-attribute keys make possible are not known, so these are our own.
    """
    kinds = [element.key_type for element in elements]
    partitions = kinds.count("HASH")
    if partitions <= 1 and len(elements) - partitions <= 1:
        return read_key_schema(elements)
    for kind in ("HASH", "RANGE"):
        if kinds.count(kind) > limits.INDEX_KEY_ATTRIBUTES:
            raise _unusable(f"at most {limits.INDEX_KEY_ATTRIBUTES} {kind} elements are allowed", index)
    if kinds != sorted(kinds):
        raise _unusable("all HASH elements must come before the RANGE elements", index)
    names = [element.attribute_name for element in elements]
    if partitions == 0:
        raise _unusable("the first element must be of type HASH", index)
    if len(set(names)) < len(names):
        raise _unusable(f"an attribute may be named only once: {listed(names)}", index)
    sorts = names[partitions:]
    return KeyNames(names[0], sorts[0] if sorts else None, tuple(names[1:partitions]), tuple(sorts[1:]))


def _unusable(rule: str, index: str) -> ValidationException:
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
    if all(name in attributes for name in keys.used):
        return
    # AWS has two texts for this. The first is known from requests with fewer definitions than the key has attributes.
    if len(attributes) < len(keys.used):
        raise ValidationException("Invalid KeySchema: Some index key attribute have no definition")
    raise ValidationException(
        f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: {listed(keys.used)}, AttributeDefinitions: {listed(attributes)}"
    )


def listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"
