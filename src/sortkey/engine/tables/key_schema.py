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
