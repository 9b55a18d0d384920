"""A table and its indexes as the operations see them: names, types, and how their keys become bytes.

Built once from a `TableRecord` and never changed; a change to the table makes a new one.
"""

from __future__ import annotations

from binascii import a2b_base64
from hashlib import blake2b

from sortkey.engine.records import IndexRecord, StreamRecord, TableRecord
from sortkey.engine.spaces import OWNER_BYTES, space_bytes
from sortkey.expressions import KeyAttribute
from sortkey.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from sortkey.values.attribute import AttributeValue, Item
from sortkey.values.keybytes import partition_hash, sort_bytes


class Keyed:
    """What tables and indexes share: rows ordered by a partition key and perhaps a sort key."""

    __slots__ = ("names", "partition", "sort", "space")

    def __init__(self, space: int, partition: KeyAttribute, sort: KeyAttribute | None) -> None:
        self.space = space_bytes(space)
        self.partition = partition
        self.sort = sort
        self.names = (partition.name,) if sort is None else (partition.name, sort.name)

    def partition_prefix(self, value: AttributeValue) -> bytes:
        """The bytes that all rows of a partition begin with."""
        kind = self.partition.type
        return self.space + partition_hash(kind, value[kind])

    def row_prefix(self, item: Item) -> bytes:
        """Space, partition and sort bytes of an item that has this key."""
        prefix = self.partition_prefix(item[self.partition.name])
        if self.sort is None:
            return prefix
        kind = self.sort.type
        return prefix + sort_bytes(kind, item[self.sort.name][kind])


class Index(Keyed):
    __slots__ = ("_filled_to", "kept", "name", "record")

    def __init__(self, record: IndexRecord, table: TableRecord) -> None:
        super().__init__(record.space, _attribute(table, record.partition), _optional_attribute(table, record.sort))
        self.record = record
        self.name = record.name
        self.kept = _projected_names(record, table)
        """Attributes in the index's rows; None when all are."""
        self._filled_to = None if record.backfilled_to is None else bytes.fromhex(record.backfilled_to)

    def reaches(self, row_key: bytes) -> bool:
        """While an index is being filled, it holds nothing for table rows that the filling has not come to."""
        return self._filled_to is None or row_key <= self._filled_to

    def holds(self, item: Item) -> bool:
        """An item without the index's key is not in the index; nor one from before it whose key is too long."""
        for attribute, limit in ((self.partition, PARTITION_KEY_BYTES), (self.sort, SORT_KEY_BYTES)):
            if attribute is not None:
                value = item.get(attribute.name)
                if value is None or not value.get(attribute.type) or is_longer(attribute, item, limit):
                    return False
        return True

    def row_key(self, item: Item, owner: bytes) -> bytes:
        return self.row_prefix(item) + owner


class Table(Keyed):
    __slots__ = (
        "attribute_types",
        "index_key_types",
        "indexes",
        "local_indexes",
        "name",
        "record",
        "stream",
        "ttl_attribute",
    )

    def __init__(self, record: TableRecord) -> None:
        super().__init__(record.space, _attribute(record, record.partition), _optional_attribute(record, record.sort))
        self.record = record
        self.name = record.name
        self.attribute_types = record.attributes
        self.indexes = {index.name: Index(index, record) for index in record.indexes}
        self.local_indexes = any(index.local for index in record.indexes)
        self.index_key_types: dict[str, tuple[str, str]] = {}
        """Every index key attribute outside the table's key: its type, and the (alphabetically) first index that
        needs it.
        """
        for index_name in sorted(self.indexes):
            for name in self.indexes[index_name].names:
                if name not in self.names:
                    self.index_key_types.setdefault(name, (record.attributes[name], index_name))
        self.stream: StreamRecord | None = None
        if record.streams and record.streams[-1].disabled is None:
            self.stream = record.streams[-1]
        self.ttl_attribute = record.ttl_attribute

    def key_of(self, item: Item) -> Item:
        return {name: item[name] for name in self.names}


def is_longer(attribute: KeyAttribute, item: Item, limit: int) -> bool:
    """Whether a key attribute's value takes more bytes than a key may."""
    kind = attribute.type
    text: str = item[attribute.name][kind]
    # No character takes more than four bytes, and base64 is longer than what it says.
    if kind == "N" or len(text) * 4 <= limit:
        return False
    return len(text.encode() if kind == "S" else a2b_base64(text)) > limit


def owner_of(row_key: bytes) -> bytes:
    """What an index row ends in: which table row it belongs to."""
    return blake2b(row_key[4:], digest_size=OWNER_BYTES).digest()


def _attribute(table: TableRecord, name: str) -> KeyAttribute:
    return KeyAttribute(name, table.attributes[name])


def _optional_attribute(table: TableRecord, name: str | None) -> KeyAttribute | None:
    return None if name is None else _attribute(table, name)


def _projected_names(record: IndexRecord, table: TableRecord) -> frozenset[str] | None:
    if record.projection == "ALL":
        return None
    names = {table.partition, record.partition, *record.included}
    return frozenset(names | {name for name in (table.sort, record.sort) if name is not None})
