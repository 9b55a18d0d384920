"""A table and its indexes as the operations see them: names, types, and how their keys are checked and become bytes.

A table is built from a `TableEntry` and immutable; a change to the table makes a new one.

Turning a `Key` into bytes is most of the work of a read (see `make bench`, BatchGetItem), and nearly every key is short
text. So each table compiles its own functions for short text, which take a third of the general path's time. They
return None otherwise: then the general path (`row_key_of`) checks the key and words any error. In items, which are
canonical, the sort key may be a number as well.

AWS words the same error differently by where it occurs: a `Key` "does not match the schema", while for an `Item` the
message names the attribute.
"""

from __future__ import annotations

from binascii import a2b_base64
from bisect import bisect_left
from collections.abc import Callable, Collection, Container
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Annotated, Any, Final, Protocol

import msgspec

from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.rows.catalog_entries import IndexEntry, ReplicationEntry, StreamEntry, TableEntry
from sortkey.engine.rows.records import OWNER_BYTES, PARTITION_END, SPACE_BYTES, space_bytes
from sortkey.engine.rows.stored_item import are_plain
from sortkey.engine.tables.vector_index import VectorIndex
from sortkey.errors import ValidationException
from sortkey.expressions import KeyAttribute, KeyAttributes, reject_nested_keys
from sortkey.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from sortkey.values import number
from sortkey.values.attribute import AttributeValue, Item, normalise_item, type_of
from sortkey.values.key_bytes import (
    HASH_BYTES,
    TEXT_END,
    TEXT_SHIFT,
    KeyProduct,
    joint_hash,
    partition_hash,
    sort_bytes,
)
from sortkey.values.size import value_size

SHORT_TEXT_CHARACTERS: Final = SORT_KEY_BYTES // 4
"""A text of this length fits into any key, because no character takes more than four bytes."""

EMPTY_SORT_BYTES: Final = SPACE_BYTES + HASH_BYTES + len(TEXT_END)
"""Length of a row key whose sort key is an empty text, which DynamoDB does not allow."""

ORDERED_BYTES: Final = 1978 - PARTITION_END - 1152 - OWNER_BYTES
"""How much of the table's sort key fits behind the longest sort key of a local index, as `key_bytes` encodes it, into a
key of LMDB."""

SLICED_BYTES: Final = 8
"""Of a partition's hash: by these, a stream is divided into shards."""
SHARD_BYTES: Final = 4

REMEMBERED_PARTITIONS: Final = 4096
"""Partition hashes kept for each table and index."""

KeyBytes = Callable[[Item], bytes]
TextPrefix = Callable[[str], bytes]
FastRowKey = Callable[[Item], bytes | None]
FastRowKeysOfJson = Callable[[bytes], list[bytes] | None]
FastRowKeysOfTexts = Callable[[Collection[tuple[str, str]]], list[bytes] | None]

# Raised by a key attribute that is missing or has another type.
_NOT_FAST: Final = (KeyError, TypeError, AttributeError, UnicodeEncodeError)

KEY_MISMATCH = "The provided key element does not match the schema"
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
HASH_KEY_TOO_LONG = INVALID + f"Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES} bytes"
RANGE_KEY_TOO_LONG = (
    INVALID + f"Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES} bytes"
)
TYPE_NAMES = {"S": "string", "B": "binary"}


class Keyed:
    """The base of tables and indexes: rows ordered by a partition key and an optional sort key. In a global index each
    may have several attributes.
    """

    __slots__ = (
        "attributes",
        "names",
        "partition_prefix",
        "partitions",
        "row_prefix",
        "size_limits",
        "sorts",
        "space",
        "text_prefix",
    )

    def __init__(self, space: int, partitions: KeyAttributes, sorts: KeyAttributes) -> None:
        self.space = space_bytes(space)
        self.partitions = partitions
        self.sorts = sorts
        self.attributes = partitions + sorts
        self.names = tuple(attribute.name for attribute in self.attributes)
        self.size_limits = ((partitions, PARTITION_KEY_BYTES), (sorts, SORT_KEY_BYTES))[: 2 if sorts else 1]
        """The attributes of each key, with the most bytes that they may have together."""
        self.text_prefix = compile_text_prefix(self.space)
        self.partition_prefix = _partition_prefix(self.space, partitions, self.text_prefix)
        """The prefix of the row keys of an item's partition."""
        self.row_prefix = _row_prefix(self.partition_prefix, sorts)
        """Space, partition and sort bytes of an item's key."""


