"""Keys of items and requests: checked against the table's schema, and turned into row keys.

AWS words the same error differently by where it occurs: a `Key` "does not match the schema", while for an `Item` the
message names the attribute.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from sortkey.engine.tables.table import Index, Keyed, Table, is_longer
from sortkey.errors import ValidationException
from sortkey.expressions import KeyAttribute, reject_nested_keys
from sortkey.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from sortkey.values.attribute import AttributeValue, Item, normalise_item, type_of
from sortkey.values.size import value_size

KEY_MISMATCH = "The provided key element does not match the schema"
_INVALID = "One or more parameter values were invalid: "
_NOT_VALID = "One or more parameter values are not valid. "
_EMPTY = "The AttributeValue for a key attribute cannot contain an empty {} value."
_EMPTY_KEY = _NOT_VALID + _EMPTY + " Key: {}"
_EMPTY_INDEX_KEY = (
    _NOT_VALID
    + "A value specified for a secondary index key is not supported. "
    + _EMPTY
    + " IndexName: {}, IndexKey: {}"
)
_EMPTY_UPDATED_INDEX_KEY = (
    _NOT_VALID
    + "The update expression attempted to update a secondary index key to a value that is not supported. "
    + _EMPTY
)
_UPDATED_INDEX_KEY_TYPE = "The update expression attempted to update the secondary index key to unsupported type"
_UPDATED_INDEX_KEY_LENGTH = (
    "The update expression attempted to update the secondary index key beyond allowed size limits"
)
HASH_KEY_TOO_LONG = _INVALID + f"Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES} bytes"
RANGE_KEY_TOO_LONG = (
    _INVALID + f"Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES} bytes"
)
TYPE_NAMES = {"S": "string", "B": "binary"}


class EmptyKey(ValidationException):
    """An empty key attribute. AWS rejects the whole request for it, also a transaction."""

    @property
    def code(self) -> str:
        return ValidationException.__name__


def normalise_key(key: Item) -> Item:
    """The request's `Key` in canonical form, not yet checked against the schema."""
    return normalise_item(key).item


def row_key_of(table: Table, key: Item) -> bytes:
    """The row key of a request's `Key`, which is neither canonical nor checked."""
    fast = table.fast_row_key(key)
    return row_key(table, normalise_key(key)) if fast is None else fast


def row_key(table: Table, key: Item) -> bytes:
    """The row key of a canonical `Key`, checked against the schema."""
    check_key(table, key)
    return table.row_prefix(key)


def check_key(keyed: Keyed, key: Item) -> None:
    if len(key) != len(keyed.names):
        raise ValidationException(KEY_MISMATCH)
    for attribute in keyed.attributes:
        value = key.get(attribute.name)
        if value is None or attribute.type not in value:
            raise ValidationException(KEY_MISMATCH)
        _check_not_empty(attribute, value)
    check_lengths(keyed, key)


def row_key_in_item(table: Table, item: Item) -> bytes:
    """The row key of a canonical item, whose key attributes are checked against the schema."""
    fast = table.fast_row_key_in_item(item)
    if fast is not None:
        return fast
    for attribute in table.attributes:
        value = item.get(attribute.name)
        if value is None:
            raise ValidationException(f"{_INVALID}Missing the key {attribute.name} in the item")
        if attribute.type not in value:
            raise ValidationException(
                f"{_INVALID}Type mismatch for key {attribute.name} expected: {attribute.type} actual: {type_of(value)}"
            )
        _check_not_empty(attribute, value)
    check_lengths(table, item)
    return table.row_prefix(item)


def check_index_keys(table: Table, item: Item, changed: Container[str] | None = None) -> None:
    """Index keys must have their declared types. For an update, only `changed` attributes are checked."""
    for name, (key_type, index) in table.index_key_types.items():
        value = item.get(name)
        if value is None or (changed is not None and name not in changed):
            continue
        if key_type not in value:
            if changed is not None:
                raise ValidationException(_UPDATED_INDEX_KEY_TYPE)
            raise ValidationException(
                f"{_INVALID}Type mismatch for Index Key {name} "
                f"Expected: {key_type} Actual: {type_of(value)} IndexName: {index}"
            )
        if not value[key_type]:
            empty = _EMPTY_INDEX_KEY if changed is None else _EMPTY_UPDATED_INDEX_KEY
            raise EmptyKey(empty.format(TYPE_NAMES[key_type], index, name))
    for each in table.indexes.values():
        _check_index_lengths(each, item, changed)


def _check_index_lengths(index: Index, item: Item, changed: Container[str] | None) -> None:
    for attributes, limit in index.size_limits:
        names = [name for name, _ in attributes]
        if any(name not in item for name in names):
            continue
        if changed is not None and not any(name in changed for name in names):
            continue
        if is_longer(attributes, item, limit):
            if changed is not None:
                raise ValidationException(_UPDATED_INDEX_KEY_LENGTH)
            actual = sum(value_size(item[name]) for name in names)
            raise ValidationException(
                f"{_INVALID}Size limit exceeded for Index Key {', '.join(names)} "
                f"Actual Size: {actual} bytes Max Size: {limit} bytes IndexName: {index.name}"
            )


def _check_not_empty(attribute: KeyAttribute, value: AttributeValue) -> None:
    if not value[attribute.type]:
        raise EmptyKey(_EMPTY_KEY.format(TYPE_NAMES[attribute.type], attribute.name))


class Expression(Protocol):
    """A compiled condition, projection or update."""

    @property
    def nested(self) -> frozenset[str]:
        """The top-level attributes of its nested paths."""


def check_scalar_keys(table: Table, *expressions: Expression | None) -> None:
    """Key attributes are scalar, so no expression may have a path into one."""
    for each in expressions:
        if each is not None and each.nested:
            reject_nested_keys(each.nested, table.names)
            reject_nested_keys(each.nested, table.index_key_types, "IndexKey")


def check_lengths(keyed: Keyed, item: Item) -> None:
    if is_longer(keyed.partitions, item, PARTITION_KEY_BYTES):
        raise ValidationException(HASH_KEY_TOO_LONG)
    if keyed.sorts and is_longer(keyed.sorts, item, SORT_KEY_BYTES):
        raise ValidationException(RANGE_KEY_TOO_LONG)
