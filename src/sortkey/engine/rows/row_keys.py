"""Row keys of the usual kind, at a third of the general path's cost.

Reads are little else than turning a `Key` into bytes (see `make bench`, BatchGetItem), and nearly every key is short
text. So each table has a function of its own for that, with everything about the table bound beforehand. It takes only
keys about which there is nothing to say: of anything else, wrong, long or of another type, it says None, and the
general path (`keys.row_key_of`) looks again and finds the words.
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
from sortkey.values.key_bytes import HASH_BYTES, TEXT_END, TEXT_SHIFT, partition_hash
from sortkey.values.text_keys import CombinedTextKeys

SHORT: Final = SORT_KEY_BYTES // 4
"""Text of so many characters fits into any key, whatever the characters are."""

EMPTY_SORT: Final = SPACE_BYTES + HASH_BYTES + len(TEXT_END)
"""Bytes of a row's key whose sort key is an empty text, which none may be."""

PARTITIONS: Final = 4096
"""Of each table's and index's, those whose hashes are remembered."""

TextPrefix = Callable[[str], bytes]
Place = Callable[[Item], bytes | None]
Places = Callable[[bytes], list[bytes] | None]
PairPlaces = Callable[[Collection[tuple[str, str]]], list[bytes] | None]

# What a value raises that is no text, or no value at all.
_UNUSUAL: Final = (KeyError, TypeError, AttributeError, UnicodeEncodeError)


def text_prefix(space: bytes) -> TextPrefix:
    """From a partition key that is text to what its rows begin with.

    It remembers: some partitions are asked for more than others, and hashing is half of the work of making a key.
    """

    @lru_cache(maxsize=PARTITIONS)
    def prefix(text: str) -> bytes:
        return space + partition_hash("S", text)

    return prefix


def placing(prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None) -> Place:
    """The function for a table with this key."""
    if not _is_text(partition, sort):
        return _elsewhere
    return _by_one(prefix, partition.name) if sort is None else _by_two(prefix, partition.name, sort.name)


def exactly(attributes: int, place: Place) -> Place:
    """The same function for items of so many attributes only."""
    return lambda key: place(key) if len(key) == attributes else None


def _is_text(partition: KeyAttribute, sort: KeyAttribute | None) -> bool:
    return partition.type == "S" and (sort is None or sort.type == "S")


def _elsewhere(_: object) -> None:
    return None


def _by_one(prefix: TextPrefix, partition: str) -> Place:
    def place(key: Item) -> bytes | None:
        try:
            first = key[partition]
            text = first["S"]
            if len(first) != 1 or not 0 < len(text) <= SHORT:
                return None
            return prefix(text)
        except _UNUSUAL:
            return None

    return place


def _by_two(prefix: TextPrefix, partition: str, sort: str) -> Place:
    def place(key: Item) -> bytes | None:
        try:
            first, second = key[partition], key[sort]
            text, order = first["S"], second["S"]
            if len(first) != 1 or len(second) != 1:
                return None
            if not (0 < len(text) <= SHORT and 0 < len(order) <= SHORT):
                return None
            ordered: bytes = order.encode().translate(TEXT_SHIFT)
            return prefix(text) + ordered + TEXT_END
        except _UNUSUAL:
            return None

    return place


class ShortText(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The value of a key attribute that is short text."""

    S: Annotated[str, msgspec.Meta(min_length=1, max_length=SHORT)]


def reading(prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None) -> Places:
    """The same function for a list of keys that is still JSON."""
    if not _is_text(partition, sort):
        return _elsewhere

    # Only when it is first needed, because every table is made anew whenever one of them changes.
    @cache
    def decoder() -> Callable[[bytes], list[Any]]:
        names = {"partition": partition.name} | ({} if sort is None else {"sort": sort.name})
        key = msgspec.defstruct(
            "Key", [(name, ShortText) for name in names], rename=names, forbid_unknown_fields=True, gc=False
        )
        return msgspec.json.Decoder(list[key]).decode  # type: ignore[valid-type]

    def places(text: bytes) -> list[bytes] | None:
        try:
            keys = decoder()(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if sort is None:
            return [prefix(key.partition.S) for key in keys]
        return [prefix(key.partition.S) + key.sort.S.encode().translate(TEXT_SHIFT) + TEXT_END for key in keys]

    return places


def joining(prefix: TextPrefix, partition: KeyAttribute, sort: KeyAttribute | None) -> PairPlaces:
    """The same function for some keys that are nothing but the texts of partition and sort key."""
    if sort is None or not _is_text(partition, sort):
        return _elsewhere

    def places(pairs: Collection[tuple[str, str]]) -> list[bytes] | None:
        try:
            if isinstance(pairs, CombinedTextKeys):
                starts = [prefix(text) for text in pairs.partitions if 0 < len(text) <= SHORT]
                ends = [order.encode().translate(TEXT_SHIFT) + TEXT_END for order in pairs.sorts]
                found = [start + end for start in starts for end in ends]
            else:
                found = [
                    prefix(text) + order.encode().translate(TEXT_SHIFT) + TEXT_END
                    for text, order in pairs
                    if 0 < len(text) <= SHORT
                ]
        except UnicodeEncodeError:
            return None
        # The sort keys by what they have become, all at once: one by one would take as long as making them.
        lengths = [*map(len, found)]
        if found and (min(lengths) <= EMPTY_SORT or max(lengths) > EMPTY_SORT + SORT_KEY_BYTES):
            return None
        return found if len(found) == len(pairs) else None

    return places