def _partition_prefix(space: bytes, partitions: KeyAttributes, text_prefix: TextPrefix) -> KeyBytes:
    if len(partitions) > 1:
        joined = _sort_bytes(partitions)
        return lambda item: space + joint_hash(joined(item))
    ((name, tag),) = partitions
    if tag == "S":
        return lambda item: text_prefix(item[name]["S"])
    return lambda item: space + partition_hash(tag, item[name][tag])


def _row_prefix(partition_prefix: KeyBytes, sorts: KeyAttributes) -> KeyBytes:
    if not sorts:
        return partition_prefix
    if len(sorts) > 1:
        joined = _sort_bytes(sorts)
        return lambda item: partition_prefix(item) + joined(item)
    ((name, tag),) = sorts
    return lambda item: partition_prefix(item) + sort_bytes(tag, item[name][tag])


def _sort_bytes(attributes: KeyAttributes) -> KeyBytes:
    return lambda item: b"".join([sort_bytes(tag, item[name][tag]) for name, tag in attributes])


class Index(Keyed):
    __slots__ = ("_filled_to", "end", "entry", "fast_row_prefix", "kept", "name")

    def __init__(self, entry: IndexEntry, table: TableEntry) -> None:
        sorts = [] if entry.sort is None else [entry.sort, *entry.more_sort]
        super().__init__(
            entry.space, _attributes(table, entry.partition, *entry.more_partition), _attributes(table, *sorts)
        )
        self.entry = entry
        self.name = entry.name
        self.kept = self._projected_names(table)
        """The projected attributes; None if all are projected."""
        self.fast_row_prefix = self._fast_row_prefix()
        """`row_prefix` of a canonical item that has the index's key, if that is short text, or short text and a number;
        otherwise it returns None."""
        self.end = int(entry.ordered_by_table_key)
        """Which of a table row's `ends_of` is the end of its row key here."""
        self._filled_to = None if entry.backfilled_to is None else bytes.fromhex(entry.backfilled_to)

    def _fast_row_prefix(self) -> FastRowKey:
        if len(self.partitions) > 1 or len(self.sorts) > 1:
            return no_row_key
        sort = self.sorts[0] if self.sorts else None
        return compile_row_key_in_item(self.text_prefix, self.partitions[0], sort)

    def reaches(self, row_key: bytes) -> bool:
        """Whether the index covers this table row: while it is being filled, it has no rows for later ones."""
        return self._filled_to is None or row_key <= self._filled_to

    def holds(self, item: Item) -> bool:
        """Whether the item is in the index: it has the index's key, and that is not too long. (Only an item that is
        older than the index can have a key that is too long.)
        """
        for name, tag in self.attributes:
            value = item.get(name)
            if value is None or not value.get(tag):
                return False
        return not any(is_longer(attributes, item, limit) for attributes, limit in self.size_limits)

    def _projected_names(self, table: TableEntry) -> frozenset[str] | None:
        if self.entry.projection == "ALL":
            return None
        names = {table.partition, *self.names, *self.entry.included}
        return frozenset(names if table.sort is None else names | {table.sort})


NEW_IMAGE_TYPES: Final = frozenset({"NEW_IMAGE", "NEW_AND_OLD_IMAGES"})
OLD_IMAGE_TYPES: Final = frozenset({"OLD_IMAGE", "NEW_AND_OLD_IMAGES"})


class RecordedStream:
    """A stream as writes use it."""

    __slots__ = ("_slices", "has_new_images", "has_old_images", "space", "view_type")

    def __init__(self, entry: StreamEntry) -> None:
        self.space = space_bytes(entry.space)
        self.view_type = entry.view_type.encode()
        self.has_new_images = entry.view_type in NEW_IMAGE_TYPES
        self.has_old_images = entry.view_type in OLD_IMAGE_TYPES
        still_open = [shard for shard in entry.shards if shard.last_sequence is None]
        self._slices = sorted(
            (shard.high.to_bytes(SLICED_BYTES, "big"), self.space + shard.number.to_bytes(SHARD_BYTES, "big"))
            for shard in still_open
        )
        """Of the open shards: where a slice of the hash space ends, and what its records' keys begin with."""

    def shard_prefix(self, row_key: bytes) -> bytes:
        """What the keys of an item's records begin with: the space and the shard."""
        partition = row_key[SPACE_BYTES : SPACE_BYTES + SLICED_BYTES]
        slices = self._slices
        return slices[0 if len(slices) == 1 else bisect_left(slices, (partition,))][1]


