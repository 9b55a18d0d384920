"""A table and its indexes as the operations see them: names, types, and how their keys become bytes.

Built from a `TableEntry` and immutable; a change to the table makes a new one.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from hashlib import blake2b

from sortkey.engine.rows.row_keys import (
    FastRowKey,
    TextPrefix,
    compile_row_key,
    compile_row_keys_of_json,
    compile_row_keys_of_texts,
    compile_text_prefix,
    no_row_key,
)
from sortkey.engine.rows.spaces import OWNER_BYTES, space_bytes
from sortkey.engine.tables.catalog_entries import IndexEntry, StreamEntry, TableEntry
from sortkey.expressions import KeyAttribute, KeyAttributes
from sortkey.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from sortkey.values.attribute import Item
from sortkey.values.key_bytes import joint_hash, partition_hash, sort_bytes
from sortkey.values.size import value_size

KeyBytes = Callable[[Item], bytes]


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
    __slots__ = ("_filled_to", "entry", "fast_row_prefix", "kept", "name")

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
        """`row_prefix` of an item that has the index's key, if that is short text; otherwise it returns None."""
        self._filled_to = None if entry.backfilled_to is None else bytes.fromhex(entry.backfilled_to)

    def _fast_row_prefix(self) -> FastRowKey:
        if len(self.partitions) > 1 or len(self.sorts) > 1:
            return no_row_key
        sort = self.sorts[0] if self.sorts else None
        return compile_row_key(self.text_prefix, self.partitions[0], sort, exact=False)

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


class Table(Keyed):
    __slots__ = (
        "attribute_types",
        "entry",
        "fast_row_key",
        "fast_row_key_in_item",
        "fast_row_keys_of_json",
        "fast_row_keys_of_texts",
        "followed",
        "index_key_types",
        "indexes",
        "local_indexes",
        "name",
        "partition",
        "sort",
        "stream",
        "ttl_attribute",
    )

    def __init__(self, entry: TableEntry) -> None:
        sorts = () if entry.sort is None else _attributes(entry, entry.sort)
        super().__init__(entry.space, _attributes(entry, entry.partition), sorts)
        self.partition = self.partitions[0]
        self.sort = sorts[0] if sorts else None
        self.entry = entry
        self.name = entry.name
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
        self.ttl_attribute = entry.ttl_attribute
        self.followed = bool(self.indexes) or self.stream is not None or self.ttl_attribute is not None
        """Whether a write changes more than the item's row and the counts."""
        key = (self.text_prefix, self.partition, self.sort)
        self.fast_row_key = compile_row_key(*key, exact=True)
        """The row key of a `Key`, if that is short text."""
        self.fast_row_key_in_item = compile_row_key(*key, exact=False)
        """The row key of an item whose key is short text."""
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
    """The end of an index row's key: a hash of the key of its table row."""
    return blake2b(row_key[4:], digest_size=OWNER_BYTES).digest()


def _attributes(table: TableEntry, *names: str) -> KeyAttributes:
    return tuple(KeyAttribute(name, table.attributes[name]) for name in names)
