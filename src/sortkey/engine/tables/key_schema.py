"""KeySchema and AttributeDefinitions, checked as AWS checks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sortkey.engine.requests.tables import AttributeDefinition, KeySchemaElement
from sortkey.errors import ValidationException

INVALID: Final = "One or more parameter values were invalid: "


class KeyNames(NamedTuple):
    """The attributes a table or index is ordered by."""

    partition: str
    sort: str | None

    @property
    def used(self) -> list[str]:
        return [self.partition] if self.sort is None else [self.partition, self.sort]


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