class Replication:
    """The spaces of a table with replicas elsewhere, as writes use them."""

    __slots__ = ("deleted", "queues", "region", "versions")

    def __init__(self, entry: ReplicationEntry) -> None:
        self.region = entry.region.encode()
        self.versions = space_bytes(entry.versions)
        self.deleted = space_bytes(entry.deleted)
        self.queues = tuple(space_bytes(each.queue) for each in entry.replicas)


class Table(Keyed):
    __slots__ = (
        "all_indexes",
        "attribute_types",
        "entry",
        "fast_row_key",
        "fast_row_key_in_item",
        "fast_row_keys_of_json",
        "fast_row_keys_of_texts",
        "followed",
        "has_binary_key",
        "index_key_types",
        "indexes",
        "local_indexes",
        "log",
        "name",
        "partition",
        "recorded",
        "replication",
        "sort",
        "stream",
        "ttl_attribute",
        "vector_indexes",
    )

    def __init__(self, entry: TableEntry) -> None:
        sorts = () if entry.sort is None else _attributes(entry, entry.sort)
        super().__init__(entry.space, _attributes(entry, entry.partition), sorts)
        self.partition = self.partitions[0]
        self.sort = sorts[0] if sorts else None
        self.entry = entry
        self.name = entry.name
        self.has_binary_key = any(attribute.type == "B" for attribute in self.attributes)
        self.attribute_types = entry.attributes
        self.indexes = {index.name: Index(index, entry) for index in entry.indexes}
        self.local_indexes = any(index.local for index in entry.indexes)
        self.index_key_types: dict[str, tuple[str, str]] = {}
        """Every index key attribute outside the table's key: its type, and the alphabetically first index that uses
        it.
        """
        for index_name in sorted(self.indexes):
            for name in self.indexes[index_name].names:
                if name not in self.names:
                    self.index_key_types.setdefault(name, (entry.attributes[name], index_name))
        self.stream: StreamEntry | None = None
        if entry.streams and entry.streams[-1].disabled is None:
            self.stream = entry.streams[-1]
        self.recorded = tuple(RecordedStream(stream) for stream in entry.all_streams if stream.disabled is None)
        """The streams that get a record of each change: the table's own, and those of its destinations."""
        self.ttl_attribute = entry.ttl_attribute
        self.vector_indexes = {index.name: VectorIndex(index, entry) for index in entry.vector_indexes}
        self.all_indexes: tuple[Index | VectorIndex, ...] = (*self.indexes.values(), *self.vector_indexes.values())
        self.log = space_bytes(entry.log) if entry.log else None
        """The space of its change log."""
        self.replication = None if entry.replication is None else Replication(entry.replication)
        self.followed = (
            bool(self.all_indexes)
            or bool(self.recorded)
            or self.ttl_attribute is not None
            or self.log is not None
            or self.replication is not None
        )
        """Whether a write changes more than the item's row and the counts."""
        key = (self.text_prefix, self.partition, self.sort)
        self.fast_row_key = compile_row_key(*key)
        """The row key of a `Key`, if that is short text."""
        self.fast_row_key_in_item = compile_row_key_in_item(*key)
        """The row key of a canonical item whose key is short text, or short text and a number."""
        self.fast_row_keys_of_json = compile_row_keys_of_json(*key)
        self.fast_row_keys_of_texts = compile_row_keys_of_texts(*key)

    def key_of(self, item: Item) -> Item:
        return {name: item[name] for name in self.names}


def is_longer(attributes: KeyAttributes, item: Item, limit: int) -> bool:
    """Whether the values of a key's attributes have more bytes than the limit."""
    if len(attributes) > 1:
        return sum(value_size(item[name]) for name, _ in attributes) > limit
    ((name, tag),) = attributes
    text: str = item[name][tag]
    # No character takes more than four bytes, and base64 is longer than what it encodes.
    if tag == "N" or len(text) * 4 <= limit:
        return False
    return len(text.encode() if tag == "S" else a2b_base64(text)) > limit


