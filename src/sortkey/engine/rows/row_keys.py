"""Fast row keys: from a key that is short text to the bytes of its row, at a third of the general path's cost.

Turning a `Key` into bytes is most of the work of a read (see `make bench`, BatchGetItem), and nearly every key is short
text. So each table compiles its own functions for that. They handle keys of short text and return None otherwise: then
the general path (`item_keys.row_key_of`) checks the key and words any error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, lru_cache
from typing import Annotated, Any, Final

import msgspec

from sortkey.engine.rows.spaces import SPACE_BYTES
from sortkey.expressions import KeyAttribute
from sortkey.limits import SORT_KEY_BYTES
from sortkey.values.attribute import Item
from sortkey.values.key_bytes import HASH_BYTES, TEXT_END, TEXT_SHIFT, KeyProduct, partition_hash

SHORT_TEXT_CHARACTERS: Final = SORT_KEY_BYTES // 4
"""A text of this length fits into any key, because no character takes more than four bytes."""

EMPTY_SORT_BYTES: Final = SPACE_BYTES + HASH_BYTES + len(TEXT_END)
"""Length of a row key whose sort key is an empty text, which DynamoDB does not allow."""

REMEMBERED_PARTITIONS: Final = 4096
"""Partition hashes kept for each table and index."""

TextPrefix = Callable[[str], bytes]
FastRowKey = Callable[[Item], bytes | None]
FastRowKeysOfJson = Callable[[bytes], list[bytes] | None]
FastRowKeysOfTexts = Callable[[Collection[tuple[str, str]]], list[bytes] | None]

# Raised by a key attribute that is missing or not text.
_NOT_TEXT: Final = (KeyError, TypeError, AttributeError, UnicodeEncodeError)


def compile_text_prefix(space: bytes) -> TextPrefix:
    """From a partition key that is text to the bytes that its rows begin with.

    The results are cached: some partitions are read more than others, and hashing is half of the work.
    """

    @lru_cache(maxsize=REMEMBERED_PARTITIONS)
    def text_prefix(text: str) -> bytes:
        return space + partition_hash("S", text)

    return text_prefix


def compile_row_key(prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None, exact: bool) -> FastRowKey:
    """From an item to its row key. If `exact`, the item must have no attributes besides its key."""
    if not _is_text(partition, sort):
        return no_row_key
    if sort is None:
        return _row_key_of_one(prefix, partition.name, exact)
    return _row_key_of_two(prefix, partition.name, sort.name, exact)


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
        except _NOT_TEXT:
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
        except _NOT_TEXT:
            return None

    return row_key


class ShortText(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The value of a key attribute that is short text."""

    S: Annotated[str, msgspec.Meta(min_length=1, max_length=SHORT_TEXT_CHARACTERS)]


def compile_row_keys_of_json(
    prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None
) -> FastRowKeysOfJson:
    """From a JSON list of keys to their row keys."""
    if not _is_text(partition, sort):
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