def owner_of(row_key: bytes) -> bytes:
    """A hash of the key of a table row, which makes the row keys of index rows distinct."""
    return blake2b(row_key[SPACE_BYTES:], digest_size=OWNER_BYTES).digest()


def ends_of(row_key: bytes) -> tuple[bytes, bytes]:
    """What the row keys of a table row's index rows may end in: its owner; or before that its sort key, which orders
    rows with equal index keys, as far as there is room for it."""
    owner = owner_of(row_key)
    return owner, row_key[PARTITION_END : PARTITION_END + ORDERED_BYTES] + owner


def _attributes(table: TableEntry, *names: str) -> KeyAttributes:
    return tuple(KeyAttribute(name, table.attributes[name]) for name in names)


def compile_text_prefix(space: bytes) -> TextPrefix:
    """From a partition key that is text to the bytes that its rows begin with.

    The results are cached: some partitions are read more than others, and hashing is half of the work.
    """

    @lru_cache(maxsize=REMEMBERED_PARTITIONS)
    def text_prefix(text: str) -> bytes:
        return space + partition_hash("S", text)

    return text_prefix


def compile_row_key(prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None) -> FastRowKey:
    """From a `Key` to its row key. It must have no other attributes."""
    if not _is_text(partition, sort):
        return no_row_key
    if sort is None:
        return _row_key_of_one(prefix, partition.name, exact=True)
    return _row_key_of_two(prefix, partition.name, sort.name, exact=True)


def compile_row_key_in_item(prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None) -> FastRowKey:
    """From a canonical item to its row key."""
    if partition.type != "S" or (sort is not None and sort.type == "B"):
        return no_row_key
    if sort is None:
        return _row_key_of_one(prefix, partition.name, exact=False)
    if sort.type == "N":
        return _row_key_of_text_and_number(prefix, partition.name, sort.name)
    return _row_key_of_two(prefix, partition.name, sort.name, exact=False)


def _is_text(partition: KeyAttribute, sort: KeyAttribute | None) -> bool:
    return partition.type == "S" and (sort is None or sort.type == "S")


def no_row_key(_: object) -> None:
    """For tables and indexes whose keys are not text."""
    return


def _row_key_of_one(prefix: TextPrefix, partition: str, exact: bool) -> FastRowKey:
    def row_key(item: Item) -> bytes | None:
        try:
            value = item[partition]
            text = value["S"]
            if len(value) != 1 or not 0 < len(text) <= SHORT_TEXT_CHARACTERS or (exact and len(item) != 1):
                return None
            return prefix(text)
        except _NOT_FAST:
            return None

    return row_key


def _row_key_of_two(prefix: TextPrefix, partition: str, sort: str, exact: bool) -> FastRowKey:
    def row_key(item: Item) -> bytes | None:
        try:
            first, second = item[partition], item[sort]
            text, order = first["S"], second["S"]
            if len(first) != 1 or len(second) != 1 or (exact and len(item) != 2):
                return None
            if not (0 < len(text) <= SHORT_TEXT_CHARACTERS and 0 < len(order) <= SHORT_TEXT_CHARACTERS):
                return None
            ordered: bytes = order.encode().translate(TEXT_SHIFT)
            return prefix(text) + ordered + TEXT_END
        except _NOT_FAST:
            return None

    return row_key


def _row_key_of_text_and_number(prefix: TextPrefix, partition: str, sort: str) -> FastRowKey:
    """A canonical number fits into any key."""

    def row_key(item: Item) -> bytes | None:
        try:
            text = item[partition]["S"]
            if not 0 < len(text) <= SHORT_TEXT_CHARACTERS:
                return None
            return prefix(text) + number.sort_bytes(item[sort]["N"])
        except _NOT_FAST:
            return None

    return row_key


class ShortText(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The value of a key attribute that is short text."""

    S: Annotated[str, msgspec.Meta(min_length=1, max_length=SHORT_TEXT_CHARACTERS)]


def compile_row_keys_of_json(
    prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None
) -> FastRowKeysOfJson:
    """From a JSON list of keys to their row keys."""
    if not _is_text(partition, sort) or not are_plain(each.name for each in (partition, sort) if each is not None):
        return no_row_key

    # Made when first needed, because a change of the catalog makes all tables new.
    @cache
    def decoder() -> Callable[[bytes], list[Any]]:
        names = {"partition": partition.name} | ({} if sort is None else {"sort": sort.name})
        key = msgspec.defstruct(
            "Key", [(name, ShortText) for name in names], rename=names, forbid_unknown_fields=True, gc=False
        )
        return msgspec.json.Decoder(list[key]).decode  # type: ignore[valid-type]

    def row_keys(text: bytes) -> list[bytes] | None:
        try:
            keys = decoder()(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if sort is None:
            return [prefix(key.partition.S) for key in keys]
        return [prefix(key.partition.S) + key.sort.S.encode().translate(TEXT_SHIFT) + TEXT_END for key in keys]

    return row_keys


def compile_row_keys_of_texts(
    prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None
) -> FastRowKeysOfTexts:
    """From pairs of partition key and sort key, both text, to their row keys."""
    if sort is None or not _is_text(partition, sort):
        return no_row_key

    def row_keys(pairs: Collection[tuple[str, str]]) -> list[bytes] | None:
        try:
            if isinstance(pairs, KeyProduct):
                starts = [prefix(text) for text in pairs.partitions if 0 < len(text) <= SHORT_TEXT_CHARACTERS]
                ends = [order.encode().translate(TEXT_SHIFT) + TEXT_END for order in pairs.sorts]
                found = [start + end for start in starts for end in ends]
            else:
                found = [
                    prefix(text) + order.encode().translate(TEXT_SHIFT) + TEXT_END
                    for text, order in pairs
                    if 0 < len(text) <= SHORT_TEXT_CHARACTERS
                ]
        except UnicodeEncodeError:
            return None
        # Checks the sort keys by the length of their row keys, all at once: one by one takes as long as making them.
        lengths = [*map(len, found)]
        if found and (min(lengths) <= EMPTY_SORT_BYTES or max(lengths) > EMPTY_SORT_BYTES + SORT_KEY_BYTES):
            return None
        return found if len(found) == len(pairs) else None

    return row_keys


class WrongKey(ValidationException):
    """An item lacks a key attribute, or has it of another type; to clients, a ValidationException like any other."""

    @property
    def code(self) -> str:
        return ValidationException.__name__


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
    return checked_row_key(table, normalise_key(key)) if fast is None else fast


def checked_row_key(table: Table, key: Item) -> bytes:
    """The row key of a canonical `Key`, checked against the schema."""
    fast = table.fast_row_key(key)
    if fast is not None:
        return fast
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
            raise WrongKey(f"{INVALID}Missing the key {attribute.name} in the item")
        if attribute.type not in value:
            raise WrongKey(
                f"{INVALID}Type mismatch for key {attribute.name} expected: {attribute.type} actual: {type_of(value)}"
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
                f"{INVALID}Type mismatch for Index Key {name} "
                f"Expected: {key_type} Actual: {type_of(value)} IndexName: {index}"
            )
        if not value[key_type]:
            empty = _EMPTY_INDEX_KEY if changed is None else _EMPTY_UPDATED_INDEX_KEY
            raise EmptyKey(empty.format(TYPE_NAMES[key_type], index, name))
    for each in table.indexes.values():
        _check_index_lengths(each, item, changed)
    for vector_index in table.vector_indexes.values():
        _check_partition(vector_index, item, changed)
        vector_index.check(item, changed)


def _check_partition(index: VectorIndex, item: Item, changed: Container[str] | None) -> None:
    """The HASH attribute of a vector index must not be empty, in the words for keys of other indexes."""
    if index.partition is None:
        return
    name, tag = index.partition
    value = item.get(name)
    if value is None or tag not in value or value[tag] or (changed is not None and name not in changed):
        return
    empty = _EMPTY_INDEX_KEY if changed is None else _EMPTY_UPDATED_INDEX_KEY
    raise EmptyKey(empty.format(TYPE_NAMES[tag], index.name, name))


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
                f"{INVALID}Size limit exceeded for Index Key {', '.join(names)} "
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
